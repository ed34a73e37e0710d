"""What a person decides: drift served or rebuilt, reuse refused, aliases resolved once."""

import pytest
from graphs import graph
from world import FakeWorld

from marin.workflow.v1 import workflow_pb2 as wf
from marin_chassis.engine import EngineError
from marin_workflow.core.aliases import resolve
from marin_workflow.core.graph import topological
from marin_workflow.core.plan import plan
from marin_workflow.core.reconcile import new_run, step

SERVE = wf.RunOptions(on_drift=wf.DRIFT_POLICY_SERVE)
REBUILD = wf.RunOptions(on_drift=wf.DRIFT_POLICY_REBUILD)
FRESH = wf.RunOptions(fresh=True)


async def finished(g, world, options=None, name="r", content=None):
    """Runs a graph to its end; ``content`` is what every job makes, by default bytes of its own."""
    run = new_run(name, g, options)
    while run.state == wf.RUN_STATE_RUNNING:
        await step(run, world)
        for job_id, job in world.jobs.items():
            if job.state != 3:
                world.finish(job_id, content)
    assert run.state == wf.RUN_STATE_SUCCEEDED
    return run


def words(run):
    return {s.node_id: wf.NodeState.Name(s.state).removeprefix("NODE_STATE_") for s in run.nodes}


async def test_served_drift_runs_nothing_and_says_so_with_the_diff():
    world = FakeWorld()
    await finished(graph(), world)
    planned = {p.node_id: p for p in await plan(graph(vocab=1024), world, SERVE)}
    assert {p.action for p in planned.values()} == {wf.PLAN_ACTION_CACHED}
    assert "served" in planned["tok"].reason and list(planned["tok"].diff) == ["spec.vocab_size: 512 -> 1024"]
    made = len(world.created)
    run = await finished(graph(vocab=1024), world, SERVE, "s")
    assert len(world.created) == made and set(words(run).values()) == {"CACHED"}
    assert "served" in next(s for s in run.nodes if s.node_id == "tok").reason


async def test_rebuilt_drift_takes_the_address_and_is_transitive():
    world = FakeWorld()
    await finished(graph(), world)
    old = world.artifacts[("n/tok", "v1")].content_digest
    planned = {p.node_id: p for p in await plan(graph(vocab=1024), world, REBUILD)}
    assert planned["tok"].action == wf.PLAN_ACTION_RUN and old[7:19] in planned["tok"].reason and planned["tok"].diff
    assert (planned["tokens"].action, planned["tokens"].reason) == (wf.PLAN_ACTION_RUN, "after tok")
    run = await finished(graph(vocab=1024), world, REBUILD, "s")
    assert words(run) == {"docs": "CACHED", "talk": "CACHED", "tok": "SUCCEEDED", "tokens": "SUCCEEDED"}
    assert world.jobs["s/tok"].target.supersedes == old and not world.jobs["r/tok"].target.supersedes
    assert world.artifacts[("n/tok", "v1")].content_digest != old
    assert {p.action for p in await plan(graph(vocab=1024), world)} == {wf.PLAN_ACTION_CACHED}


async def test_a_rebuild_that_gives_the_same_bytes_leaves_what_follows_alone():
    world = FakeWorld()
    await finished(graph(), world, content="same")
    run = await finished(graph(vocab=1024), world, REBUILD, "s", content="same")
    assert words(run)["tok"] == "SUCCEEDED" and words(run)["tokens"] == "CACHED"


async def test_rebuilt_drift_adopts_the_same_build_from_elsewhere():
    world = FakeWorld()
    await finished(graph(), world)
    await finished(graph(vocab=1024, version="v2"), world, name="other")
    made = len(world.created)
    run = await finished(graph(vocab=1024), world, REBUILD, "s")
    assert words(run)["tok"] == "ADOPTED" and len(world.created) == made


async def test_fresh_builds_what_could_be_adopted_and_leaves_the_address_that_is_there():
    world = FakeWorld()
    await finished(graph(), world)
    planned = {p.node_id: p for p in await plan(graph(version="v2"), world, FRESH)}
    assert planned["docs"].action == wf.PLAN_ACTION_RUN and "n/docs@v1" in planned["docs"].reason
    assert {p.action for p in await plan(graph(), world, FRESH)} == {wf.PLAN_ACTION_CACHED}
    run = await finished(graph(version="v2"), world, FRESH, "f")
    assert set(words(run).values()) == {"SUCCEEDED"}


async def test_an_alias_is_resolved_once_and_recorded():
    world = FakeWorld()
    await finished(graph(), world)
    await finished(graph(version="dev"), world, name="dev")
    g = graph(version="v2")
    g.nodes[1].inputs[0].address = "n/docs@final"
    g.nodes[2].inputs[0].address = "n/docs@final"
    (resolution,) = await resolve(g, world)
    assert (resolution.alias, resolution.address) == ("n/docs@final", "n/docs@v1")
    assert resolution.content_digest == world.artifacts[("n/docs", "v1")].content_digest
    assert g.nodes[1].inputs[0].address == g.nodes[2].inputs[0].address == "n/docs@v1"
    await finished(graph(vocab=700, version="v3"), world, name="newer")  # a newer version changes nothing in this graph
    assert await resolve(g, world) == []


async def test_latest_may_be_mutable_and_then_a_fixed_version_cannot_stand_on_it():
    world = FakeWorld()
    await finished(graph(version="dev"), world)
    g = graph(version="v2")
    g.nodes[1].inputs[0].address = "n/docs@latest"
    await resolve(g, world)
    with pytest.raises(EngineError, check=lambda e: e.reason == "FIXED_ON_MUTABLE"):
        topological(g)


async def test_an_alias_of_nothing_blocks_and_one_is_no_target():
    g = graph()
    g.nodes[1].inputs[0].address = "n/none@latest"
    assert await resolve(g, FakeWorld()) == []
    planned = {p.node_id: p for p in await plan(g, FakeWorld())}
    assert planned["tok"].action == wf.PLAN_ACTION_BLOCKED and "n/none@latest" in planned["tok"].reason
    with pytest.raises(EngineError, check=lambda e: e.reason == "ALIAS_TARGET" and "inputs" in e.hint):
        topological(graph(version="final"))
