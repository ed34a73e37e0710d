"""Planning: cached, run, adopt, drift, blocked, each with its reason."""

import pytest
from graphs import graph
from world import FakeWorld

from marin.workflow.v1 import workflow_pb2 as wf
from marin_chassis.engine import EngineError
from marin_workflow.core.graph import topological
from marin_workflow.core.plan import plan
from marin_workflow.core.reconcile import new_run, step

CACHED, RUN, ADOPT = wf.PLAN_ACTION_CACHED, wf.PLAN_ACTION_RUN, wf.PLAN_ACTION_ADOPT
DRIFT, BLOCKED = wf.PLAN_ACTION_DRIFT, wf.PLAN_ACTION_BLOCKED


async def actions(g, world):
    return {p.node_id: p.action for p in await plan(g, world)}


async def built(g):
    world = FakeWorld()
    run = new_run("r", g)
    while run.state == wf.RUN_STATE_RUNNING:
        await step(run, world)
        for job_id, job in world.jobs.items():
            if job.state != 3:
                world.finish(job_id)
    assert run.state == wf.RUN_STATE_SUCCEEDED
    return world


async def test_nothing_built_everything_runs_and_says_after_what():
    planned = {p.node_id: p for p in await plan(graph(), FakeWorld())}
    assert {p.action for p in planned.values()} == {RUN}
    assert planned["docs"].reason == "not built yet" and planned["tokens"].reason == "after docs, tok"


async def test_built_everything_is_cached():
    assert set((await actions(graph(), await built(graph()))).values()) == {CACHED}


async def test_another_version_adopts_without_running():
    world = await built(graph())
    assert set((await actions(graph(version="v2"), world)).values()) == {ADOPT}


async def test_a_changed_spec_is_drift_with_the_field_and_blocks_what_follows():
    planned = {p.node_id: p for p in await plan(graph(vocab=1024), await built(graph()))}
    assert planned["tok"].action == DRIFT and list(planned["tok"].diff) == ["spec.vocab_size: 512 -> 1024"]
    assert planned["tokens"].action == BLOCKED and "tok" in planned["tokens"].reason
    assert planned["docs"].action == planned["talk"].action == CACHED


async def test_an_input_that_comes_out_with_the_same_bytes_keeps_the_rest_cached():
    world = await built(graph())
    docs = world.artifacts.pop(("n/docs", "v1"))
    planned = await actions(graph(), world)
    assert planned["docs"] == RUN and planned["tok"] == RUN  # not known before docs is built again
    world.artifacts[("n/docs", "v1")] = docs
    assert (await actions(graph(), world))["tok"] == CACHED


async def test_a_mutable_version_always_runs():
    world = await built(graph(version="dev"))
    assert set((await actions(graph(version="dev"), world)).values()) == {RUN}


async def test_an_address_that_is_not_committed_blocks():
    g = graph()
    g.nodes[1].inputs[0].address = "n/elsewhere@v9"
    planned = {p.node_id: p for p in await plan(g, FakeWorld())}
    assert planned["tok"].action == BLOCKED and "n/elsewhere@v9" in planned["tok"].reason


def _circle(g):
    g.nodes[0].inputs.add(role="x", node_id="tokens")


def _unknown_node(g):
    g.nodes[1].inputs[0].node_id = "doc"


def _unknown_kind(g):
    g.nodes[0].kind = "document"


def _wrong_spec(g):
    g.nodes[0].tokenize.SetInParent()


def _twice(g):
    g.nodes[1].target.name = "n/docs"


def _same_id(g):
    g.nodes[3].id = "docs"


def _fixed_on_mutable(g):
    g.nodes[0].target.version = "dev"


@pytest.mark.parametrize(
    ("break_it", "reason", "hint"),
    [
        (_circle, "CYCLE", "remove"),
        (_unknown_node, "UNKNOWN_NODE", "did you mean 'docs'"),
        (_unknown_kind, "UNKNOWN_KIND", "did you mean 'documents'"),
        (_wrong_spec, "WRONG_SPEC", "run_pipeline"),
        (_twice, "DUPLICATE_ADDRESS", "another name"),
        (_same_id, "DUPLICATE_NODE", "own id"),
        (_fixed_on_mutable, "FIXED_ON_MUTABLE", "dev"),
    ],
)
def test_a_malformed_graph_is_refused_with_the_fix(break_it, reason, hint):
    g = graph()
    break_it(g)
    with pytest.raises(EngineError) as e:
        topological(g)
    assert e.value.reason == reason and hint in e.value.hint
