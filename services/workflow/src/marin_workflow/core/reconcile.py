"""One level-triggered step: look at what is, do what can be done next. Repeating it is always safe."""

from typing import Protocol

from google.protobuf.timestamp_pb2 import Timestamp

from marin.catalog.v1.catalog_pb2 import Artifact
from marin.common.v1 import artifact_pb2, job_pb2
from marin.workflow.v1 import workflow_pb2 as wf
from marin_chassis.engine import EngineError
from marin_chassis.errors import to_status
from marin_workflow.core.graph import topological
from marin_workflow.core.plan import CatalogView, with_inputs

DONE = (wf.NODE_STATE_CACHED, wf.NODE_STATE_SUCCEEDED, wf.NODE_STATE_ADOPTED)
BAD = (wf.NODE_STATE_FAILED, wf.NODE_STATE_SKIPPED, wf.NODE_STATE_CANCELLED)
OPEN = (wf.NODE_STATE_WAITING, wf.NODE_STATE_RUNNING)


class Actions(CatalogView, Protocol):
    """What a reconcile step does to the world."""

    async def adopt(self, source: Artifact, target: artifact_pb2.ArtifactTarget) -> Artifact: ...

    async def create_job(self, node: wf.Node, inputs: list[artifact_pb2.InputRef], request_id: str) -> job_pb2.Job: ...

    async def job(self, node: wf.Node, job_id: str) -> job_pb2.Job: ...

    async def cancel_job(self, node: wf.Node, job_id: str, reason: str) -> None: ...


def new_run(run_id: str, graph: wf.Graph, options: wf.RunOptions | None = None) -> wf.Run:
    """A run with every node waiting. Raises EngineError for a graph that is not well formed."""
    run = wf.Run(id=run_id, graph=graph, state=wf.RUN_STATE_RUNNING, create_time=_now(), options=options)
    for node in topological(graph):
        run.nodes.add(node_id=node.id, state=wf.NODE_STATE_WAITING)
    return run


async def step(run: wf.Run, actions: Actions) -> None:
    """Moves every node as far as it can go now, and sets the state of the run.

    An error of one node's service is that node's failure, unless the service is merely away: then the node keeps its
    state with the reason and is tried again at the next step.
    """
    nodes = {n.id: n for n in run.graph.nodes}
    states = {s.node_id: s for s in run.nodes}
    for status in run.nodes:
        if status.state not in OPEN:
            continue
        try:
            await _advance(run, nodes[status.node_id], status, states, actions)
        except EngineError as e:
            if e.code == "UNAVAILABLE":
                status.reason = e.message
            else:
                status.state = wf.NODE_STATE_FAILED
                status.error.CopyFrom(to_status(e))
    if all(s.state not in OPEN for s in run.nodes):
        run.end_time.CopyFrom(_now())
        if run.cancel_reason and any(s.state == wf.NODE_STATE_CANCELLED for s in run.nodes):
            run.state = wf.RUN_STATE_CANCELLED
        else:
            run.state = wf.RUN_STATE_FAILED if any(s.state in BAD for s in run.nodes) else wf.RUN_STATE_SUCCEEDED


async def _advance(
    run: wf.Run, node: wf.Node, status: wf.NodeStatus, states: dict[str, wf.NodeStatus], actions: Actions
) -> None:
    if status.state == wf.NODE_STATE_RUNNING:
        await _follow(run, node, status, actions)
        return
    deps = [states[i.node_id] for i in node.inputs if i.node_id]
    if broken := [d for d in deps if d.state in BAD]:
        status.state, status.reason = wf.NODE_STATE_SKIPPED, f"'{broken[0].node_id}' has no artifact"
    elif run.cancel_reason:
        status.state, status.reason = wf.NODE_STATE_CANCELLED, run.cancel_reason
    elif all(d.state in DONE for d in deps):
        await _start(run, node, status, states, actions)


async def _start(
    run: wf.Run, node: wf.Node, status: wf.NodeStatus, states: dict[str, wf.NodeStatus], actions: Actions
) -> None:
    inputs = []
    for i in node.inputs:
        if i.node_id:
            source = states[i.node_id].artifact
        else:
            name, _, version = i.address.rpartition("@")
            source = await actions.artifact(run.graph.project, name, version)
            if source is None:
                raise EngineError(
                    f"input '{i.role}' of '{node.id}' is {i.address}, which is not committed",
                    hint="build it first, or correct the address",
                    reason="INPUT_MISSING",
                    code="FAILED_PRECONDITION",
                )
        inputs.append(
            artifact_pb2.InputRef(
                role=i.role,
                address=f"{source.target.name}@{source.target.version}",
                content_digest=source.content_digest,
            )
        )
    digests = {i.role: i.content_digest for i in inputs}
    decision = await with_inputs(run.graph.project, node, digests, actions, run.options)
    if run.options.on_drift == wf.DRIFT_POLICY_REBUILD:
        node = await _superseding(run, node, decision, actions)
    status.reason = ""
    if decision.action == wf.PLAN_ACTION_CACHED:
        status.state, status.reason = wf.NODE_STATE_CACHED, decision.reason if decision.diff else ""
        status.artifact.CopyFrom(decision.artifact)
    elif decision.action == wf.PLAN_ACTION_ADOPT:
        status.artifact.CopyFrom(await actions.adopt(decision.artifact, node.target))
        status.state, status.reason = wf.NODE_STATE_ADOPTED, decision.reason
    elif decision.action == wf.PLAN_ACTION_DRIFT:
        raise drift_error([decision])
    else:
        status.job.CopyFrom(await actions.create_job(node, inputs, f"{run.id}/{node.id}"))
        status.state = wf.NODE_STATE_RUNNING


async def _superseding(run: wf.Run, node: wf.Node, decision: wf.PlannedNode, actions: Actions) -> wf.Node:
    """The node with leave to take its address from what it holds now, if that is another build."""
    held = await actions.artifact(run.graph.project, node.target.name, node.target.version)
    if held is None or held.build_key == decision.build_key:
        return node
    allowed = wf.Node()
    allowed.CopyFrom(node)
    allowed.target.supersedes = held.content_digest
    return allowed


async def _follow(run: wf.Run, node: wf.Node, status: wf.NodeStatus, actions: Actions) -> None:
    job = await actions.job(node, status.job.id)
    status.reason = ""
    status.job.CopyFrom(job)
    if job.state == job_pb2.JOB_STATE_SUCCEEDED:
        artifact = await actions.artifact(run.graph.project, node.target.name, node.target.version)
        if artifact is not None:
            status.artifact.CopyFrom(artifact)
            status.state = wf.NODE_STATE_SUCCEEDED
    elif job.state == job_pb2.JOB_STATE_FAILED:
        status.state = wf.NODE_STATE_FAILED
        status.error.CopyFrom(job.error)
    elif job.state == job_pb2.JOB_STATE_CANCELLED:
        status.state = wf.NODE_STATE_CANCELLED
    elif run.cancel_reason:
        await actions.cancel_job(node, job.id, run.cancel_reason)


def drift_error(drifted: list[wf.PlannedNode]) -> EngineError:
    """The error for addresses that are committed with another build key."""
    first = drifted[0]
    address = f"{first.artifact.target.name}@{first.artifact.target.version}"
    more = f" (and {len(drifted) - 1} more)" if len(drifted) > 1 else ""
    return EngineError(
        f"{address}{more} is committed with another build key; what differs: {'; '.join(first.diff[:20])}",
        hint="give it another version (--version), undo the change, or decide with --on-drift=serve|rebuild",
        reason="DRIFT",
        code="FAILED_PRECONDITION",
        node=first.node_id,
    )


def _now() -> Timestamp:
    now = Timestamp()
    now.GetCurrentTime()
    return now
