"""The main job as a user sees it: iceball-micro on the real services, once whole, once with everything killed on the way.

One module, two workspaces: the second run must come out with the same bytes as the first, whatever was killed.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from whole_system import ROOT, Marin

pytestmark = pytest.mark.slow
STAGES = ("fineweb", "pretrain", "sft", "gsm8k", "rl", "evaluation")
ADDRESSES = {
    "documents/iceball-micro-fineweb@v1",
    "tokenizers/iceball-micro@v1",
    "tokenized/iceball-micro-fineweb@v1",
    "checkpoints/iceball-micro-pretrain@v1",
    "documents/iceball-micro-conversations@v1",
    "checkpoints/iceball-micro-sft@v1",
    "documents/iceball-micro-gsm8k-skyrl@v1",
    "checkpoints/iceball-micro-rl@v1",
    "evals/iceball-micro@v1",
}
SAME_BYTES = sorted(a for a in ADDRESSES if not a.startswith(("checkpoints/iceball-micro-rl", "evals/")))


class Finished:
    """A workspace in which the whole run was made, with what was seen on the way."""

    def __init__(self, root: Path) -> None:
        self.marin = Marin(root / "ws")
        self.before = self.marin.json("plan", "iceball-micro")
        endpoints = self.marin.json("up", "nats", "catalog", "workflow")
        self.subscriber = subprocess.Popen(
            [str(ROOT / ".envs/dev/bin/python"), str(ROOT / "tests/outside_subscriber.py"), endpoints["nats"]],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.subscriber.stdout.readline() == "ready\n"
        self.run = self.marin("run", "iceball-micro")
        time.sleep(1)
        self.subscriber.kill()
        self.heard = [json.loads(line)["artifact"] for line in self.subscriber.stdout.read().splitlines()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    done = Finished(tmp_path_factory.mktemp("whole"))
    yield done
    done.marin("down")


def test_six_stages_run_and_end_with_a_table(finished):
    assert finished.run.returncode == 0, finished.run.stderr
    lines = finished.run.stdout.splitlines()
    table = {line.split()[0]: line for line in lines if line.split() and line.split()[0] in STAGES}
    assert tuple(table) == STAGES
    assert "next:" in lines
    loss = re.search(r"loss ([\d.]+) -> ([\d.]+)", table["pretrain"])
    assert float(loss[1]) > 7 and float(loss[2]) < 6.5
    for word in ("loss", "tokens per second", "reward", "ETA"):
        assert word in finished.run.stderr


def test_the_plan_says_run_before_and_cached_after(finished):
    assert {p["action"] for p in finished.before} == {"run"} and len(finished.before) == len(ADDRESSES)
    assert {p["action"] for p in finished.marin.json("plan", "iceball-micro")} == {"cached"}


def test_an_outsider_hears_one_committed_event_for_each_artifact(finished):
    addresses = [event["address"] for event in finished.heard]
    assert sorted(addresses) == sorted(ADDRESSES)
    artifacts = finished.marin.artifacts()
    for event in finished.heard:
        assert artifacts[event["address"]]["content_digest"] == event["content_digest"]


def test_the_same_again_runs_nothing(finished):
    events = finished.marin("events").stdout
    again = finished.marin("run", "iceball-micro")
    assert again.returncode == 0 and "nothing to run" in again.stderr
    assert finished.marin("events").stdout == events


def test_artifact_rows_and_content_are_what_they_say(finished):
    artifacts = finished.marin.artifacts()
    assert set(artifacts) == ADDRESSES
    for address, row in artifacts.items():
        assert {"address", "kind", "content_digest", "build_key", "bytes", "state"} <= row.keys()
        shown = finished.marin.json("artifacts", "show", address)
        out = Path(row["uri"].removeprefix("file://")) / "out"
        assert sorted(f["path"] for f in shown["content"]) == sorted(
            p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()
        )
    policy = finished.marin.json("artifacts", "show", "checkpoints/iceball-micro-rl@v1")
    assert {i["address"] for i in policy["inputs"]} == {
        "checkpoints/iceball-micro-sft@v1",
        "documents/iceball-micro-gsm8k-skyrl@v1",
    }


def test_the_evaluation_scored_every_task_on_the_served_policy(finished):
    row = finished.marin.artifacts()["evals/iceball-micro@v1"]
    report = json.loads((Path(row["uri"].removeprefix("file://")) / "out/evaluation.json").read_text())
    text = json.dumps(report)
    assert "gsm8k-smoke" in text and "aime-smoke" in text
    for task in report["tasks"]:
        coverage = task["coverage"]
        assert coverage["n_scored"] == coverage["n_attempted"] > 0, task


def test_logs_and_status_of_a_finished_run(finished):
    assert "train" in finished.marin("logs", "pretrain").stdout or finished.marin("logs", "pretrain").returncode == 0
    status = finished.marin("status")
    assert status.returncode == 0 and "succeeded" in status.stdout


def _pids(pattern: str, workspace: Path) -> list[int]:
    found = []
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            command = (proc / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            environ = (proc / "environ").read_bytes().decode(errors="replace")
        except (OSError, ValueError):
            continue
        if re.search(pattern, command) and (str(workspace) in environ or str(workspace) in command):
            found.append(int(proc.name))
    return found


def _kill(pattern: str, workspace: Path) -> None:
    pids = _pids(pattern, workspace)
    assert pids, f"nothing runs that matches {pattern}"
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def _wait(what, condition, seconds=240):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.1)
    raise AssertionError(f"{what} did not happen in {seconds} s")


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Runs up to sft while the catalog, the bus, the training engine and the command itself are killed, each once."""
    root = tmp_path_factory.mktemp("killed")
    marin = Marin(root / "ws")
    store = root / "ws/store/default"
    command = marin.start("run", "iceball-micro", "--stage", "sft")
    _wait("the documents", lambda: list(store.glob("documents/*/attempts/*/manifest.json")))
    _kill(r"-m marin_catalog", marin.workspace)
    _wait("the tokenizer", lambda: list(store.glob("tokenizer/*/attempts/*/manifest.json")))
    _kill(r"nats-server", marin.workspace)
    checkpoints = "checkpoint.pretrain/*/scratch/**/metadata.json"
    _wait("a training checkpoint", lambda: list(store.glob(checkpoints)))
    _kill(r"marin_training\.engine", marin.workspace)
    _wait("the second attempt", lambda: len(list(store.glob("checkpoint.pretrain/*/attempts/*"))) == 2)
    command.kill()
    command.wait()
    marin.again = marin("run", "iceball-micro", "--stage", "sft")
    yield marin
    marin("down")


def test_a_run_with_everything_killed_finishes_with_the_same_bytes(finished, killed):
    assert killed.again.returncode == 0, killed.again.stderr
    whole, other = finished.marin.artifacts(), killed.artifacts()
    compared = [a for a in SAME_BYTES if a in other]
    assert len(compared) >= 6
    assert {a: other[a]["content_digest"] for a in compared} == {a: whole[a]["content_digest"] for a in compared}


def test_nothing_that_was_committed_was_built_again_and_training_resumed(killed):
    events = [json.loads(e) for e in re.findall(r"^\{.*?^\}", killed("events", "--output", "json").stdout, re.M | re.S)]
    committed = [e["payload"]["artifact"]["address"] for e in events if e["type"] == "artifact.committed"]
    assert len(committed) == len(set(committed))
    attempts = sorted((killed.workspace / "store/default/checkpoint.pretrain").glob("*/attempts/*"))
    (last,) = (a for a in attempts if (a / "manifest.json").exists())
    events = [json.loads(line) for line in (last / "record/events.jsonl").read_text().splitlines()]
    first = next(e["step"] for e in events if e["type"] == "progress" and e["phase"] == "train")
    assert first > 1, "the last attempt must go on from a checkpoint, not from the start"


def _grpcurl(*args: str) -> str:
    done = subprocess.run(
        [str(ROOT / "tools/grpcurl"), "-plaintext", *args], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_service_answers_grpcurl_and_a_job_can_be_made_by_hand(finished):
    endpoints = finished.marin.json("up")
    for name, endpoint in endpoints.items():
        if name == "nats":
            continue
        listed = _grpcurl(endpoint, "list")
        assert "grpc.health.v1.Health" in listed and f"marin.{name}.v1." in listed
        assert "SERVING" in _grpcurl(endpoint, "grpc.health.v1.Health/Check")
    request = {
        "target": {"name": "tokenizers/by-hand", "version": "v1"},
        "spec": {"vocab_size": 600},
        "inputs": [{"role": "documents", "address": "documents/iceball-micro-fineweb@v1"}],
    }
    made = _grpcurl(
        "-d",
        json.dumps(request),
        endpoints["tokenization"],
        "marin.tokenization.v1.TokenizationService/CreateTrainTokenizerJob",
    )
    job = json.loads(made)["job"]
    watched = _grpcurl(
        "-d", json.dumps({"id": job["id"]}), endpoints["tokenization"], "marin.common.v1.JobService/WatchJob"
    )
    assert "JOB_STATE_SUCCEEDED" in watched
    assert "tokenizers/by-hand@v1" in finished.marin.artifacts()


@pytest.mark.parametrize("page", ["README.md", "docs/start.md", "docs/operate.md"])
def test_the_commands_of_the_docs_run(finished, page):
    """Every ``sh`` block of a page, in order, in the workspace where the chain has run."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    lines = "\n".join(line for line in "".join(blocks).splitlines() if "./tools/test" not in line)
    ports = finished.marin.json("up", "tokenization", "catalog")
    for name, port in (("tokenization", 7004), ("catalog", 7001)):  # other ports where another workspace is up
        lines = lines.replace(f"127.0.0.1:{port}", ports[name])
    env = {**os.environ, "MARIN_WORKSPACE": str(finished.marin.workspace)}
    script = f"set -euo pipefail\n{lines}\n"
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


def test_the_python_of_the_start_page_builds_a_graph(tmp_path):
    (block,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/start.md").read_text(), re.M | re.S)
    code = block.replace("StepRunner().run([lower(model)])", "print(len(lower(model).nodes))")
    done = subprocess.run(
        [str(ROOT / ".envs/client/bin/python"), "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "4\n", done.stderr


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
