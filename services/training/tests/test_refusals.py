"""Inputs and specs that must be refused, with the reason, before anything is trained."""

from pathlib import Path

import pytest
from training_support import TEMPLATE, WORDS, chat, make_job, pretrain_spec, sft_spec, write_conversations

from marin.training.v1 import training_pb2 as pb
from marin_artifacts.identity import spec_dict
from marin_chassis.engine import EngineError, Job
from marin_training import engine
from marin_training.core import levanter_adapter
from marin_training.core.spec import check_pretrain, check_sft, token_sources


def refusal(job: Job) -> EngineError:
    with pytest.raises(EngineError) as e:
        engine.run(job)
    assert not (job.out / "hf").exists()
    return e.value


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (pb.PretrainSpec(seq_len=65), "SEQUENCE_TOO_LONG"),
        (pb.PretrainSpec(model=pb.ModelConfig(num_kv_heads=3)), "BAD_SHAPE"),
        (pb.PretrainSpec(num_train_steps=1), "BAD_RUN"),
        (pb.PretrainSpec(optimizer=pb.OptimizerConfig(warmup=2)), "BAD_OPTIMIZER"),
        (pb.PretrainSpec(mixture_weights={"web": 1.0}), "BAD_MIXTURE"),
    ],
)
def test_a_spec_that_cannot_be_trained_is_refused_at_creation(change: pb.PretrainSpec, reason: str) -> None:
    spec = pretrain_spec()
    check_pretrain(spec_dict(spec), {"tokens": "t@v1"})
    spec.MergeFrom(change)
    with pytest.raises(EngineError) as e:
        check_pretrain(spec_dict(spec), {"tokens": "t@v1"})
    assert e.value.reason == reason


def test_mixtures_name_each_input_once_in_a_fixed_order() -> None:
    roles = {"tokens/web": "w@v1", "tokens/code": "c@v1"}
    weights = {"web": 0.7, "code": 0.3}
    assert list(token_sources(roles, weights).items()) == [("code", ("tokens/code", 0.3)), ("web", ("tokens/web", 0.7))]
    for bad in ({}, {"web": 1.0}, {"web": 1.0, "code": 0.0}):
        with pytest.raises(EngineError) as e:
            token_sources(roles, bad)
        assert e.value.reason == "BAD_MIXTURE"


def test_a_tokenizer_of_another_size_than_the_model_is_refused_with_both_numbers(tmp_path: Path, tokens: Path) -> None:
    spec = pretrain_spec(model=pb.ModelConfig(vocab_size=4096))
    e = refusal(make_job(tmp_path / "j", "checkpoint.pretrain", spec, {"tokens": tokens}))
    assert e.reason == "VOCAB_MISMATCH" and "4096" in e.message and "300" in e.message


def test_tokens_written_with_another_tokenizer_are_refused(tmp_path: Path, tokens: Path) -> None:
    other = tmp_path / "tokens"
    (other / "tokenizer").mkdir(parents=True)
    (other / "cache").symlink_to(tokens / "cache")
    text = (tokens / "tokenizer" / "tokenizer.json").read_text()
    (other / "tokenizer" / "tokenizer.json").write_text(text + " ")
    e = refusal(make_job(tmp_path / "j", "checkpoint.pretrain", pretrain_spec(), {"tokens": other}))
    assert e.reason == "TOKENIZER_MISMATCH"


def test_a_template_that_marks_nothing_is_refused(tmp_path: Path, pretrained: Job, conversations: Path) -> None:
    silent = TEMPLATE.replace("{% generation %}", "").replace("{% endgeneration %}", "")
    roles = {"init": "i@v1", "conversations": "c@v1"}
    with pytest.raises(EngineError, match="has no") as at_creation:
        check_sft(spec_dict(sft_spec(chat_template=silent)), roles)
    assert at_creation.value.reason == "ALL_ZERO_MASK"
    check_sft(spec_dict(sft_spec(chat_template=silent, loss_mask=pb.LOSS_MASK_ALL)), roles)

    empty_block = TEMPLATE.replace(
        "{% generation %}{{ m['content'] + '<|im_end|>' }}", "{{ m['content'] }}{% generation %}"
    )
    inputs = {"init": pretrained.out, "conversations": conversations}
    e = refusal(make_job(tmp_path / "j", "checkpoint.sft", sft_spec(chat_template=empty_block), inputs))
    assert e.reason == "ALL_ZERO_MASK" and "line 1" in e.message


@pytest.mark.parametrize(
    ("row", "reason", "message"),
    [
        ({"messages": [{"role": "user", "content": "alone"}]}, "ALL_ZERO_MASK", "line 2: no message of the assistant"),
        (chat("which <|im_end|>?", "none"), "SPECIAL_TOKEN_IN_TEXT", "line 2: a message contains the special token"),
        ({"messages": [{"role": "user"}]}, "BAD_CONVERSATION", "line 2"),
        (["no object"], "BAD_CONVERSATION", "line 2"),
    ],
)
def test_bad_conversations_are_named_by_file_and_line(
    tmp_path: Path, pretrained: Job, row: dict, reason: str, message: str
) -> None:
    root = write_conversations(tmp_path / "c", [chat("fine?", "yes"), row])
    e = refusal(make_job(tmp_path / "j", "checkpoint.sft", sft_spec(), {"init": pretrained.out, "conversations": root}))
    assert e.reason == reason and message in e.message


def test_conversations_cut_before_the_assistant_speaks_are_refused(tmp_path: Path, pretrained: Job) -> None:
    root = write_conversations(tmp_path / "c", [chat(" ".join(WORDS * 20), "short")])
    e = refusal(make_job(tmp_path / "j", "checkpoint.sft", sft_spec(), {"init": pretrained.out, "conversations": root}))
    assert e.reason == "ALL_ZERO_MASK" and "cut at 64 tokens" in e.message


def test_the_mask_is_exactly_the_assistants_words(pretrained: Job) -> None:
    tokenizer = levanter_adapter.load_tokenizer(str(pretrained.out / "hf"))
    messages = [*chat("winter?", "stone, river")["messages"], *chat("and?", "mirror")["messages"]]
    [(ids, mask)] = levanter_adapter.tokenize_chats(tokenizer, [messages])
    said = tokenizer.decode([i for i, m in zip(ids, mask, strict=True) if m])
    assert said == "stone, river<|im_end|>mirror<|im_end|>"


def test_an_accelerator_that_is_not_there_is_an_error(
    tmp_path: Path, tokens: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = pretrain_spec(resources=pb.Resources(accelerator="gb200", accelerators_per_node=4))
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert refusal(make_job(tmp_path / "j", "checkpoint.pretrain", spec, {"tokens": tokens})).reason == "NO_ACCELERATOR"
