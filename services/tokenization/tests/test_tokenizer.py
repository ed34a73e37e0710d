import gzip
from pathlib import Path

import pytest
from tokenization_support import TEXTS, make_job, spawn, tree, write_documents
from transformers import AutoTokenizer

from marin.tokenization.v1 import tokenization_pb2 as pb
from marin_artifacts.identity import spec_dict
from marin_chassis.engine import EngineError
from marin_tokenization import engine
from marin_tokenization.core.spec import check_tokenize, check_train_tokenizer

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Which season?"},
    {"role": "assistant", "content": "winter,\nof course"},
]


def test_two_processes_train_the_same_bytes(tmp_path: Path, documents: Path, tokenizer: Path) -> None:
    job = make_job(tmp_path / "b", "tokenizer", pb.TrainTokenizerSpec(vocab_size=300), documents=documents)
    assert spawn(job) == 0
    assert tree(job.out) == tree(tokenizer)


def test_special_tokens_come_first_and_every_text_survives(tokenizer: Path) -> None:
    loaded = AutoTokenizer.from_pretrained(tokenizer / "tokenizer")
    assert loaded.convert_tokens_to_ids(["<|endoftext|>", "<|pad|>", "<|im_start|>", "<|im_end|>"]) == [0, 1, 2, 3]
    assert (len(loaded), loaded.eos_token_id, loaded.pad_token_id) == (300, 0, 1)
    for text in [*TEXTS, "tabs\tand  spaces ünïcödé 漢字 🙂\r\n"]:
        assert loaded.decode(loaded(text)["input_ids"]) == text


def test_chat_template_marks_exactly_what_the_assistant_says(tokenizer: Path) -> None:
    loaded = AutoTokenizer.from_pretrained(tokenizer / "tokenizer")
    chat = loaded.apply_chat_template(CHAT, return_dict=True, return_assistant_tokens_mask=True)
    said = [i for i, m in zip(chat["input_ids"], chat["assistant_masks"], strict=True) if m]
    assert loaded.decode(said) == "winter,\nof course<|im_end|>"
    prompt = loaded.apply_chat_template(CHAT[:2], tokenize=False, add_generation_prompt=True)
    assert prompt.endswith("<|im_start|>user\nWhich season?<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        (pb.TrainTokenizerSpec(vocab_size=259), "VOCAB_TOO_SMALL", "need 260"),
        (pb.TrainTokenizerSpec(vocab_size=300, pad_token="<|endoftext|>"), "DUPLICATE_SPECIAL_TOKEN", "named twice"),
        (
            pb.TrainTokenizerSpec(vocab_size=300, chat_template="{{ messages }}"),
            "TEMPLATE_WITHOUT_GENERATION",
            "generation",
        ),
    ],
)
def test_a_spec_that_cannot_work_is_refused_at_creation(spec: pb.TrainTokenizerSpec, reason: str, message: str) -> None:
    with pytest.raises(EngineError, match=message) as e:
        check_train_tokenizer(spec_dict(spec), {"documents": "d@v1"})
    assert e.value.reason == reason


def test_a_job_without_its_inputs_is_refused_at_creation() -> None:
    with pytest.raises(EngineError, match=r"\['documents', 'tokenizer'\]"):
        check_tokenize(spec_dict(pb.TokenizeSpec()), {"documents": "d@v1"})


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        (
            "{{ messages[0]['content'] }}{% generation %}{% endgeneration %}{{ messages[1]['content'] }}",
            "TEMPLATE_WITHOUT_GENERATION",
        ),
        ("{% generation %}{% endgeneration %}{{ messages[0]['content'] / 2 }}", "BAD_TEMPLATE"),
    ],
)
def test_a_template_is_tried_before_the_tokenizer_is_kept(
    tmp_path: Path, documents: Path, template: str, reason: str
) -> None:
    spec = pb.TrainTokenizerSpec(vocab_size=300, chat_template=template)
    job = make_job(tmp_path / "t", "tokenizer", spec, documents=documents)
    with pytest.raises(EngineError) as e:
        engine.run(job)
    assert e.value.reason == reason and not tree(job.out)


def test_a_corpus_that_cannot_fill_the_vocabulary_is_an_error(tmp_path: Path, documents: Path) -> None:
    job = make_job(tmp_path / "t", "tokenizer", pb.TrainTokenizerSpec(vocab_size=9000), documents=documents)
    with pytest.raises(EngineError, match=r"vocabulary of \d+, short of the 9000") as e:
        engine.run(job)
    assert e.value.reason == "CORPUS_TOO_SMALL" and not tree(job.out)


def test_bad_documents_are_named_by_file_and_line(tmp_path: Path) -> None:
    def error(root: Path) -> EngineError:
        job = make_job(root / "job", "tokenizer", pb.TrainTokenizerSpec(vocab_size=300), documents=root)
        with pytest.raises(EngineError) as e:
            engine.run(job)
        return e.value

    assert error(write_documents(tmp_path / "none", [[]])).reason == "EMPTY_CORPUS"
    missing = error(write_documents(tmp_path / "missing", [[{"text": "a"}, {"body": "b"}]]))
    assert "part-00000-of-00001.jsonl.gz line 2" in missing.message and missing.reason == "BAD_DOCUMENT"
    assert "line 1" in error(write_documents(tmp_path / "surrogate", [[{"text": "\ud800"}]])).message
    cut = write_documents(tmp_path / "cut", [[{"text": "word " * 999}]])
    shard = next(cut.rglob("*.gz"))
    shard.write_bytes(shard.read_bytes()[:-20])
    assert (error(cut).reason, error(write_documents(tmp_path / "b", [])).reason) == (
        "CORRUPT_SHARD",
        "NO_DOCUMENT_SHARDS",
    )
    plain = write_documents(tmp_path / "plain", [[]])
    next(plain.rglob("*.gz")).write_bytes(gzip.compress(b"no json\n"))
    assert "line 1 is no JSON object" in error(plain).message
