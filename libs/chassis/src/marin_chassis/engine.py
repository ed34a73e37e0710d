"""The contract between a service and its engine process, in the standard library alone.

A service never runs its engine (Beam, Levanter, vLLM, ...) inside the gRPC process. Its worker writes ``job.json`` into a
fresh attempt directory and spawns ``python -m marin_<service>.engine ATTEMPT_DIR``. The engine reads the job, writes its
artifact below ``out/`` and everything that is *about* the artifact (metrics with timings, logs, native checkpoints) below
``record/``. Only ``out/`` counts for the content digest; ``record/`` is kept, hashed and listed, but may differ between two
runs of the same build. ``scratch/`` survives attempts of one build and is where resumable state lives.

Files written here and read by the worker:

* ``record/events.jsonl``: one JSON object a line: ``{"t": unix seconds, "type": "progress" | "log", ...}``
* ``record/result.json``: ``{"summary": {...}, "headline": "..."}``, written last by a successful engine
* ``record/error.json``: ``{"code", "reason", "message", "hint", "retryable", "metadata"}`` from an engine that failed

Exit status: 0 finished, 8 stopped on request (after saving what can be resumed), 1 failed with ``error.json``,
anything else a crash.
"""

import ctypes
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXIT_DONE, EXIT_FAILED, EXIT_STOPPED = 0, 1, 8


class EngineError(Exception):
    """A failure with a cause that a person can act on.

    ``code`` is a gRPC status name (``INVALID_ARGUMENT``, ``NOT_FOUND``, ``FAILED_PRECONDITION``, ``UNAVAILABLE``, ...),
    ``reason`` an UPPER_SNAKE identifier, ``message`` says what happened and where, ``hint`` says the fix.
    Only a ``retryable`` error is tried again by the worker.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str,
        reason: str,
        code: str = "INVALID_ARGUMENT",
        retryable: bool = False,
        **metadata: str,
    ) -> None:
        super().__init__(message)
        self.message, self.hint, self.reason, self.code = message, hint, reason, code
        self.retryable, self.metadata = retryable, metadata

    def as_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "reason": self.reason,
            "message": self.message,
            "hint": self.hint,
            "retryable": self.retryable,
            "metadata": {k: str(v) for k, v in self.metadata.items()},
        }


class Stopped(BaseException):
    """Raised by :meth:`Job.check_stop` after a stop request, so that broad ``except Exception`` blocks let it through."""


@dataclass(frozen=True)
class Input:
    """One committed artifact that the job reads. ``path`` is its ``out/`` directory and must not be written to."""

    role: str
    path: Path
    address: str
    kind: str
    content_digest: str
    record: Path


@dataclass
class Job:
    """What an engine is asked to do. ``spec`` is the typed spec message as a plain dict with proto field names."""

    kind: str
    spec: dict[str, Any]
    inputs: dict[str, Input]
    out: Path
    record: Path
    scratch: Path
    build_id: str = ""
    build_key: str = ""
    address: str = ""
    attempt: int = 1
    endpoints: dict[str, str] = field(default_factory=dict)
    stop_requested: bool = False

    @classmethod
    def load(cls, attempt_dir: str | Path) -> "Job":
        """Reads ``job.json`` below ``attempt_dir`` and creates ``out/``, ``record/`` and the scratch directory."""
        root = Path(attempt_dir).resolve()
        raw = json.loads((root / "job.json").read_text())
        inputs = {
            role: Input(
                role,
                Path(i["path"]),
                i["address"],
                i["kind"],
                i["content_digest"],
                Path(i.get("record") or Path(i["path"]).parent / "record"),
            )
            for role, i in raw["inputs"].items()
        }
        job = cls(
            kind=raw["kind"],
            spec=raw["spec"],
            inputs=inputs,
            out=root / "out",
            record=root / "record",
            scratch=Path(raw.get("scratch") or root / "scratch"),
            build_id=raw.get("build_id", ""),
            build_key=raw.get("build_key", ""),
            address=raw.get("address", ""),
            attempt=raw.get("attempt", 1),
            endpoints=raw.get("endpoints", {}),
        )
        for path in (job.out, job.record, job.scratch):
            path.mkdir(parents=True, exist_ok=True)
        return job

    def input(self, role: str) -> Input:
        """The input with this role; raises :class:`EngineError` naming the roles that are there."""
        if role not in self.inputs:
            raise EngineError(
                f"{self.kind} needs an input with role '{role}', and got {sorted(self.inputs) or 'none'}",
                hint=f"connect an artifact to the '{role}' input of this step",
                reason="MISSING_INPUT",
            )
        return self.inputs[role]

    def progress(self, phase: str, step: int | None = None, total: int | None = None, **metrics: float) -> None:
        """Announces progress. ``phase`` names what is being done; ``metrics`` are numbers (loss, tokens_per_second, reward, ...)."""
        event: dict[str, Any] = {"type": "progress", "phase": phase, "metrics": metrics}
        if step is not None:
            event["step"] = step
        if total is not None:
            event["total"] = total
        self._emit(event)

    def log(self, message: str) -> None:
        """One line for the attempt's log."""
        self._emit({"type": "log", "message": message})
        print(message, file=sys.stderr, flush=True)

    def check_stop(self) -> None:
        """Raises :class:`Stopped` if the worker asked this process to end (SIGTERM). Call it between units of work."""
        if self.stop_requested:
            raise Stopped

    def _emit(self, event: dict[str, Any]) -> None:
        line = json.dumps({"t": round(time.time(), 3), **event}) + "\n"
        with open(self.record / "events.jsonl", "a", encoding="utf-8") as f:
            f.write(line)


def write_json(path: Path, value: Any) -> None:
    """Writes ``value`` so that a reader sees either nothing or all of it."""
    tmp = path.with_name(path.name + ".tmp")
    with open(tmp, "w", encoding="utf-8") as f:
        json.dump(value, f, indent=1, sort_keys=True)
        f.flush()
        os.fsync(f.fileno())
    os.replace(tmp, path)


def main(run: Callable[[Job], dict[str, Any]]) -> None:
    """Entry point of an engine process: ``if __name__ == "__main__": main(run)``.

    ``run(job)`` returns ``{"summary": {...numbers and short strings...}, "headline": "one short phrase"}``.
    SIGTERM sets ``job.stop_requested``; an engine that can save its state does so and raises :class:`Stopped`.
    """
    _die_with_parent()
    job = Job.load(sys.argv[1])

    def on_term(_signum: int, _frame: Any) -> None:
        job.stop_requested = True

    signal.signal(signal.SIGTERM, on_term)
    try:
        result = run(job)
        write_json(job.record / "result.json", result)
    except Stopped:
        code = EXIT_STOPPED
    except EngineError as e:
        write_json(job.record / "error.json", {**e.as_dict(), "where": _where(e)})
        traceback.print_exc()
        code = EXIT_FAILED
    except Exception as e:
        where = _where(e)
        write_json(
            job.record / "error.json",
            {
                "code": "INTERNAL",
                "reason": type(e).__name__,
                "message": f"{type(e).__name__}: {e}",
                "hint": "this is unexpected: read the log tail below and report it with the build id",
                "retryable": False,
                "metadata": {},
                "where": where,
            },
        )
        traceback.print_exc()
        code = EXIT_FAILED
    else:
        code = EXIT_DONE
    sys.stderr.flush()
    sys.stdout.flush()
    os._exit(code)  # heavy runtimes leave threads behind that would keep the interpreter from ending


def _die_with_parent() -> None:
    """Asks the kernel for SIGKILL when the worker dies, so that a killed service leaves no engine that nobody listens to."""
    parent = os.environ.get("MARIN_PARENT_PID")
    if parent is None or sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != int(parent):
        os._exit(EXIT_STOPPED)


def _where(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
