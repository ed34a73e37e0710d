"""Small formatting helpers, and rows of artifacts that all commands print alike."""

import json
import re
import sys
from typing import Any

from google.protobuf.json_format import MessageToDict

from marin.catalog.v1.catalog_pb2 import Artifact

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Text from a spec, a log or a model, safe for a terminal: control and direction characters become visible."""
    return _CONTROL.sub(lambda m: f"\\x{ord(m.group()):02x}", text)


def size(n: float) -> str:
    """Bytes for people, in powers of 1024."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or unit == "GiB":
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    return ""


def address(artifact: Artifact) -> str:
    return f"{artifact.target.name}@{artifact.target.version}"


def row(artifact: Artifact) -> dict[str, Any]:
    """One artifact as a JSON row."""
    return {
        "address": address(artifact),
        "kind": artifact.kind,
        "content_digest": artifact.content_digest,
        "build_key": artifact.build_key,
        "bytes": artifact.bytes,
        "files": artifact.files,
        "seconds": round(artifact.seconds, 2),
        "state": "committed",
        "headline": artifact.headline,
        "summary": MessageToDict(artifact.summary),
        "uri": artifact.uri,
    }


def print_json(value: Any) -> None:
    """JSON on stdout."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    print()


def print_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Left-aligned columns on stdout; the last column is not padded."""
    cells = [header, *[tuple(clean(str(c)) for c in r) for r in rows]]
    widths = [max(len(r[i]) for r in cells) for i in range(len(header))]
    for r in cells:
        print("  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip())
