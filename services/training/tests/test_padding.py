"""A model with more ids than its tokenizer: trainer, export and transformers agree, and every id has a text."""

import json
from pathlib import Path

import pytest
from safetensors import safe_open
from tokenizers import Tokenizer
from training_support import PADDED, VOCAB, Padded, make_job, padded_spec, sft_spec, stock_tokenizer, tree
from transformers import AutoTokenizer

from marin_artifacts.identity import spec_dict
from marin_chassis.engine import EngineError, Job
from marin_training import engine
from marin_training.core.inputs import token_ids
from marin_training.core.spec import check_pretrain
from marin_training.core.vocabulary import check_vocab, pad_tokenizer


@pytest.mark.parametrize("which", ["pretrained", "tuned"])
def test_model_export_and_tokenizer_have_one_size(padded: Padded, which: str) -> None:
    job: Job = getattr(padded, which)
    hf = job.out / "hf"
    assert json.loads((hf / "config.json").read_text())["vocab_size"] == PADDED
    with safe_open(hf / "model.safetensors", "numpy") as weights:
        assert weights.get_tensor("model.embed_tokens.weight").shape[0] == PADDED
    assert Tokenizer.from_file(str(hf / "tokenizer.json")).get_vocab_size() == PADDED
    assert json.loads((job.out / "training.json").read_text())["vocab_size"] == PADDED
    assert not [n for n, data in tree(job.out).items() if b"/scratch" in data]


def test_no_text_is_encoded_otherwise_and_no_padding_is_trained_on(padded: Padded, tokens: Path) -> None:
    before, after = (AutoTokenizer.from_pretrained(p) for p in (tokens / "tokenizer", padded.pretrained.out / "hf"))
    text = "river stone, lantern. ünïcödé 漢字 <|im_start|>"
    assert before.encode(text) == after.encode(text)
    assert before.eos_token_id == after.eos_token_id
    assert before.chat_template == after.chat_template


def test_transformers_loads_it_and_no_sampled_id_is_without_a_text(padded: Padded) -> None:
    seen = padded.seen
    assert seen["logits"][-1] == seen["tokenizer"] == PADDED and seen["finite"]
    padding = [i for i in seen["sampled"] if i >= VOCAB]
    assert len(padding) > 20, "the test must sample padding ids to prove something about them"
    assert None not in seen["texts"] and None not in seen["decoded"]
    texts = dict(zip(seen["sampled"], zip(seen["texts"], seen["decoded"], strict=True), strict=True))
    assert all(texts[i] == (f"<|padding_{i}|>", "") for i in padding)


def test_without_the_flag_another_size_is_an_error_with_both_numbers(
    tmp_path: Path, padded: Padded, conversations: Path
) -> None:
    job = make_job(tmp_path / "j", "checkpoint.sft", sft_spec(), {"init": padded.bare, "conversations": conversations})
    with pytest.raises(EngineError, match=f"{PADDED}.*{VOCAB}") as e:
        engine.run(job)
    assert e.value.reason == "VOCAB_MISMATCH" and "pad_tokenizer_to_match_model" in e.value.hint


def test_a_tokenizer_larger_than_the_model_is_an_error_even_with_the_flag(tokens: Path) -> None:
    with pytest.raises(EngineError, match="a vocabulary of 299, and the tokenizer one of 300"):
        check_vocab(299, tokens / "tokenizer", "the model", pad=True)


def test_padding_without_a_size_is_refused_at_creation() -> None:
    spec = padded_spec()
    spec.model.vocab_size = 0
    with pytest.raises(EngineError) as e:
        check_pretrain(spec_dict(spec), {"tokens": "t@v1"})
    assert e.value.reason == "NO_VOCAB_SIZE"


def test_a_tokenizer_of_qwen3s_shape_is_padded_for_every_library(tmp_path: Path) -> None:
    """Its class in transformers builds the tokenizer from tokenizer_config.json, and would not see what lies beside."""
    place = stock_tokenizer(tmp_path / "qwen3")
    assert check_vocab(151_936, place, "the model", pad=True) == 151_936
    pad_tokenizer(place, 151_936)
    loaded = AutoTokenizer.from_pretrained(place)
    assert type(loaded).__name__ == "Qwen2Tokenizer" and len(loaded) == 151_936
    assert loaded.convert_ids_to_tokens([151_668, 151_669, 151_935]) == [
        "</think>",
        "<|padding_151669|>",
        "<|padding_151935|>",
    ]
    assert token_ids(place, ["<|endoftext|>", "<|im_end|>"]) == [151_643, 151_645]
    once = tree(place)
    pad_tokenizer(place, 151_936)
    assert tree(place) == once
