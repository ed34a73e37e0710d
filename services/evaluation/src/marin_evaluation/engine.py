"""The engine process: ``python -m marin_evaluation.engine ATTEMPT_DIR``. It evaluates once and ends."""

import json
import time
from pathlib import Path
from typing import Any

from marin_chassis.engine import EngineError, Job, main, write_json
from marin_evaluation.core import report
from marin_evaluation.core.outcomes import Outcome, check_coverage, join
from marin_evaluation.core.proxy import RecordingProxy
from marin_evaluation.core.runner import Runner, Served
from marin_evaluation.core.spec import Plan, Task, check_evaluate, plan_of
from marin_evaluation.serving import ServedPolicy


def run(job: Job) -> dict[str, Any]:
    check_evaluate(job.spec, {role: i.address for role, i in job.inputs.items()})
    plan = plan_of(job.spec)
    pythons = {t.task_set.harness: t.task_set.harness.python() for t in plan.tasks}
    job.progress("load policy")
    serving = ServedPolicy(job, plan.max_model_len)
    with serving as policy:
        check_room(plan, policy.max_model_len)
        with RecordingProxy(
            policy.openai_base_url, serving.resolve, plan.endpoint_patience_s, job.record / "requests.jsonl"
        ) as proxy:
            served = Served(proxy.base_url, policy.served_model_name)
            runner = Runner(plan, served, pythons, job.record / "raw", job.scratch)
            outcomes = evaluate(job, plan, runner, proxy)
    evaluation = report.write(
        job.out,
        plan,
        outcomes,
        {
            "digest": job.input("policy").content_digest,
            "engine": policy.engine,
            "dtype": policy.dtype,
            "max_model_len": policy.max_model_len,
        },
    )
    numbers, headline = report.summary(evaluation)
    return {"summary": numbers, "headline": headline}


def evaluate(job: Job, plan: Plan, runner: Runner, proxy: RecordingProxy) -> list[Outcome]:
    """Runs what an earlier attempt has not finished; returns the outcomes in the plan's order."""
    store = Finished(job, plan)
    outcomes = {t.name: found for t in plan.tasks if (found := store.get(t))}
    total = sum(t.n_attempted for t in plan.tasks)
    before = sum(o.task.n_attempted for o in outcomes.values())
    began, last = time.monotonic(), (-1, 0.0)

    def tick() -> None:
        nonlocal last
        job.check_stop()
        counts, now = proxy.totals(), time.monotonic()
        if counts["requests"] != last[0] and now - last[1] >= 0.5:
            last = counts["requests"], now
            step = min(total, before + counts.pop("samples"))
            job.progress(
                "evaluate",
                step,
                total,
                **counts,
                tokens_per_second=round(counts["completion_tokens"] / (now - began), 1),
            )

    def done(task: Task, raw: dict[str, Any]) -> None:
        samples = join(raw["samples"], lambda prompt: proxy.exchange(task.name, prompt))
        outcome = Outcome(task, raw["harness_version"], tuple(samples), tuple(raw["metrics"]))
        outcomes[task.name] = outcome
        write_json(job.record / "coverage.json", {n: _coverage(o) for n, o in sorted(outcomes.items())})
        check_coverage(outcome, plan.min_coverage)
        store.put(outcome)
        job.log(
            f"task {task.name}: {outcome.status}, {outcome.n_scored} of {task.n_attempted} scored, {outcome.errors}"
        )

    job.progress("evaluate", before, total)
    runner.run([t for t in plan.tasks if t.name not in outcomes], done, tick)
    job.progress("evaluate", total, total, **{k: v for k, v in proxy.totals().items() if k != "samples"})
    return [outcomes[t.name] for t in plan.tasks]


def check_room(plan: Plan, served_len: int) -> None:
    """Refuses answers that cannot fit the served context before any request is made."""
    for task in plan.tasks:
        if task.max_gen_tokens >= served_len:
            raise EngineError(
                f"task {task.name} asks for up to {task.max_gen_tokens} new tokens, and the policy is served with "
                f"{served_len} tokens for prompt and answer together",
                hint="lower max_gen_tokens or raise max_model_len",
                reason="NO_ROOM_FOR_ANSWERS",
            )


class Finished:
    """Outcomes of tasks that an earlier attempt of this build brought to an end, in the scratch directory."""

    def __init__(self, job: Job, plan: Plan) -> None:
        self._directory = job.scratch / "finished"
        self._directory.mkdir(exist_ok=True)
        self._digest, self._plan = job.input("policy").content_digest, plan

    def get(self, task: Task) -> Outcome | None:
        path = self._path(task)
        if not path.exists():
            return None
        kept = json.loads(path.read_text())
        return Outcome(task, kept["harness_version"], tuple(kept["samples"]), tuple(kept["metrics"]))

    def put(self, outcome: Outcome) -> None:
        kept = {"harness_version": outcome.harness_version, "samples": outcome.samples, "metrics": outcome.metrics}
        write_json(self._path(outcome.task), kept)

    def _path(self, task: Task) -> Path:
        """Named by what was asked of which weights, so that nothing else can ever be taken for it."""
        return self._directory / f"{report.config_hash(self._plan, task)}-{self._digest.replace(':', '-')}.json"


def _coverage(outcome: Outcome) -> dict[str, Any]:
    return {
        "status": outcome.status,
        "n_attempted": outcome.task.n_attempted,
        "n_scored": outcome.n_scored,
        "errors": outcome.errors,
    }


if __name__ == "__main__":
    main(run)
