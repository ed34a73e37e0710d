"""Seeds about leases, logs and records. The numbers are those of the complaints that they answer."""

import ast
import os
import time
from pathlib import Path

import pytest
from toy import graph

from marin.catalog.v1 import catalog_service_pb2 as pb
from marin.workflow.v1 import workflow_pb2 as wf
from marin_catalog.core.leases import Leases

ROOT = Path(__file__).resolve().parents[2]


def wait(condition, seconds=30.0):
    """``seconds`` only guard against hanging."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)


def started(toy, kind):
    return [pid for k, pid in toy.starts() if k == kind]


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def attempts(toy, run, node):
    job = next(n.job.id for n in run.nodes if n.node_id == node)
    return list(toy.session.call(toy.session.catalog.ListAttempts, pb.ListAttemptsRequest(build_id=job)).attempts)


def test_a05_success_stays_success_with_a_tiny_heartbeat(make_toy):
    toy = make_toy(lease_seconds=0.2)
    for i in range(4):
        run = toy.run(graph(version="dev"), f"r{i}")
        assert run.state == wf.RUN_STATE_SUCCEEDED
        outcomes = [a.outcome for node in ("docs", "tok", "tokens", "talk") for a in attempts(toy, run, node)]
        assert outcomes[-1] == "succeeded" and "failed" not in outcomes


def test_a06_a_lost_lease_ends_the_work_and_the_next_attempt_finishes(toy):
    toy.tell("documents", seconds=600)
    toy.session.create_run("r", graph())
    wait(lambda: started(toy, "documents"))
    (first,) = started(toy, "documents")
    toy.tell("documents")
    clock = toy.context.clock
    toy.context.clock = lambda: clock() + 3600 * 10**6  # its holder was silent for an hour
    toy.do(Leases(toy.context).expire_leases())
    toy.context.clock = clock
    wait(lambda: not alive(first))
    run = toy.wait("r")
    assert run.state == wf.RUN_STATE_SUCCEEDED
    assert [a.outcome for a in attempts(toy, run, "docs")] == ["lost", "succeeded"]
    assert len({a.uri for a in attempts(toy, run, "docs")}) == 2  # two attempts never share a directory


def test_a07_workers_that_race_for_one_build_start_one_engine(make_toy):
    toy = make_toy(workers=4)
    toy.tell("documents", seconds=0.5)
    toy.session.create_run("one", graph())
    toy.session.create_run("two", graph())  # the second asker attaches
    for name in ("one", "two"):
        run = toy.wait(name)
        assert run.state == wf.RUN_STATE_SUCCEEDED
    assert sorted(k for k, _ in toy.starts()) == ["conversations", "documents", "tokenizer", "tokens"]


def test_a24_what_many_need_is_made_once(make_toy):
    toy = make_toy(workers=3)
    g = wf.Graph(name="wide", project="default")
    g.nodes.add().CopyFrom(graph().nodes[0])
    for i in range(5):
        node = g.nodes.add()
        node.CopyFrom(graph(vocab=512 + i).nodes[1])
        node.id = node.target.name = f"tok{i}"
    run = toy.run(g)
    assert run.state == wf.RUN_STATE_SUCCEEDED
    kinds = [k for k, _ in toy.starts()]
    assert kinds.count("documents") == 1 and kinds.count("tokenizer") == 5
    digest = next(n.artifact.content_digest for n in run.nodes if n.node_id == "docs")
    assert all(n.artifact.inputs[0].content_digest == digest for n in run.nodes if n.node_id != "docs")


def test_a30_the_log_is_there_from_the_first_second_and_after_a_crash(toy, marin):
    toy.tell("documents", say="first light", seconds=600)
    toy.session.create_run("r", graph())
    wait(lambda: "first light" in marin("logs", "docs")[1])  # while it works
    (pid,) = started(toy, "documents")
    toy.tell("documents", say="second light")
    os.kill(pid, 9)
    run = toy.wait("r")
    assert run.state == wf.RUN_STATE_SUCCEEDED
    assert "first light" in marin("logs", "docs", "--attempt", "1")[1]
    assert "second light" in marin("logs", "docs")[1]
    killed, good = attempts(toy, run, "docs")
    assert "first light" in killed.log_tail and good.outcome == "succeeded"


def test_a31_a_view_shows_state_attempts_error_command_and_where_it_ran(toy, marin):
    toy.tell("documents", seconds=600)
    toy.session.create_run("running", graph(version="dev"))
    wait(lambda: started(toy, "documents"))
    wait(
        lambda: (
            "running" in {n["state"] for n in marin("runs", "show", "running", as_json=True)["nodes"] if n["attempts"]}
        )
    )
    toy.tell("documents")
    os.kill(started(toy, "documents")[0], 9)
    run = toy.wait("running")
    shown = marin("runs", "show", "running", as_json=True)
    killed, good = next(n["attempts"] for n in shown["nodes"] if n["node"] == "docs")
    assert killed["outcome"] == "failed" and killed["error"]["metadata"]["signal"] == "SIGKILL"
    assert good["outcome"] == "succeeded" and "toy_engines.engine" in good["command"]
    toy.tell("tokenizer", fail=9)
    run = toy.run(graph(version="v3", vocab=700), "failed")
    assert run.state == wf.RUN_STATE_FAILED
    code, out, _ = marin("runs", "show", "failed")
    for part in (
        "TOY_BROKE: the toy broke",
        "fix: mend the toy",
        "command: ",
        "engine=",
        "python=3.12",
        "| at work",
        "skipped",
    ):
        assert part in out, part
    assert code == 0 and "git_revision=" in out
    listed = marin("runs", "list", as_json=True)
    assert [(r["state"], r["failed"]) for r in listed] == [("failed", "tok"), ("succeeded", "")]


def test_a31_preemption_is_told_from_failure_and_does_not_count(toy):
    toy.tell("documents", seconds=600)
    toy.session.create_run("r", graph())
    wait(lambda: started(toy, "documents"))
    toy.tell("documents")
    os.kill(started(toy, "documents")[0], 15)  # what a machine that goes away sends
    run = toy.wait("r")
    assert run.state == wf.RUN_STATE_SUCCEEDED
    assert [a.outcome for a in attempts(toy, run, "docs")] == ["preempted", "succeeded"]
    job = next(n.job.id for n in run.nodes if n.node_id == "docs")
    build = toy.session.call(toy.session.catalog.GetBuild, pb.GetBuildRequest(id=job)).build
    assert (build.attempt, build.preemptions) == (2, 1)


def test_gc_moves_aside_only_what_nothing_needs(toy, marin):
    toy.tell("documents", die=1)
    run = toy.run(graph())
    dead, good = (Path(a.uri.removeprefix("file://")) for a in attempts(toy, run, "docs"))
    assert not marin("gc", as_json=True)["actions"]  # too young
    would = marin("gc", "--dry-run", "--older-than", "0", as_json=True)["actions"]
    assert [a["path"] for a in would] == [str(dead)] and dead.is_dir()
    marin("gc", "--older-than", "0", as_json=True)
    assert not dead.exists() and good.is_dir()
    (place,) = (toy.store / ".quarantine").iterdir()
    assert (place / "FROM").read_text() == f"{dead}\n" and (place / "attempt" / "record" / "log.txt").exists()
    assert not marin("gc", "--older-than", "0", as_json=True)["actions"]  # kept for a while
    deleted = marin("gc", "--older-than", "0", "--keep", "0", as_json=True)["actions"]
    assert [a["action"] for a in deleted] == ["delete"] and not place.exists()
    assert all(Path(a.uri.removeprefix("file://")).is_dir() for a in toy.session.artifacts())
    code, _, err = marin("gc", "--older-than", "0", "--store", str(toy.toy))
    assert code == 1 and "--store" in err


def test_events_replay_agrees_with_the_catalog_and_sees_a_log_that_does_not(toy, marin):
    toy.tell("documents", die=1)
    toy.run(graph())
    code, out, _ = marin("events", "replay")
    assert code == 0 and "4 builds  4 artifacts  1 runs" in out and "say the same" in out
    import sqlite3

    with sqlite3.connect(toy.workspace / "catalog.db") as database:
        database.execute("UPDATE artifacts SET content_digest = 'sha256:0' WHERE name = 'n/docs'")
    code, out, _ = marin("events", "replay")
    assert code == 1 and "artifacts default/n/docs@v1 content_digest" in out


@pytest.mark.parametrize(
    "part",
    (
        "libs/artifacts/src/marin_artifacts/identity.py",
        "services/catalog/src/marin_catalog/core/artifacts.py",
        "services/catalog/src/marin_catalog/core/leases.py",
        "services/workflow/src/marin_workflow/core/reconcile.py",
        "libs/marin/src/marin/execution/step_runner.py",
    ),
)
def test_a32_identity_catalogue_leases_scheduler_and_runner_are_apart_and_small(part):
    source = (ROOT / part).read_text()
    assert len(source.splitlines()) <= 300
    public = [n.name for n in ast.parse(source).body if hasattr(n, "name") and not n.name.startswith("_")]
    assert 0 < len(public) <= 8, public
