"""The job kinds "documents" and "conversations": runs the Beam pipeline, tells how far it is, and writes the "
"account."""

import json
import shutil
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from marin_chassis.engine import Job, write_json
from marin_data.core import beam
from marin_data.core.sources import Source, resolve
from marin_datakernels.counts import Tally, counts
from marin_datakernels.filters import Filters
from marin_datakernels.recipes import Recipe
from marin_datakernels.shards import Shard

COLUMNS = {"documents": "text", "conversations": "messages"}
POLL = 0.1


def run_pipeline(job: Job) -> dict[str, Any]:
    """Writes ``<kind>/part-*.jsonl.gz`` and counts.json. Raises DataError."""
    spec = job.spec
    sources = resolve(spec["sources"])
    work, out = job.scratch / "pipeline", job.out / job.kind
    shutil.rmtree(work, ignore_errors=True)
    out.mkdir()
    plan = beam.Plan(
        recipe=Recipe(job.kind, Filters(**(spec.get("filters") or {}))),
        splits=tuple(split for source in sources for split in source.splits),
        columns=tuple(s["column"] or COLUMNS[job.kind] for s in spec["sources"]),
        dedup=spec["dedup"] == "DEDUP_EXACT",
        shards=spec["shards"] or 1,
        samples=spec["sample_count"],
        work=work,
        out=out,
    )
    plan.prepare()
    _run(job, plan)
    account = counts(_tallies(plan, sources), _shards(plan))
    write_json(job.out / "counts.json", account)
    if plan.samples:
        _write_samples(job, plan, out)
    shutil.rmtree(work)
    return _result(job.kind, account)


def _run(job: Job, plan: beam.Plan) -> None:
    workers = job.spec["workers"] or 1
    runner = job.spec["runner"]
    processes = runner == "RUNNER_PROCESSES" or (runner != "RUNNER_IN_PROCESS" and workers > 1)
    failure: list[BaseException] = []

    def target() -> None:
        try:
            beam.run(plan, workers, processes)
        except BaseException as e:  # handed to the main thread
            failure.append(e)

    thread = threading.Thread(target=target, name="beam", daemon=True)
    thread.start()
    shown = None
    while thread.is_alive():
        thread.join(POLL)
        job.check_stop()
        shown = _show_progress(job, plan, shown)
    if failure:
        raise failure[0]


def _show_progress(job: Job, plan: beam.Plan, shown: tuple[int, int] | None) -> tuple[int, int]:
    done = _count(plan.work / "splits"), _count(plan.work / "shards")
    if done != shown:
        if done[1] == 0:
            job.progress("read", step=done[0], total=len(plan.splits))
        else:
            job.progress("write", step=done[1], total=plan.shards)
    return done


def _count(directory: Path) -> int:
    return sum(1 for _ in directory.iterdir())


def _tallies(plan: beam.Plan, sources: list[Source]) -> list[Tally]:
    tallies = []
    for source in sources:
        tally = Tally(source.name, files=list(source.facts))
        for split in source.splits:
            facts = json.loads(plan.file("splits", split.index).read_text())
            tally.read += facts["read"]
            tally.dropped += Counter(facts["dropped"])
            tally.dropped += Counter(duplicate=int(plan.file("copies", split.index).read_text()))
        tally.kept = tally.read - tally.dropped.total()
        tallies.append(tally)
    return tallies


def _shards(plan: beam.Plan) -> list[Shard]:
    return [Shard(**json.loads(p.read_text())) for p in sorted((plan.work / "shards").iterdir())]


def _write_samples(job: Job, plan: beam.Plan, out: Path) -> None:
    # The place of a dropped row may be an absolute path, so this belongs into the record and not into the artifact.
    from marin_datakernels.rows import read_rows

    rows: list[dict[str, Any]] = []
    left = Counter({"kept": plan.samples})
    for shard in sorted(out.iterdir()):
        taken = [row for _, row in read_rows(shard, [], limit=left["kept"])] if left["kept"] else []
        left["kept"] -= len(taken)
        rows += taken
    shown: Counter[str] = Counter()
    for split in plan.splits:
        for sample in json.loads(plan.file("splits", split.index).read_text())["samples"]:
            shown[sample["dropped"]] += 1
            if shown[sample["dropped"]] <= plan.samples:
                rows.append(sample)
    with open(job.record / "samples.jsonl", "w", encoding="utf-8") as f:
        f.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _result(kind: str, account: dict[str, Any]) -> dict[str, Any]:
    size = sum(s["raw_bytes"] for s in account["shards"])
    dropped = sum(account["dropped"].values())
    return {
        "summary": {
            "rows_in": account["in"],
            kind: account["kept"],
            "dropped": dropped,
            "shards": len(account["shards"]),
            "bytes": size,
        },
        "headline": f"{account['kept']} {kind} ({size / 1e6:.2f} MB), {dropped} of {account['in']} dropped",
    }
