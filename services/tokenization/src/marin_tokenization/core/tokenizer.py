"""Trains a byte-level BPE tokenizer and writes it as a Hugging Face tokenizer directory."""

from collections.abc import Iterator
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from marin_chassis.engine import EngineError, Job
from marin_tokenization.core.documents import document_shards, read_texts
from marin_tokenization.core.spec import TokenizerSettings, tokenizer_settings


def train_tokenizer(job: Job) -> dict[str, Any]:
    """Runs a job of kind ``tokenizer``: writes ``out/tokenizer``."""
    settings = tokenizer_settings(job.spec)
    shards = document_shards(job.input("documents").path)
    count = 0

    def texts() -> Iterator[str]:
        nonlocal count
        for n, shard in enumerate(shards, start=1):
            for text in read_texts(shard, settings.text_field):
                count += 1
                yield text
            job.check_stop()
            job.progress("read", n, len(shards), documents=count)

    bpe = _train(settings, texts())
    if count == 0:
        raise EngineError(
            "the documents input holds no document, so there is nothing to learn merges from",
            hint="look at counts.json of the documents: a filter may drop everything",
            reason="EMPTY_CORPUS",
        )
    size = bpe.get_vocab_size()
    if size < settings.vocab_size:
        raise EngineError(
            f"the {count} documents yield a vocabulary of {size}, short of the {settings.vocab_size} asked for",
            hint=f"set vocab_size to {size} or less, lower min_frequency ({settings.min_frequency}), or give more text",
            reason="CORPUS_TOO_SMALL",
        )
    tokenizer = _wrap(bpe, settings)
    check_template(tokenizer)
    tokenizer.save_pretrained(job.out / "tokenizer")
    job.log(f"trained a vocabulary of {size} on {count} documents")
    return {"summary": {"vocab_size": size, "documents": count}, "headline": f"{size} entries from {count} documents"}


def _train(settings: TokenizerSettings, texts: Iterator[str]) -> Tokenizer:
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=settings.vocab_size,
        min_frequency=settings.min_frequency,
        special_tokens=list(settings.special_tokens),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    return bpe


def _wrap(bpe: Tokenizer, settings: TokenizerSettings) -> PreTrainedTokenizerFast:
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token=settings.eos_token,
        pad_token=settings.pad_token,
        additional_special_tokens=list(settings.special_tokens[2:]),
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = settings.chat_template
    return tokenizer


def check_template(tokenizer: PreTrainedTokenizerFast) -> None:
    """Raises :class:`EngineError` for a template that does not render, or that marks nothing as the assistant's.

    Either would only show hours later, in fine-tuning.
    """
    chat = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]
    try:
        encoded = tokenizer.apply_chat_template(chat, return_dict=True, return_assistant_tokens_mask=True)
    except Exception as e:  # a template is a program of the user's, and can fail in any way
        raise EngineError(
            f"the chat template cannot render a user and an assistant message: {e}",
            hint="repair chat_template, or leave it empty for ChatML",
            reason="BAD_TEMPLATE",
        ) from e
    if not any(encoded["assistant_masks"]):
        raise EngineError(
            "the chat template's generation block marks no token of an assistant message",
            hint="put the assistant's content inside {% generation %} ... {% endgeneration %}",
            reason="TEMPLATE_WITHOUT_GENERATION",
        )
