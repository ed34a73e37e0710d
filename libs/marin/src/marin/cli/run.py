"""``marin run`` and ``marin plan``."""

import argparse
import sys
from pathlib import Path

from experiments import registry
from marin.cli.live import LiveView
from marin.cli.output import address, clean, print_json, print_table, row, size
from marin.cli.plan_view import as_json, stages, tree
from marin.client.errors import MarinError
from marin.client.session import Session, open_session
from marin.execution.step_runner import raise_on_failure, run_graph
from marin.workflow.v1 import workflow_pb2 as wf


def plan(args: argparse.Namespace) -> int:
    """Prints what a run would do."""
    graph = _graph(args)
    with open_session(Path(args.workspace)) as session:
        planned = session.plan(graph)
    if args.output == "json":
        print_json(as_json(graph, planned))
    else:
        print("\n".join(tree(graph, planned)))
    return 1 if _stuck(planned) else 0


def run(args: argparse.Namespace) -> int:
    """Runs an experiment to its end and prints what came out."""
    graph = _graph(args)
    return run_on_workspace(graph, Path(args.workspace), args.output)


def _graph(args: argparse.Namespace) -> wf.Graph:
    return registry.build(args.experiment, args.version, args.profile, args.stage, args.project, args.corpus)


def run_on_workspace(graph: wf.Graph, workspace: Path, output: str = "table") -> int:
    """Plans, installs what is missing, runs with live progress, and prints the table of artifacts."""
    with open_session(workspace) as session:
        planned = session.plan(graph)
        print("\n".join(tree(graph, planned)), file=sys.stderr, flush=True)
        if _stuck(planned):
            raise _stuck_error(planned)
        artifacts = {p.node_id: p.artifact for p in planned}
        state = "succeeded"
        if any(p.action != wf.PLAN_ACTION_CACHED for p in planned):
            result = _run(session, graph, planned)
            artifacts = {n.node_id: n.artifact for n in result.nodes}
            state = wf.RunState.Name(result.state).removeprefix("RUN_STATE_").lower()
            if result.state != wf.RUN_STATE_SUCCEEDED:
                _explain(result)
                raise_on_failure(result)
        else:
            print("everything is committed already: nothing to run", file=sys.stderr)
    if output == "json":
        print_json({"state": state, "artifacts": [{"node": n.id, "stage": n.stage, **row(artifacts[n.id])} for n in graph.nodes]})
    else:
        _summary(graph, artifacts)
    return 0


def _run(session: Session, graph: wf.Graph, planned: list[wf.PlannedNode]) -> wf.Run:
    try:
        with LiveView() as view:
            return run_graph(session, graph, view.update, planned)
    except KeyboardInterrupt:
        session.system.keep()
        print(
            "\ndetached: the run goes on. `marin status` shows it, `marin logs --follow` follows it, "
            "the same `marin run` attaches again, `marin down` stops it.",
            file=sys.stderr,
        )
        raise


def _stuck(planned: list[wf.PlannedNode]) -> list[wf.PlannedNode]:
    return [p for p in planned if p.action in (wf.PLAN_ACTION_DRIFT, wf.PLAN_ACTION_BLOCKED)]


def _stuck_error(planned: list[wf.PlannedNode]) -> MarinError:
    first = next((p for p in planned if p.action == wf.PLAN_ACTION_DRIFT), _stuck(planned)[0])
    if first.action == wf.PLAN_ACTION_DRIFT:
        return MarinError(
            f"{address(first.artifact)} is {first.reason}: {'; '.join(first.diff)}",
            "give the changed experiment another --version, or undo the change",
            "DRIFT",
        )
    return MarinError(f"'{first.node_id}' cannot be built: {first.reason}", "build or correct that input first", "BLOCKED")


def _explain(run: wf.Run) -> None:
    for node in run.nodes:
        if node.state == wf.NODE_STATE_SKIPPED:
            print(f"{node.node_id}: skipped, {clean(node.reason)}", file=sys.stderr)
        elif node.state == wf.NODE_STATE_FAILED and node.job.id:
            print(f"{node.node_id}: failed; its log: marin logs {node.node_id}", file=sys.stderr)


def _summary(graph: wf.Graph, artifacts: dict[str, object]) -> None:
    """One row for each stage: its last artifact is what the stage is for."""
    last = {n.stage: n for n in graph.nodes}
    rows = []
    for stage in stages(graph):
        a = artifacts[last[stage].id]
        digest = a.content_digest.removeprefix("sha256:")[:12]
        rows.append((stage, address(a), digest, size(a.bytes), f"{a.seconds:.1f}", a.headline))
    print()
    print_table(("stage", "artifact", "digest", "size", "seconds", "what came out"), rows)
    final = address(artifacts[last[stages(graph)[-1]].id])
    print(
        f"\nnext:\n  marin artifacts list\n  marin artifacts show {final}\n"
        f"  marin logs {last[stages(graph)[-1]].id}\n  marin events\n  marin plan {graph.name}"
    )
