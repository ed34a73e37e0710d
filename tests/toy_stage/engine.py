"""What to do is the name of the first source: ok, crash-once, fail, hang, empty."""

import os
import signal
import time

from marin_chassis.engine import EngineError, Job, main


def run(job: Job) -> dict:
    act = job.spec["sources"][0]["name"]
    job.progress(act, 1, 2)
    job.log(f"acting {act}")
    mark = job.scratch / "seen"
    if act == "crash-once" and not mark.exists():
        mark.write_text("1")
        os.kill(os.getpid(), signal.SIGKILL)
    if act == "fail":
        raise EngineError("line 3 of x.jsonl is broken", hint="mend the line", reason="BAD_ROW", path="x.jsonl")
    while act == "hang":
        job.check_stop()
        time.sleep(0.02)
    if act != "empty":
        (job.out / "answer.txt").write_text("42\n")
    return {"summary": {"answer": 42}, "headline": "the answer"}


if __name__ == "__main__":
    main(run)
