"""Runs lowered steps on the services of a workspace and waits for them."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from marin.client.errors import MarinError, from_status
from marin.client.session import Session, open_session
from marin.workflow.v1 import workflow_pb2 as wf
from marin_contracts.kinds import KINDS

Watcher = Callable[[wf.Run], None]


@dataclass
class StepRunner:
    """``StepRunner().run([lower(model)])``. ``workspace`` holds store, database and logs; services are started if down."""

    workspace: Path = field(default_factory=lambda: Path(".marin"))

    def run(self, graphs: Sequence[wf.Graph], watch: Watcher | None = None) -> list[wf.Run]:
        """Runs each graph to its end and returns the runs. Raises MarinError with the first failure of a node."""
        runs = []
        with open_session(self.workspace) as session:
            for graph in graphs:
                run = run_graph(session, graph, watch)
                raise_on_failure(run)
                runs.append(run)
        return runs


def services_for(nodes: Sequence[wf.Node]) -> list[str]:
    """The services that must be up to build these nodes, in pipeline order."""
    wanted = {s for n in nodes for s in (KINDS[n.kind].service, *KINDS[n.kind].beside)}
    return [s for s in ("data", "tokenization", "training", "inference", "rl", "evaluation") if s in wanted]


def run_graph(
    session: Session,
    graph: wf.Graph,
    watch: Watcher | None = None,
    planned: Sequence[wf.PlannedNode] | None = None,
) -> wf.Run:
    """Plans (unless ``planned`` is given), starts what is needed, runs and waits. Returns the terminal run, failed or not.

    A run of the very same graph that is still going is attached to instead of starting another.
    """
    decisions = planned if planned is not None else session.plan(graph)
    to_run = {d.node_id for d in decisions if d.action == wf.PLAN_ACTION_RUN}
    session.ensure(services_for([n for n in graph.nodes if n.id in to_run]))
    live = [
        r
        for r in session.runs(20)
        if r.state == wf.RUN_STATE_RUNNING and r.graph == graph and r.options == session.options
    ]
    run = live[0] if live else session.create_run(uuid.uuid4().hex, graph)
    for state in session.watch_run(run.id):
        run = state
        if watch:
            watch(run)
    return run


def raise_on_failure(run: wf.Run) -> None:
    """Raises the error of the first failed node of a run that did not succeed."""
    if run.state == wf.RUN_STATE_SUCCEEDED:
        return
    for node in run.nodes:
        if node.state == wf.NODE_STATE_FAILED:
            error = from_status(node.error)
            where = f"{node.node_id}, attempt {max(1, node.job.attempt)}"
            raise MarinError(f"{where}: {error.message}", error.hint, error.reason, error.metadata)
    raise MarinError(f"run {run.id[:8]} was cancelled: {run.cancel_reason}", "run it again to go on", "CANCELLED")
