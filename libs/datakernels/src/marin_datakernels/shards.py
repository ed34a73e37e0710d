"""Cuts rows into shards and writes them so that the same rows are the same bytes."""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

LEVEL = 6


@dataclass(frozen=True)
class Shard:
    """A written shard. ``bytes`` is the size of the file, ``raw_bytes`` that of its content."""

    name: str
    rows: int
    bytes: int
    raw_bytes: int
    sha256: str

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def shard_name(index: int, count: int) -> str:
    return f"part-{index:05d}-of-{count:05d}.jsonl.gz"


def plan_shards(lengths: np.ndarray, count: int) -> np.ndarray:
    """The shard of each row, shape [n], non-decreasing, for rows of ``lengths`` bytes in order.

    A row belongs where its middle falls when all bytes are cut into ``count`` equal parts; parts without a row are left
    out, so the shards that come back are numbered 0, 1, ... without a gap.
    """
    lengths = lengths.astype(np.int64)
    total = int(lengths.sum())
    if not total:
        return np.zeros(len(lengths), dtype=np.int64)
    middle = 2 * (np.cumsum(lengths) - lengths) + lengths
    return np.unique(middle * count // (2 * total), return_inverse=True)[1]


def write_shard(path: Path, content: bytes, rows: int) -> Shard:
    """Writes ``content`` as gzip without name or time.

    The zlib inside the pinned pyarrow wheel compresses, not the interpreter's, whose builds give different bytes.
    """
    packed = pa.Codec("gzip", compression_level=LEVEL).compress(content, asbytes=True)
    path.write_bytes(packed)
    return Shard(path.name, rows, len(packed), len(content), hashlib.sha256(packed).hexdigest())
