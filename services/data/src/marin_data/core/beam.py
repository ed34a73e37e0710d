"""The Beam pipeline: one element is one input split, and only keys cross a shuffle; text never does.

    splits -> ReadSplit -> keys by partition -> FindCopies -> copies -> PlanShards -> byte ranges -> WriteShard

ReadSplit writes the rows that pass the filters to ``rows/<split>`` in the work directory; WriteShard copies byte ranges
of these files. A failing step leaves its error in ``errors/``, because runners hand on only the text of an exception.
"""

import json
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apache_beam as beam
import numpy as np
from apache_beam.options.pipeline_options import PipelineOptions

from marin_data.core.sources import Split
from marin_datakernels.dedup import KEY, keys_array, later_copies
from marin_datakernels.errors import DataError
from marin_datakernels.recipes import Recipe
from marin_datakernels.shards import plan_shards, shard_name, write_shard

PARTITIONS = 16
KEYED = np.dtype([("row", "<u8"), ("key", KEY)])


@dataclass(frozen=True)
class Plan:
    """What the steps know; small, because runners ship it to every worker. All workers share the directory ``work``."""

    recipe: Recipe
    splits: tuple[Split, ...]
    columns: tuple[str, ...]
    dedup: bool
    shards: int
    samples: int
    work: Path
    out: Path

    def prepare(self) -> None:
        for name in ("rows", "lengths", "splits", "copies", "shards", "errors"):
            (self.work / name).mkdir(parents=True)

    def file(self, kind: str, index: int) -> Path:
        return self.work / kind / f"{index:06d}"


def run(plan: Plan, workers: int, processes: bool) -> None:
    """Runs the pipeline to its end. Raises the DataError of the first split that fails."""
    mode = "multi_processing" if processes else "multi_threading" if workers > 1 else "in_memory"
    # DirectRunner would first try to download another runner, and then be another engine online than offline.
    options = PipelineOptions(
        [
            "--runner=FnApiRunner",
            f"--direct_num_workers={workers}",
            f"--direct_running_mode={mode}",
            "--default_sdk_harness_log_level=WARNING",
        ]
    )
    try:
        with beam.Pipeline(options=options) as pipeline:
            (
                pipeline
                | "Splits" >> beam.Create([s.index for s in plan.splits])
                | "Spread splits" >> beam.Reshuffle()
                | "Read" >> beam.ParDo(ReadSplit(plan)).with_output_types(tuple[int, bytes])
                | "By key" >> beam.GroupByKey()
                | "Find copies" >> beam.ParDo(FindCopies(plan)).with_output_types(tuple[int, bytes])
                | "Together" >> beam.GroupByKey()
                | "Plan shards" >> beam.ParDo(PlanShards(plan)).with_output_types(bytes)
                | "Spread shards" >> beam.Reshuffle()
                | "Write" >> beam.ParDo(WriteShard(plan))
            )
    except Exception:
        for error in sorted((plan.work / "errors").iterdir()):
            raise pickle.loads(error.read_bytes()) from None
        raise


class ReadSplit(beam.DoFn):
    """Reads and filters one split; gives its keys by partition."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def process(self, index: int) -> Iterator[tuple[int, bytes]]:
        plan, split = self._plan, self._plan.splits[index]
        try:
            keys = self._read(split)
        except DataError as e:
            plan.file("errors", index).write_bytes(pickle.dumps(e))
            raise
        keyed = np.empty(len(keys), dtype=KEYED)
        keyed["row"], keyed["key"] = np.arange(len(keys)), keys
        for partition in range(PARTITIONS if plan.dedup else 1):
            mine = keyed[keys["high"] % PARTITIONS == partition] if plan.dedup else keyed[:0]
            yield partition, pickle.dumps((index, mine.tobytes()))

    def _read(self, split: Split) -> np.ndarray:
        plan, column = self._plan, self._plan.columns[split.source]
        keys: list[bytes] = []
        lengths: list[int] = []
        dropped: Counter[str] = Counter()
        samples: list[dict[str, object]] = []
        with open(plan.file("rows", split.index), "wb") as rows:
            for where, row in split.rows([column]):
                outcome = plan.recipe.apply(row, column, split.name, where)
                if outcome.reason is None:
                    keys.append(outcome.key)
                    lengths.append(len(outcome.line))
                    rows.write(outcome.line)
                else:
                    dropped[outcome.reason] += 1
                    if dropped[outcome.reason] <= plan.samples:
                        samples.append({"dropped": outcome.reason, "where": where, **json.loads(outcome.line)})
        np.save(plan.file("lengths", split.index), np.array(lengths, dtype=np.int64))
        facts = {"read": len(keys) + dropped.total(), "dropped": dropped, "samples": samples}
        plan.file("splits", split.index).write_text(json.dumps(facts))
        return keys_array(keys)


class FindCopies(beam.DoFn):
    """Of the keys of one partition, finds the rows whose key stands earlier; gives them by split."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[tuple[int, bytes]]:
        parts = sorted(pickle.loads(part) for part in group[1])
        rows = [np.frombuffer(raw, dtype=KEYED) for _, raw in parts]
        splits = np.repeat([index for index, _ in parts], [len(r) for r in rows])
        together = np.concatenate(rows)
        copies = later_copies(together["key"])
        yield 0, pickle.dumps((splits[copies], together["row"][copies]))


class PlanShards(beam.DoFn):
    """Cuts the rows that stay, in order, into shards; gives for each shard the byte ranges to copy."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[bytes]:
        plan = self._plan
        lengths = [np.load(f"{plan.file('lengths', s.index)}.npy") for s in plan.splits]
        keep = [np.ones(len(one), dtype=bool) for one in lengths]
        for splits, rows in map(pickle.loads, group[1]):
            for index in np.unique(splits):
                keep[index][rows[splits == index].astype(np.int64)] = False
        for split, kept in zip(plan.splits, keep, strict=True):
            plan.file("copies", split.index).write_text(str(int((~kept).sum())))
        shard_of = plan_shards(np.concatenate([one[k] for one, k in zip(lengths, keep, strict=True)]), plan.shards)
        ranges = _ranges(lengths, keep, shard_of)
        for shard, own in enumerate(ranges):
            yield pickle.dumps((shard, len(ranges), int((shard_of == shard).sum()), own))


def _ranges(
    lengths: list[np.ndarray], keep: list[np.ndarray], shard_of: np.ndarray
) -> list[list[tuple[int, int, int]]]:
    """For each shard the ranges (split, first byte, byte after the last) of its rows, neighbours joined."""
    ranges: list[list[tuple[int, int, int]]] = [[] for _ in range(int(shard_of.max()) + 1 if len(shard_of) else 0)]
    place = 0
    for split, (one, kept) in enumerate(zip(lengths, keep, strict=True)):
        ends = np.cumsum(one)
        for row in np.flatnonzero(kept):
            own, begin, end = ranges[shard_of[place]], int(ends[row] - one[row]), int(ends[row])
            if own and own[-1][0] == split and own[-1][2] == begin:
                own[-1] = (split, own[-1][1], end)
            else:
                own.append((split, begin, end))
            place += 1
    return ranges


class WriteShard(beam.DoFn):
    """Copies the byte ranges of one shard into its file."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def process(self, element: bytes) -> None:
        index, count, rows, ranges = pickle.loads(element)
        content = []
        for split, begin, end in ranges:
            with open(self._plan.file("rows", split), "rb") as f:
                f.seek(begin)
                content.append(f.read(end - begin))
        shard = write_shard(self._plan.out / shard_name(index, count), b"".join(content), rows)
        self._plan.file("shards", index).write_text(json.dumps(shard.as_dict()))
