"""What the driver scripts share: how one is told what to do and how it answers. Standard library alone.

``python driver.py REQUEST`` reads a JSON request and writes ``outcome.json`` beside it: either

    {"harness", "harness_version", "samples": [...], "metrics": [...]}    (see marin_evaluation.core.outcomes)
    {"error": {"code", "reason", "message", "hint", "retryable"}}

An outcome is written whole or not at all. No outcome means that the driver crashed; what it printed says why.
"""

import ctypes
import hashlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any


class DriverError(Exception):
    """A failure of a whole task, with the fix."""

    def __init__(self, message: str, *, hint: str, reason: str, code: str, retryable: bool = False) -> None:
        super().__init__(message)
        self.record = {"code": code, "reason": reason, "message": message, "hint": hint, "retryable": retryable}


def prompt_hash(messages: Any) -> str:
    """Identity of what a model is asked: sha256 over canonical JSON of the messages, or of the prompt text."""
    canonical = json.dumps(messages, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def main(run: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Runs ``run(request)`` and writes its outcome."""
    _die_with_parent()
    path = Path(sys.argv[1])
    request = json.loads(path.read_text())
    try:
        outcome = run(request)
    except DriverError as e:
        traceback.print_exc()
        outcome = {"error": e.record}
    temporary = path.with_name("outcome.json.tmp")
    temporary.write_text(json.dumps(outcome, sort_keys=True))
    os.replace(temporary, path.with_name("outcome.json"))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # harness libraries leave threads behind that would hold the interpreter


def _die_with_parent() -> None:
    parent = os.environ.get("MARIN_PARENT_PID")
    if parent and sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        if os.getppid() != int(parent):
            os._exit(1)
