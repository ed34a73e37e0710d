"""``marin run`` and ``marin plan``."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from experiments import registry
from marin.cli.decide import options_of, override
from marin.cli.live import LiveView
from marin.cli.output import address, clean, print_json, print_table, row, size
from marin.cli.plan_view import as_json, stages, tree
from marin.cli.project import graph_of, is_config, missed, targets_of
from marin.client.errors import MarinError
from marin.client.session import Session, open_session
from marin.config.changes import explain
from marin.execution.step_runner import raise_on_failure, run_graph
from marin.workflow.v1 import workflow_pb2 as wf


def plan(args: argparse.Namespace) -> int:
    """Prints what a run would do."""
    graph = _graph(args)
    with open_session(Path(args.workspace)) as session:
        session.options = options_of(args)
        planned = session.plan(graph)
        explain(session, graph, planned)
    if args.output == "json":
        print_json(as_json(graph, planned))
    else:
        print("\n".join(tree(graph, planned)))
    return 1 if _stuck(planned) else 0


def run(args: argparse.Namespace) -> int:
    """Runs an experiment to its end and prints what came out."""
    graph = _graph(args)
    targets = targets_of(args) if is_config(args.experiment) else {}
    return run_on_workspace(graph, Path(args.workspace), args.output, targets, args.experiment, options_of(args))


def _graph(args: argparse.Namespace) -> wf.Graph:
    return override(_asked(args), args.override)


def _asked(args: argparse.Namespace) -> wf.Graph:
    if is_config(args.experiment):
        return graph_of(args, args.project)
    if args.stages:
        raise MarinError("--stages is for configs", f"write `marin run {args.experiment} --stage NAME`", "BAD_OPTION")
    return registry.build(args.experiment, args.version, args.profile, args.stage, args.project, args.corpus)


def run_on_workspace(
    graph: wf.Graph,
    workspace: Path,
    output: str = "table",
    targets: Mapping[str, Mapping[str, float]] | None = None,
    name: str = "",
    options: wf.RunOptions | None = None,
) -> int:
    """Plans, installs what is missing, runs with live progress, and prints the table of artifacts.

    ``targets`` are the least scores by artifact name and benchmark; a score below is an error at the end. ``name`` is what
    the commands suggested at the end take for the graph, if not its own name.
    """
    with open_session(workspace) as session:
        session.options = options or wf.RunOptions()
        planned = session.plan(graph)
        explain(session, graph, planned)
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
        print_json(
            {
                "state": state,
                "artifacts": [{"node": n.id, "stage": n.stage, **row(artifacts[n.id])} for n in graph.nodes],
            }
        )
    else:
        _summary(graph, artifacts, name or graph.name)
    scores = {n.target.name: artifacts[n.id].summary for n in graph.nodes}
    if below := missed(targets or {}, scores):
        raise MarinError(
            "; ".join(below), "go back to the data, the training or the target, and see `marin plan`", "BELOW_TARGET"
        )
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
            "give the changed experiment another --version, undo the change, or decide with --on-drift=serve|rebuild",
            "DRIFT",
        )
    return MarinError(
        f"'{first.node_id}' cannot be built: {first.reason}", "build or correct that input first", "BLOCKED"
    )


def _explain(run: wf.Run) -> None:
    for node in run.nodes:
        if node.state == wf.NODE_STATE_SKIPPED:
            print(f"{node.node_id}: skipped, {clean(node.reason)}", file=sys.stderr)
        elif node.state == wf.NODE_STATE_FAILED and node.job.id:
            print(f"{node.node_id}: failed; its log: marin logs {node.node_id}", file=sys.stderr)


def _summary(graph: wf.Graph, artifacts: dict[str, object], name: str) -> None:
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
        f"  marin logs {last[stages(graph)[-1]].id}\n  marin events\n  marin plan {name}"
    )
