"""Reconciling: order, branches, failures, cancel, restarts, a service that is away."""

from graphs import graph
from world import FakeWorld

from marin.workflow.v1 import workflow_pb2 as wf
from marin_workflow.core.reconcile import new_run, step


def states(run):
    return {s.node_id: wf.NodeState.Name(s.state).removeprefix("NODE_STATE_") for s in run.nodes}


async def test_a_node_starts_only_after_its_inputs_and_branches_run_side_by_side():
    world, run = FakeWorld(), new_run("r", graph())
    await step(run, world)
    assert world.created == ["docs", "talk"]
    world.finish("r/docs")
    await step(run, world)
    assert world.created == ["docs", "talk", "tok"] and states(run)["tokens"] == "WAITING"


async def test_a_failed_branch_leaves_the_others_running_and_keeps_its_error():
    world, run = FakeWorld(), new_run("r", graph())
    await step(run, world)
    world.fail("r/docs")
    await step(run, world)
    assert states(run) == {"docs": "FAILED", "talk": "RUNNING", "tok": "SKIPPED", "tokens": "SKIPPED"}
    assert run.state == wf.RUN_STATE_RUNNING
    world.finish("r/talk")
    await step(run, world)
    assert run.state == wf.RUN_STATE_FAILED and run.nodes[0].error.message == "broken"


async def test_steps_can_be_repeated_after_a_restart_without_making_a_second_job():
    world, run = FakeWorld(), new_run("r", graph())
    before_restart = wf.Run.FromString(run.SerializeToString())
    await step(run, world)
    await step(before_restart, world)  # the restarted process never saw the first step
    assert len(world.jobs) == 2


async def test_an_input_committed_by_somebody_else_is_used():
    world, first, second = FakeWorld(), new_run("a", graph()), new_run("b", graph())
    await step(first, world)
    world.finish("a/docs")
    await step(second, world)
    assert states(second)["docs"] == "CACHED" and states(second)["tok"] == "RUNNING"


async def test_cancel_ends_running_jobs_and_starts_no_more():
    world, run = FakeWorld(), new_run("r", graph())
    await step(run, world)
    run.cancel_reason = "enough"
    while run.state == wf.RUN_STATE_RUNNING:
        await step(run, world)
    assert run.state == wf.RUN_STATE_CANCELLED and set(world.cancelled) == {"r/docs", "r/talk"}
    assert world.created == ["docs", "talk"]


async def test_a_service_that_is_away_is_waited_for():
    world, run = FakeWorld(), new_run("r", graph())
    world.away = {"documents"}
    await step(run, world)
    docs = next(s for s in run.nodes if s.node_id == "docs")
    assert docs.state == wf.NODE_STATE_WAITING and docs.reason == "away"
    world.away = set()
    await step(run, world)
    assert docs.state == wf.NODE_STATE_RUNNING and docs.reason == ""


async def test_drift_that_appears_while_running_fails_the_node():
    world, run = FakeWorld(), new_run("r", graph())
    other = new_run("o", graph(vocab=1024))
    for r in (run, other):
        await step(r, world)
    world.finish("r/docs")
    world.finish("o/docs")
    await step(other, world)
    world.finish("o/tok")
    await step(run, world)
    assert states(run)["tok"] == "FAILED"
    assert "vocab_size: 1024 -> 512" in next(s for s in run.nodes if s.node_id == "tok").error.message
