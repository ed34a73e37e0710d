"""The artifact: evaluation.json and samples.parquet. No time or place goes in: equal answers give equal bytes."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from marin_chassis.engine import write_json
from marin_evaluation.core.outcomes import Outcome, flags, metric_reports
from marin_evaluation.core.spec import Plan, Task

FORMAT = 1
# Explicit, because a column without any value would get the type null and files would no longer concatenate.
SCHEMA = pa.schema(
    [
        pa.field("task", pa.string(), nullable=False),
        pa.field("harness", pa.string(), nullable=False),
        pa.field("sample_id", pa.string(), nullable=False),
        pa.field("doc_hash", pa.string(), nullable=False),
        pa.field("prompt_hash", pa.string()),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("filter", pa.string(), nullable=False),
        pa.field("score", pa.float64()),
        pa.field("status", pa.string(), nullable=False),
        pa.field("error_type", pa.string()),
        pa.field("prediction", pa.string()),
        pa.field("extracted", pa.string()),
        pa.field("target", pa.string(), nullable=False),
        pa.field("finish_reason", pa.string()),
        pa.field("n_prompt_tokens", pa.int32()),
        pa.field("n_completion_tokens", pa.int32()),
        pa.field("seed", pa.int32(), nullable=False),
    ]
)


def config_hash(plan: Plan, task: Task) -> str:
    """Identity of how a task is asked and graded, without the model: two results with equal hashes may be compared."""
    described = {
        "format": FORMAT,
        "task_set": task.task_set.name,
        "task_set_digest": task.task_set.digest,
        "harness": task.task_set.harness.name,
        "harness_version": task.task_set.harness.version,
        "max_model_len": plan.max_model_len,
        "apply_chat_template": plan.apply_chat_template,
        **task.settings(),
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def task_report(plan: Plan, outcome: Outcome) -> dict[str, Any]:
    """One task's part of evaluation.json."""
    task = outcome.task
    metrics = metric_reports(outcome)
    return {
        "name": task.name,
        "status": outcome.status,
        "task_set": task.task_set.name,
        "task_set_digest": task.task_set.digest,
        "task_set_size": task.task_set.size,
        "harness": task.task_set.harness.name,
        "harness_version": outcome.harness_version,
        "config_hash": config_hash(plan, task),
        "settings": task.settings(),
        "metrics": metrics,
        "primary": dict(zip(("metric", "filter"), task.task_set.primary, strict=True)),
        "coverage": {"n_attempted": task.n_attempted, "n_scored": outcome.n_scored, "errors": outcome.errors},
        "n_truncated": sum(s["finish_reason"] == "length" for s in outcome.samples),
        "n_prompt_tokens": sum(s["n_prompt_tokens"] or 0 for s in outcome.samples),
        "n_completion_tokens": sum(s["n_completion_tokens"] or 0 for s in outcome.samples),
        "flags": flags(outcome, metrics),
    }


def write(out: Path, plan: Plan, outcomes: Sequence[Outcome], policy: dict[str, Any]) -> dict[str, Any]:
    """Writes both files and returns the content of evaluation.json."""
    reports = [task_report(plan, o) for o in outcomes]
    hashes = "".join(f"{r['name']}\0{r['config_hash']}\n" for r in reports)
    evaluation = {
        "format": FORMAT,
        "policy": policy,
        "max_model_len": plan.max_model_len,
        "apply_chat_template": plan.apply_chat_template,
        "config_hash": hashlib.sha256(hashes.encode()).hexdigest(),
        "tasks": reports,
    }
    write_json(out / "evaluation.json", evaluation)
    rows = [row for outcome in outcomes for row in _rows(outcome)]
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), out / "samples.parquet")
    return evaluation


def summary(evaluation: dict[str, Any]) -> tuple[dict[str, float | str], str]:
    """Numbers and one phrase for people: the primary metric of each task with its coverage."""
    numbers: dict[str, float | str] = {}
    phrases = []
    for task in evaluation["tasks"]:
        chosen = next(m for m in task["metrics"] if {k: m[k] for k in ("metric", "filter")} == task["primary"])
        coverage = task["coverage"]
        numbers[task["name"]] = chosen["value"]
        if chosen["stderr"] is not None:
            numbers[f"{task['name']} stderr"] = chosen["stderr"]
        numbers[f"{task['name']} scored"] = f"{coverage['n_scored']}/{coverage['n_attempted']}"
        phrases.append(
            f"{task['name']} {chosen['value']:.1%} ({coverage['n_scored']}/{coverage['n_attempted']} scored)"
        )
    return numbers, ", ".join(phrases)


def _rows(outcome: Outcome) -> list[dict[str, Any]]:
    task = outcome.task
    return [
        {
            "task": task.name,
            "harness": task.task_set.harness.name,
            "seed": task.seed,
            "status": "error" if sample["error_type"] else "scored",
            **{
                k: _text(sample[k])
                for k in ("sample_id", "doc_hash", "prompt_hash", "error_type", "prediction", "target")
            },
            **{k: sample[k] for k in ("finish_reason", "n_prompt_tokens", "n_completion_tokens")},
            **{k: score[k] for k in ("metric", "filter", "score")},
            "extracted": _text(score["extracted"]),
        }
        for sample in outcome.samples
        for score in sample["scores"]
    ]


def _text(value: str | None) -> str | None:
    """Arrow holds UTF-8 alone, and a reply can hold half of a surrogate pair."""
    return value if value is None else value.encode("utf-8", "replace").decode()
