"""The whole pipeline as one plain loop in memory: what runners are compared with, in bytes and in cost."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marin_datakernels.counts import Tally, counts
from marin_datakernels.recipes import Recipe
from marin_datakernels.rows import Numbered
from marin_datakernels.shards import plan_shards, shard_name, write_shard


@dataclass(frozen=True)
class PlainSource:
    """Rows of one source. ``where`` comes before a row's number in errors, for example "a.jsonl, line"."""

    name: str
    rows: Iterable[Numbered]
    where: str
    column: str
    files: tuple[dict[str, Any], ...] = ()


def run_plain(recipe: Recipe, sources: list[PlainSource], *, dedup: bool, shards: int, out: Path) -> dict[str, Any]:
    """Writes the shards to the directory ``out`` and returns the content of ``counts.json``. Raises DataError."""
    seen: set[bytes] = set()
    kept: list[bytes] = []
    tallies = []
    for source in sources:
        tally = Tally(source.name, files=list(source.files))
        tallies.append(tally)
        for number, row in source.rows:
            outcome = recipe.apply(row, source.column, source.name, f"{source.where} {number}")
            tally.read += 1
            reason = outcome.reason or ("duplicate" if dedup and outcome.key in seen else None)
            if reason:
                tally.dropped[reason] += 1
                continue
            seen.add(outcome.key)
            tally.kept += 1
            kept.append(outcome.line)
    shard_of = plan_shards(np.array([len(line) for line in kept]), shards)
    count = int(shard_of.max()) + 1 if kept else 0
    written = []
    for index in range(count):
        lines = [line for line, shard in zip(kept, shard_of, strict=True) if shard == index]
        written.append(write_shard(out / shard_name(index, count), b"".join(lines), len(lines)))
    return counts(tallies, written)
