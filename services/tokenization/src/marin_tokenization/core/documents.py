"""Reads document shards: gzip files of JSON lines, one document a line."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path

from marin_chassis.engine import EngineError


def document_shards(root: Path) -> list[Path]:
    """The shards of a documents artifact in name order. Raises :class:`EngineError` if there are none."""
    shards = sorted((root / "documents").glob("part-*.jsonl.gz"))
    if not shards:
        raise EngineError(
            f"no shard documents/part-*.jsonl.gz in the documents input ({root})",
            hint="the input with role 'documents' must be an artifact of kind documents, from the data service",
            reason="NO_DOCUMENT_SHARDS",
            code="FAILED_PRECONDITION",
        )
    return shards


def read_texts(shard: Path, text_field: str) -> Iterator[str]:
    """Yields the text of each document. Raises :class:`EngineError` naming file and line of what cannot be read."""
    line = 0
    try:
        with gzip.open(shard, "rt", encoding="utf-8", newline="\n") as f:
            for line, row in enumerate(f, start=1):
                text = json.loads(row).get(text_field)
                if not isinstance(text, str):
                    raise EngineError(
                        f"{shard.name} line {line}: the field '{text_field}' is missing or no string",
                        hint="set text_field to the field that holds the text, or repair the documents",
                        reason="BAD_DOCUMENT",
                    )
                try:
                    text.encode()
                except UnicodeEncodeError as e:
                    raise EngineError(
                        f"{shard.name} line {line}: half of a surrogate pair, which is no character: {e}",
                        hint="normalise the documents to valid Unicode",
                        reason="BAD_DOCUMENT",
                    ) from e
                yield text
    except (EOFError, OSError, zlib.error, UnicodeDecodeError) as e:
        raise EngineError(
            f"{shard.name} cannot be read after line {line}: {e}",
            hint="the file is cut off or damaged; build the documents again",
            reason="CORRUPT_SHARD",
            code="DATA_LOSS",
        ) from e
    except (json.JSONDecodeError, AttributeError) as e:
        raise EngineError(
            f"{shard.name} line {line} is no JSON object: {e}",
            hint="each line must be one JSON object with a text field",
            reason="BAD_DOCUMENT",
        ) from e
