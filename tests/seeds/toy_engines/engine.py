"""Writes one file. ``$TOY/<kind>.json`` may say otherwise:

``text``: what to write in place of the build key; ``seconds``: how long to work; ``die``: attempts that kill
themselves; ``fail``: attempts that end with an error; ``say``: what to print first.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from marin_chassis.engine import EngineError, Job, main


def run(job: Job) -> dict:
    path = Path(os.environ["TOY"]) / f"{job.kind}.json"
    told = json.loads(path.read_text()) if path.exists() else {}
    print(told.get("say", "at work"), file=sys.stderr, flush=True)
    with open(Path(os.environ["TOY"]) / "starts.txt", "a") as f:
        f.write(f"{job.kind} {os.getpid()}\n")
    until = time.monotonic() + told.get("seconds", 0)
    while time.monotonic() < until:
        job.check_stop()
        time.sleep(0.01)
    if job.attempt <= told.get("die", 0):
        os.kill(os.getpid(), signal.SIGKILL)
    if job.attempt <= told.get("fail", 0):
        raise EngineError("the toy broke", hint="mend the toy", reason="TOY_BROKE", code="ABORTED")
    (job.out / "data.txt").write_text(told.get("text", job.build_key))
    return {"summary": {"rows": 1}, "headline": "one row"}


if __name__ == "__main__":
    main(run)
