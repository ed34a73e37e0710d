"""Writes token caches: Levanter TreeStores that training reads in place."""

import hashlib
import shutil
from collections.abc import Iterator
from itertools import batched
from pathlib import Path
from typing import Any

import numpy as np
from levanter.store.cache import CacheLedger, CacheMetadata, SerialCacheWriter, consolidate_shard_cache_ledgers
from levanter.tokenizers import HfMarinTokenizer, load_tokenizer

from marin_chassis.engine import EngineError, Job, write_json
from marin_tokenization.core.documents import document_shards, read_texts

BATCH = 256
EXEMPLAR = {"input_ids": np.zeros((0,), dtype=np.int32)}


def write_cache(job: Job) -> dict[str, Any]:
    """Runs a job of kind ``tokens``: writes ``out/cache/train``, ``out/tokenizer`` and ``out/stats.json``."""
    source = job.input("tokenizer").path / "tokenizer"
    tokenizer = load_plain_tokenizer(source)
    append_eos = not job.spec["omit_eos"]
    metadata = CacheMetadata(
        {
            # The hash, not the path: a cache names what its ids mean, wherever it lies.
            "tokenizer": tokenizer_fingerprint(source),
            "vocab_size": len(tokenizer),
            "append_bos": False,
            "append_eos": append_eos,
        }
    )
    shards = document_shards(job.input("documents").path)
    root = job.out / "cache" / "train"
    names, text_bytes = [], 0
    for n, shard in enumerate(shards, start=1):
        path = root / shard.name.removesuffix(".jsonl.gz")
        texts = read_texts(shard, job.spec["text_field"] or "text")
        # Shard names in the ledgers are relative, so that the bytes do not depend on the attempt's directory.
        with SerialCacheWriter(str(path), EXEMPLAR, metadata=metadata, shard_name=path.name) as writer:
            for batch, size in _encode(tokenizer, texts, append_eos):
                writer.write_batch(batch)
                text_bytes += size
                job.check_stop()
        names.append(str(path))
        job.progress("tokenize", n, len(shards), text_bytes=text_bytes)
    ledger = consolidate_shard_cache_ledgers(names, str(root), EXEMPLAR, metadata)
    stats = _stats(ledger, text_bytes, len(shards), len(tokenizer))
    write_json(job.out / "stats.json", stats)
    shutil.copytree(source, job.out / "tokenizer")
    job.log(f"{stats['documents']} documents, {stats['tokens']} tokens, {stats['bytes_per_token']} bytes a token")
    return {"summary": stats, "headline": f"{stats['tokens']:,} tokens, {stats['bytes_per_token']} bytes each"}


def load_plain_tokenizer(path: Path) -> HfMarinTokenizer:
    """A tokenizer for which special tokens in a text are the characters they are written with.

    Raises :class:`EngineError` if ``path`` holds no tokenizer or one without an end-of-document token.
    """
    if not (path / "tokenizer.json").is_file():
        raise EngineError(
            f"no tokenizer/tokenizer.json in the tokenizer input ({path})",
            hint="the input with role 'tokenizer' must be an artifact of kind tokenizer",
            reason="NO_TOKENIZER",
            code="FAILED_PRECONDITION",
        )
    tokenizer = load_tokenizer(str(path))
    if tokenizer.eos_token_id is None:
        raise EngineError(
            f"the tokenizer in {path} names no eos_token, and without one documents run into each other",
            hint="set eos_token in its tokenizer_config.json",
            reason="NO_EOS_TOKEN",
        )
    tokenizer._tokenizer.encode_special_tokens = True
    return tokenizer


def tokenizer_fingerprint(path: Path) -> str:
    """Identity of what token ids mean: the hash of ``tokenizer.json``."""
    return "sha256:" + hashlib.sha256((path / "tokenizer.json").read_bytes()).hexdigest()


def _encode(
    tokenizer: HfMarinTokenizer, texts: Iterator[str], append_eos: bool
) -> Iterator[tuple[list[dict[str, np.ndarray]], int]]:
    # Levanter's own text format would append " <eos>" as text: a stray space token, and no way to keep
    # a document from spelling the end token itself. Here the id is appended instead.
    end = [tokenizer.eos_token_id] if append_eos else []
    for texts_batch in batched(texts, BATCH):
        ids = tokenizer.encode_batch(list(texts_batch))
        rows = [{"input_ids": np.asarray(row + end, dtype=np.int32)} for row in ids]
        yield rows, sum(len(text.encode()) for text in texts_batch)


def _stats(ledger: CacheLedger, text_bytes: int, shards: int, vocab_size: int) -> dict[str, Any]:
    if ledger.total_num_rows == 0:
        raise EngineError(
            f"the {shards} document shards hold no document",
            hint="look at counts.json of the documents: a filter may drop everything",
            reason="EMPTY_CORPUS",
        )
    tokens = ledger.field_counts["input_ids"]
    return {
        "documents": ledger.total_num_rows,
        "tokens": tokens,
        "text_bytes": text_bytes,
        "bytes_per_token": round(text_bytes / tokens, 4),
        "shards": shards,
        "vocab_size": vocab_size,
    }
