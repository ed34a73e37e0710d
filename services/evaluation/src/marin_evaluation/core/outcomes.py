"""From what drivers and proxy recorded to samples, metrics and the judgement whether there is a result at all.

A driver's outcome holds

* ``samples``: ``{"sample_id", "doc_hash", "prompt_hash", "target", "prediction", "error_type", "scores"}`` with
  ``scores``: ``{"metric", "filter", "score" (null for an error), "extracted" (null for no answer found)}``
* ``metrics``: ``{"metric", "filter", "higher_is_better", "harness_value"}``, the last the harness's own mean, or null
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from marin_chassis.engine import EngineError
from marin_evaluation.core import stats
from marin_evaluation.core.proxy import Exchange
from marin_evaluation.core.spec import Task

SUCCEEDED, PARTIAL, INFRA_FAILED = "SUCCEEDED", "PARTIAL", "INFRA_FAILED"
_RETRYABLE = ("endpoint_unavailable", "bad_reply")


@dataclass(frozen=True)
class Outcome:
    """One finished task. ``samples`` are joined with what the proxy recorded; all of it is plain JSON."""

    task: Task
    harness_version: str
    samples: tuple[dict[str, Any], ...]
    metrics: tuple[dict[str, Any], ...]

    @property
    def errors(self) -> dict[str, int]:
        return dict(sorted(Counter(s["error_type"] for s in self.samples if s["error_type"]).items()))

    @property
    def n_scored(self) -> int:
        return sum(s["error_type"] is None for s in self.samples)

    @property
    def status(self) -> str:
        if self.n_scored == 0:
            return INFRA_FAILED
        return SUCCEEDED if self.n_scored == self.task.n_attempted else PARTIAL


def join(samples: Sequence[dict[str, Any]], exchange: Callable[[str | None], Exchange | None]) -> list[dict[str, Any]]:
    """Adds what the proxy knows of each sample's request, whose own error says more than the harness's exception."""
    joined = []
    for sample in samples:
        seen = exchange(sample["prompt_hash"])
        failed = sample["error_type"] is not None
        joined.append(
            {
                **sample,
                "error_type": (seen and seen.error_type) or sample["error_type"] if failed else None,
                "error_message": (seen and seen.error_message) or sample.get("error_message") if failed else None,
                "finish_reason": seen and seen.finish_reason,
                "n_prompt_tokens": seen and seen.n_prompt_tokens,
                "n_completion_tokens": seen and seen.n_completion_tokens,
            }
        )
    return joined


def check_coverage(outcome: Outcome, min_coverage: float) -> None:
    """Raises EngineError where too little was scored: an answer that never came is no wrong answer."""
    task, n = outcome.task, len(outcome.samples)
    if n != task.n_attempted:
        raise EngineError(
            f"{task.task_set.harness.name} reports {n} samples for task {task.name} instead of {task.n_attempted}",
            hint="this is a fault of the harness or of its driver: read the task's driver.log in the record",
            reason="SAMPLES_MISSING",
            code="INTERNAL",
        )
    if outcome.n_scored and outcome.n_scored >= min_coverage * n:
        return
    errors = outcome.errors
    worst = max(errors, key=lambda e: errors[e])
    said = next((s["error_message"] for s in outcome.samples if s["error_type"] == worst and s["error_message"]), "")
    listed = ", ".join(f"{e}: {c}" for e, c in errors.items())
    retryable = worst in _RETRYABLE
    if retryable:
        hint = "see the log of the inference service; the job is tried again, and no missing answer counts as a score"
    elif worst.startswith("http_4"):
        hint = "do prompts and max_gen_tokens fit max_model_len, and has the policy a chat template?"
    else:
        hint = "read the task's driver.log and the harness's own files in the record"
    raise EngineError(
        f"task {task.name}: {outcome.n_scored} of {n} samples were scored ({listed}); min_coverage is {min_coverage:g}"
        + (f"; {worst} says: {said.strip()[:500]}" if said else ""),
        hint=hint,
        reason="NOTHING_SCORED" if outcome.n_scored == 0 else "LOW_COVERAGE",
        code="UNAVAILABLE" if retryable else "FAILED_PRECONDITION",
        retryable=retryable,
        task=task.name,
        status=outcome.status,
    )


def metric_reports(outcome: Outcome) -> list[dict[str, Any]]:
    """Each metric of a task with standard error, 95 % interval and the number of scores behind it."""
    reports, seen = [], set()
    for metric in outcome.metrics:
        key = metric["metric"], metric["filter"]
        if key in seen:
            raise _fault(outcome, f"reports {key} twice")
        seen.add(key)
        found = [s for sample in outcome.samples for s in sample["scores"] if (s["metric"], s["filter"]) == key]
        scores = [s["score"] for s in found if s["score"] is not None]
        if len(found) != len(outcome.samples) or len(scores) != outcome.n_scored:
            raise _fault(outcome, f"has {len(scores)} scores of {key} for {outcome.n_scored} scored samples")
        value = stats.mean(scores)
        own = metric["harness_value"]
        if own is not None and outcome.status == SUCCEEDED and not math.isclose(own, value, abs_tol=1e-9):
            raise _fault(outcome, f"says that {key} is {own}, and the mean of its samples is {value}")
        interval = stats.wilson(math.fsum(scores), len(scores)) if outcome.task.task_set.binary else None
        reports.append(
            {
                "metric": metric["metric"],
                "filter": metric["filter"],
                "value": value,
                "stderr": stats.standard_error(scores),
                "ci95": list(interval) if interval else None,
                "higher_is_better": metric["higher_is_better"],
                "n_scored": len(scores),
                "n_unanswered": sum(s["score"] is not None and s["extracted"] is None for s in found),
            }
        )
    return reports


def flags(outcome: Outcome, metrics: Sequence[dict[str, Any]]) -> list[str]:
    """What a reader must know before comparing numbers.

    * ATTRITION: samples are missing.
    * CAPPED: not the whole task set was asked.
    * NO_ANSWERS: a filter found no answer in any reply.
    * NO_DISPERSION: all scores of a metric agree, so that its standard error says nothing.
    * TRUNCATED: replies ended at the token limit.
    """
    found = {
        "ATTRITION": outcome.status == PARTIAL,
        "CAPPED": outcome.task.capped,
        "NO_ANSWERS": any(m["n_unanswered"] == m["n_scored"] for m in metrics),
        "NO_DISPERSION": any(m["stderr"] == 0 for m in metrics),
        "TRUNCATED": any(s["finish_reason"] == "length" for s in outcome.samples),
    }
    return [name for name, is_so in found.items() if is_so]


def _fault(outcome: Outcome, what: str) -> EngineError:
    return EngineError(
        f"task {outcome.task.name}: {outcome.task.task_set.harness.name} {what}",
        hint="this is a fault of the harness or of its driver; the numbers are not to be trusted: report it",
        reason="RESULTS_DISAGREE",
        code="INTERNAL",
    )
