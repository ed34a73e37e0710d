"""The engine protocol, with real processes."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from marin_chassis.engine import EXIT_DONE, EXIT_FAILED, EXIT_STOPPED

PRELUDE = "import os, sys, time\nfrom marin_chassis.engine import EngineError, main\n"


@pytest.fixture
def start(tmp_path):
    (tmp_path / "job.json").write_text(json.dumps({"kind": "toy", "spec": {"n": 2}, "inputs": {}}))
    running = []

    def go(body, **env):
        code = PRELUDE + body + "\nmain(run)\n"
        env = {k: v for k, v in os.environ.items() if k != "MARIN_PARENT_PID"} | env
        running.append(subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=env, stderr=subprocess.PIPE))
        return running[-1]

    yield go
    for process in running:
        process.kill()
        process.wait()
        process.stderr.close()


def record(tmp_path, name):
    return json.loads((tmp_path / "record" / name).read_text())


def test_success_writes_result_last(start, tmp_path):
    body = (
        "def run(job):\n job.progress('count', 1, job.spec['n'], loss=0.5)\n return {'summary': {}, 'headline': 'done'}"
    )
    assert start(body).wait(20) == EXIT_DONE
    assert record(tmp_path, "result.json")["headline"] == "done"
    event = json.loads((tmp_path / "record/events.jsonl").read_text())
    assert (event["phase"], event["step"], event["total"], event["metrics"]) == ("count", 1, 2, {"loss": 0.5})


def test_a_typed_failure_keeps_reason_hint_and_place(start, tmp_path):
    body = "def run(job):\n raise EngineError('no such file x', hint='give a file', reason='MISSING', path='x')"
    assert start(body).wait(20) == EXIT_FAILED
    error = record(tmp_path, "error.json")
    assert (error["reason"], error["hint"], error["metadata"]) == ("MISSING", "give a file", {"path": "x"})
    assert error["where"].endswith(":4") and not error["retryable"]


def test_an_unexpected_failure_is_recorded_too(start, tmp_path):
    assert start("def run(job):\n return 1 / 0").wait(20) == EXIT_FAILED
    assert record(tmp_path, "error.json")["reason"] == "ZeroDivisionError"


def test_sigterm_lets_the_engine_save_and_stop(start, tmp_path):
    body = """
def run(job):
    job.progress('up')
    try:
        while True:
            job.check_stop()
            time.sleep(0.01)
    except Exception:
        raise SystemExit('a broad except must not swallow a stop')
    finally:
        (job.scratch / 'saved').write_text('yes')
"""
    process = start(body)
    _wait_for(tmp_path / "record/events.jsonl")
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == EXIT_STOPPED
    assert (tmp_path / "scratch/saved").exists() and not (tmp_path / "record/result.json").exists()


def test_a_missing_input_names_what_is_there(start, tmp_path):
    assert start("def run(job):\n job.input('tokens')").wait(20) == EXIT_FAILED
    assert "'tokens'" in record(tmp_path, "error.json")["message"]


def test_an_engine_dies_with_its_worker(tmp_path):
    (tmp_path / "job.json").write_text(json.dumps({"kind": "toy", "spec": {}, "inputs": {}}))
    engine = PRELUDE + "def run(job):\n (job.record / 'pid').write_text(str(os.getpid()))\n time.sleep(60)\nmain(run)"
    worker = (
        "import os, subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {engine!r}, {str(tmp_path)!r}],"
        " env={**os.environ, 'MARIN_PARENT_PID': str(os.getpid())})\ntime.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", worker])
    _wait_for(tmp_path / "record/pid")
    pid = int((tmp_path / "record/pid").read_text())
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _alive(pid)


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _wait_for(path):
    deadline = time.monotonic() + 20
    while not (path.exists() and path.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert path.exists()
