"""What one row becomes: the kernels for documents and for conversations."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import xxhash

from marin_datakernels.errors import DataError
from marin_datakernels.filters import Filters
from marin_datakernels.rows import field
from marin_datakernels.text import normalise

CONTROL_TOKEN = re.compile(r"<\|[^|<>\s]{1,64}\|>")
NO_FILTERS = Filters()
ROLES = ("system", "user", "assistant", "tool")


@dataclass(frozen=True)
class Outcome:
    """What became of a row. ``line`` is the JSON line to write (UTF-8, with its line end); ``key`` is the 16-byte
    identity of its content; ``reason`` says why it is dropped, None if it is kept."""

    line: bytes
    key: bytes
    reason: str | None


@dataclass(frozen=True)
class Recipe:
    """How rows of one kind are made. ``kind`` is "documents" or "conversations"."""

    kind: str
    filters: Filters = NO_FILTERS

    def apply(self, row: dict[str, Any], column: str, source: str, where: str) -> Outcome:
        """Raises DataError naming ``where`` when the row has not the form that this kind needs."""
        return _KINDS[self.kind](self, field(row, column, where), column, source, where)

    def _document(self, text: Any, column: str, source: str, where: str) -> Outcome:
        if not isinstance(text, str):
            raise DataError(
                f"{where}: '{column}' is {_kind_of(text)}, not text",
                hint="repair or remove the row, or set the source's column to the field that holds the text",
                reason="BAD_ROW",
                where=where,
            )
        text = normalise(text)
        key = xxhash.xxh3_128_digest(text.encode())
        line = _json_line({"id": key.hex(), "text": text, "source": source})
        return Outcome(line, key, self.filters.reason(text))

    def _conversation(self, messages: Any, column: str, _source: str, where: str) -> Outcome:
        clean = _messages(messages, column, where)
        key = xxhash.xxh3_128_digest(_json_line(clean))
        return Outcome(_json_line({"id": key.hex(), "messages": clean}), key, _conversation_reason(clean))


_KINDS: dict[str, Callable[..., Outcome]] = {"documents": Recipe._document, "conversations": Recipe._conversation}


def _messages(messages: Any, column: str, where: str) -> list[dict[str, str]]:
    if not isinstance(messages, list) or not messages:
        what = "is an empty list" if messages == [] else f"is {_kind_of(messages)}, not a list of messages"
        raise _bad_conversation(f"{where}: '{column}' {what}", where)
    clean = []
    for position, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("content"), str):
            raise _bad_conversation(f"{where}: message {position} of '{column}' has no text in 'content'", where)
        if message.get("role") not in ROLES:
            raise _bad_conversation(
                f"{where}: message {position} has the role {message.get('role')!r}; known are {', '.join(ROLES)}", where
            )
        clean.append({"role": message["role"], "content": normalise(message["content"])})
    return clean


def _conversation_reason(messages: list[dict[str, str]]) -> str | None:
    if not all(m["content"] for m in messages):
        return "empty_message"
    if not any(m["role"] == "assistant" for m in messages):
        return "no_assistant"
    if any(CONTROL_TOKEN.search(m["content"]) for m in messages):
        return "control_token"
    return None


def _bad_conversation(message: str, where: str) -> DataError:
    hint = (
        'each row must hold a list like [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]'
    )
    return DataError(message, hint=hint, reason="BAD_ROW", where=where)


def _kind_of(value: Any) -> str:
    return "missing (null)" if value is None else f"a {type(value).__name__}"


def _json_line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
