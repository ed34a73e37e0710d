"""What the engine processes that conftest starts leave behind."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from tokenizers import Tokenizer
from training_support import CHATS, STEPS, VOCAB, make_job, steps, tree

from marin.training.v1 import training_pb2 as pb
from marin_artifacts.identity import spec_dict
from marin_chassis.engine import EXIT_STOPPED, EngineError, Job
from marin_training.core import levanter_adapter
from marin_training.core.config import pretrain_config
from marin_training.core.inputs import token_inputs
from marin_training.core.spec import check_pretrain


def training(job: Job) -> dict:
    return json.loads((job.out / "training.json").read_text())


def test_the_loss_falls_and_every_step_is_on_record(pretrained: Job) -> None:
    facts = training(pretrained)
    assert facts["last_loss"] < 0.6 * facts["first_loss"]
    assert len(facts["losses"]) == STEPS == len(steps(pretrained))
    assert facts["tokens_seen"] == STEPS * 4 * 64
    assert set(facts["dataset_tokens"]) == {"a", "b"}
    events = [json.loads(line) for line in (pretrained.record / "events.jsonl").read_text().splitlines()]
    train = [e for e in events if e.get("phase") == "train"]
    assert [(e["step"], e["total"]) for e in train] == [(n, STEPS) for n in range(1, STEPS + 1)]
    assert {"loss", "learning_rate", "tokens_per_second"} <= set(train[-1]["metrics"])
    assert [e["metrics"]["loss"] for e in train] == facts["losses"]


def test_a_stop_request_saves_and_ends_at_once(disturbed) -> None:
    done = steps(disturbed.attempts[0])
    assert disturbed.codes[0] == EXIT_STOPPED
    assert disturbed.checkpoints_after_term == [f"step-{done[-1]}"] and done[-1] < STEPS - 1
    assert not tree(disturbed.attempts[0].out)


def test_a_killed_run_goes_on_from_its_newest_checkpoint(disturbed) -> None:
    first, second, third = map(steps, disturbed.attempts)
    assert disturbed.codes[1] == -signal.SIGKILL
    assert second[0] == first[-1] + 1
    assert 50 < third[0] <= second[-1] + 1
    assert third[-1] == STEPS - 1


def test_stops_and_kills_leave_no_trace_in_the_artifact(pretrained: Job, disturbed) -> None:
    """The undisturbed run lies in another directory: same bytes, all losses bitwise equal."""
    again = disturbed.attempts[2]
    assert training(again)["losses"] == training(pretrained)["losses"]
    assert tree(again.out) == tree(pretrained.out)


def test_the_export_is_complete_and_knows_no_path(pretrained: Job, tokens: Path) -> None:
    hf = pretrained.out / "hf"
    config = json.loads((hf / "config.json").read_text())
    assert config["architectures"] == ["Qwen3ForCausalLM"]
    assert (config["vocab_size"], config["dtype"], config["max_position_embeddings"]) == (VOCAB, "float32", 64)
    with safe_open(hf / "model.safetensors", "numpy") as weights:
        assert weights.get_tensor("model.embed_tokens.weight").shape == (VOCAB, 32)
    assert json.loads((hf / "generation_config.json").read_text())["eos_token_id"] == [0]
    for name, data in tree(tokens / "tokenizer").items():
        assert (hf / name).read_bytes() == data
    for name, data in tree(pretrained.out).items():
        assert str(tokens.parent).encode() not in data and b"/scratch" not in data, name


def test_fine_tuning_learns_only_what_the_assistant_says(fine_tuned: Job) -> None:
    facts = training(fine_tuned)
    assert facts["last_loss"] < 0.5 * facts["first_loss"]
    tokenizer = Tokenizer.from_file(str(fine_tuned.out / "hf" / "tokenizer.json"))
    answers = [messages[-1]["content"] for messages in (c["messages"] for c in CHATS)]
    assert facts["supervised_tokens"] == sum(len(tokenizer.encode(a + "<|im_end|>").ids) for a in answers)
    assert facts["supervised_percent"] == round(100 * facts["supervised_tokens"] / facts["conversation_tokens"], 3)
    assert (facts["conversations"], facts["cut_conversations"]) == (len(CHATS), 0)
    generation = json.loads((fine_tuned.out / "hf" / "generation_config.json").read_text())
    assert generation["eos_token_id"] == [0, 3]
    log = (fine_tuned.record / "events.jsonl").read_text()
    assert log.index("% supervised") < log.index('"train"')


def test_fine_tuning_starts_from_the_weights_of_its_input(fine_tuned: Job, pretrained: Job) -> None:
    def weights(job: Job) -> np.ndarray:
        with safe_open(job.out / "hf" / "model.safetensors", "numpy") as tensors:
            return np.concatenate([tensors.get_tensor(name).ravel() for name in sorted(tensors.keys())])

    before, after = weights(pretrained), weights(fine_tuned)
    assert 0.9 < before @ after / np.linalg.norm(before) / np.linalg.norm(after) < 0.9999
    config = [json.loads((job.out / "hf" / "config.json").read_text()) for job in (pretrained, fine_tuned)]
    assert config[0] == config[1]


def test_the_gb200_profile_is_the_model_of_596_million_parameters(tmp_path: Path, tokens: Path) -> None:
    spec = pb.PretrainSpec(
        model=pb.ModelConfig(
            family=pb.MODEL_FAMILY_QWEN3,
            max_seq_len=512,
            hidden_dim=1024,
            intermediate_dim=3072,
            num_layers=28,
            num_heads=16,
            num_kv_heads=8,
            head_dim=128,
            tie_word_embeddings=True,
            rope_theta=1e6,
            vocab_size=151_936,
        ),
        optimizer=pb.OptimizerConfig(learning_rate=3e-4, weight_decay=0.1, warmup=0.1, min_lr_ratio=0.1),
        num_train_steps=16,
        train_batch_size=32,
        seq_len=512,
        z_loss_weight=1e-4,
        precision=pb.PRECISION_BF16_COMPUTE,
        pad_tokenizer_to_match_model=True,
        resources=pb.Resources(accelerator="gb200", accelerators_per_node=4, cpus=64, ram_gib=512, disk_gib=256),
    )
    check_pretrain(spec_dict(spec), {"tokens": "t@v1"})
    job = make_job(tmp_path / "j", "checkpoint.pretrain", spec, {"tokens": tokens})
    sources, tokenizer = token_inputs(job)
    config = levanter_adapter.decode(pretrain_config(job, sources, tokenizer, [0]))
    assert config.model.total_trainable_params(151_669) == 595_769_344  # as the original reports
    assert config.model.total_trainable_params(151_936) == 595_769_344 + (151_936 - 151_669) * 1024
    assert config.trainer.require_accelerator and config.trainer.train_batch_size == 32


def test_a_setting_that_levanter_does_not_know_is_an_error() -> None:
    with pytest.raises(EngineError, match="z_loss_wight") as e:
        levanter_adapter.decode({"z_loss_wight": 1e-4})
    assert e.value.reason == "BAD_LEVANTER_CONFIG"
