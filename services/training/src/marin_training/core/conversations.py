"""Reads conversations and decides which of their tokens are learned."""

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from marin_chassis.engine import EngineError, Job
from marin_training.core.spec import learns_all_tokens

BATCH = 256
Encoded = tuple[list[int], list[int]]


@dataclass(frozen=True)
class Conversation:
    where: str
    messages: list[dict[str, str]]


def read_conversations(root: Path, tokenizer: Path) -> list[Conversation]:
    """All conversations in file order. Raises :class:`EngineError` naming file and line of what cannot be used."""
    added = Tokenizer.from_file(str(tokenizer / "tokenizer.json")).get_added_tokens_decoder().values()
    # One expression, since a padded tokenizer has hundreds. (?!) is what no text holds.
    special = re.compile("|".join(re.escape(t.content) for t in added) or "(?!)")
    shards = sorted((root / "conversations").glob("part-*.jsonl.gz"))
    found = [c for shard in shards for c in _read_shard(shard)]
    if not found:
        raise EngineError(
            f"the conversations input holds no conversation ({len(shards)} shards in {root / 'conversations'})",
            hint="look at counts.json of the conversations: a filter may drop everything",
            reason="NO_CONVERSATIONS",
        )
    for conversation in found:
        _check(conversation, special)
    return found


def encode(
    job: Job, conversations: list[Conversation], tokenizer: Any, tokenize: Callable[..., Iterator[Encoded]]
) -> list[Encoded]:
    """Ids and mask (1: learned) of each conversation, cut to ``seq_len`` tokens."""
    rows: list[Encoded] = []
    for batch in batched(conversations, BATCH):
        try:
            rows += tokenize(tokenizer, [c.messages for c in batch])
        except Exception as e:  # a template is a program of the user's, and can fail in any way
            raise EngineError(
                f"the chat template fails on one of {batch[0].where} to {batch[-1].where}: {e}",
                hint="repair the template or the conversations",
                reason="BAD_TEMPLATE",
            ) from e
        job.check_stop()
    if learns_all_tokens(job.spec):
        rows = [(ids, [1] * len(ids)) for ids, _ in rows]
    for conversation, (_, mask) in zip(conversations, rows, strict=True):
        if not any(mask):
            raise EngineError(
                f"{conversation.where}: the chat template marks no token as said by the assistant",
                hint="drop conversations whose assistant says nothing, or move the generation block of the template",
                reason="ALL_ZERO_MASK",
            )
    return rows


def supervision(job: Job, rows: list[Encoded]) -> dict[str, Any]:
    """Counts what will be learned and says so. Raises :class:`EngineError` if it is nothing."""
    seq_len = job.spec["seq_len"]
    tokens = sum(min(len(ids), seq_len) for ids, _ in rows)
    supervised = sum(sum(mask[:seq_len]) for _, mask in rows)
    cut = sum(len(ids) > seq_len for ids, _ in rows)
    unlearned = sum(not any(mask[:seq_len]) for _, mask in rows)
    percent = round(100 * supervised / tokens, 3)
    job.progress("tokenize", conversations=len(rows), supervised_percent=percent)
    job.log(
        f"{len(rows)} conversations, {tokens} tokens, {percent}% supervised; "
        f"{cut} longer than {seq_len} tokens are cut, which leaves {unlearned} of them without a supervised token"
    )
    if supervised == 0:
        raise EngineError(
            f"none of the {tokens} tokens is supervised: all {cut} conversations are cut at {seq_len} tokens, before "
            "the assistant speaks",
            hint="raise seq_len, or shorten what comes before the assistant's turn",
            reason="ALL_ZERO_MASK",
        )
    return {
        "conversations": len(rows),
        "conversation_tokens": tokens,
        "supervised_tokens": supervised,
        "supervised_percent": percent,
        "cut_conversations": cut,
        "unsupervised_conversations": unlearned,
    }


def _read_shard(shard: Path) -> Iterator[Conversation]:
    line = 0
    try:
        with gzip.open(shard, "rt", encoding="utf-8", newline="\n") as f:
            for line, row in enumerate(f, start=1):
                yield Conversation(f"{shard.name} line {line}", json.loads(row)["messages"])
    except (EOFError, OSError, zlib.error, UnicodeDecodeError) as e:
        raise EngineError(
            f"{shard.name} cannot be read after line {line}: {e}",
            hint="the file is cut off or damaged; build the conversations again",
            reason="CORRUPT_SHARD",
            code="DATA_LOSS",
        ) from e
    except (json.JSONDecodeError, KeyError, TypeError) as e:
        raise EngineError(
            f"{shard.name} line {line} is no JSON object with 'messages': {e}",
            hint='each line must be {"id": ..., "messages": [{"role": ..., "content": ...}, ...]}',
            reason="BAD_CONVERSATION",
        ) from e


def _check(conversation: Conversation, special: re.Pattern[str]) -> None:
    messages = conversation.messages
    if not isinstance(messages, list) or not all(
        isinstance(m, dict) and isinstance(m.get("role"), str) and isinstance(m.get("content"), str) for m in messages
    ):
        raise EngineError(
            f"{conversation.where}: 'messages' must be a list of {{role, content}} with strings",
            hint="convert the conversations again with the data service",
            reason="BAD_CONVERSATION",
        )
    if not any(m["role"] == "assistant" for m in messages):
        raise EngineError(
            f"{conversation.where}: no message of the assistant, so there is nothing to learn from it",
            hint="drop such conversations when they are converted",
            reason="ALL_ZERO_MASK",
        )
    for message in messages:
        if found := special.search(message["content"]):
            raise EngineError(
                f"{conversation.where}: a message contains the special token {found[0]}, which would forge a turn",
                hint="remove or escape it when the conversations are converted",
                reason="SPECIAL_TOKEN_IN_TEXT",
            )
