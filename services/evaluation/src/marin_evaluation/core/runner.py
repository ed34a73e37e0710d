"""Runs driver processes: one lane for each harness, lanes at the same time, tasks of a lane one after another."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marin_chassis.engine import EngineError, write_json
from marin_evaluation.core.harnesses import Harness, driver_environment
from marin_evaluation.core.spec import Plan, Task

LOG_TAIL_LINES = 15


@dataclass(frozen=True)
class Served:
    """The policy as drivers see it. ``base_url(task name)`` is where a task's requests go."""

    base_url: Callable[[str], str]
    model: str


class Runner:
    """``raw`` takes one directory for each task, with the driver's log and what the harness itself wrote."""

    def __init__(self, plan: Plan, served: Served, pythons: dict[Harness, Path], raw: Path, scratch: Path) -> None:
        self._plan, self._served, self._pythons = plan, served, pythons
        self._raw, self._scratch = raw, scratch
        self._stop, self._one_at_a_time = threading.Event(), threading.Lock()

    def run(
        self, tasks: Sequence[Task], done: Callable[[Task, dict[str, Any]], None], tick: Callable[[], None]
    ) -> None:
        """Runs all tasks; ``done(task, outcome)`` follows each task, one call at a time; ``tick()`` comes every 0.2 s.

        Raises what went wrong; the other lanes go on to their ends first. If ``tick`` raises, everything stops.
        """
        lanes: dict[Harness, list[Task]] = {}
        for task in tasks:
            lanes.setdefault(task.task_set.harness, []).append(task)
        with ThreadPoolExecutor(max(1, len(lanes))) as pool:
            running: set[Future[None]] = {pool.submit(self._lane, lane, done) for lane in lanes.values()}
            try:
                pending = running
                while pending:
                    _, pending = wait(pending, timeout=0.2)
                    tick()
            finally:
                self._stop.set()
        for future in running:
            future.result()

    def _lane(self, tasks: Sequence[Task], done: Callable[[Task, dict[str, Any]], None]) -> None:
        for task in tasks:
            if self._stop.is_set():
                return
            outcome = self._drive(task)
            with self._one_at_a_time:
                done(task, outcome)

    def _drive(self, task: Task) -> dict[str, Any]:
        """Runs one driver process to its end. Raises EngineError for whatever is not an outcome."""
        harness = task.task_set.harness
        work = self._raw / _safe(task.name)
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        write_json(work / "request.json", self._request(task, work))
        home = self._scratch / "home" / _safe(task.name)
        home.mkdir(parents=True, exist_ok=True)
        with open(work / "driver.log", "wb") as log:
            process = subprocess.Popen(
                [str(self._pythons[harness]), str(harness.driver), str(work / "request.json")],
                cwd=work,
                env=driver_environment(home, os.getpid()),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            code = self._wait(process, task)
        return _outcome(work, task, code)

    def _request(self, task: Task, work: Path) -> dict[str, Any]:
        return {
            "task": task.settings(),
            "task_set": task.task_set.name,
            "task_path": str(task.task_set.path),
            "work": str(work),
            "base_url": self._served.base_url(task.name),
            "model": self._served.model,
            "apply_chat_template": self._plan.apply_chat_template,
            "num_concurrent": self._plan.num_concurrent,
            "request_timeout_s": self._plan.task_timeout_s,
        }

    def _wait(self, process: subprocess.Popen[bytes], task: Task) -> int:
        deadline = time.monotonic() + self._plan.task_timeout_s
        try:
            while process.poll() is None:
                if self._stop.is_set():
                    break
                if time.monotonic() > deadline:
                    raise EngineError(
                        f"task {task.name} did not finish within {self._plan.task_timeout_s} s",
                        hint="raise task_timeout_s, lower limit or max_gen_tokens, or serve with more hardware",
                        reason="TASK_DEADLINE",
                        code="DEADLINE_EXCEEDED",
                        retryable=True,
                    )
                time.sleep(0.05)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def _outcome(work: Path, task: Task, code: int) -> dict[str, Any]:
    try:
        outcome = json.loads((work / "outcome.json").read_text())
    except FileNotFoundError:
        said = (work / "driver.log").read_text(errors="replace").strip().splitlines()
        tail = "\n".join(said[-LOG_TAIL_LINES:])
        raise EngineError(
            f"{task.task_set.harness.name} ended with exit status {code} and without results for task {task.name}; "
            f"it said last:\n{tail}",
            hint=f"the whole log is {work / 'driver.log'}; if a package is missing: `{task.task_set.harness.install}`",
            reason="HARNESS_CRASHED",
            code="INTERNAL",
            retryable=code < 0,
        ) from None
    if "error" in outcome:
        error = outcome["error"]
        raise EngineError(
            f"task {task.name}: {error['message']}",
            hint=error["hint"],
            reason=error["reason"],
            code=error["code"],
            retryable=error["retryable"],
        )
    task.task_set.harness.check_version(outcome["harness_version"])
    return outcome


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name).lstrip(".") or "_"
