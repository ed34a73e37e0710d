"""``marin runs list | show`` and ``marin lineage``: what was done, with every attempt, and what came from what."""

import argparse
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp

from marin.catalog.v1 import catalog_pb2, catalog_service_pb2 as catalog_pb
from marin.cli.live import WORDS
from marin.cli.output import address, clean, print_json, print_table, row
from marin.client.errors import MarinError, from_status
from marin.client.session import Session, open_session
from marin.common.v1 import artifact_pb2
from marin.workflow.v1 import workflow_pb2 as wf, workflow_service_pb2 as pb


def runs_list(args: argparse.Namespace) -> int:
    """Runs, newest first."""
    with open_session(Path(args.workspace)) as session:
        request = pb.ListRunsRequest(project=args.project, page_size=args.limit)
        runs = session.call(session.workflow.ListRuns, request).runs
    if args.output == "json":
        print_json([_run_row(r) for r in runs])
    elif runs:
        rows = [tuple(_run_row(r)[k] for k in ("id", "name", "state", "started", "seconds", "failed")) for r in runs]
        print_table(("run", "name", "state", "started", "seconds", "failed nodes"), [(r[0][:8], *r[1:]) for r in rows])
    else:
        print("no run yet: try `marin run iceball-micro`")
    return 0


def runs_show(args: argparse.Namespace) -> int:
    """One run: where it was asked for, its nodes, and every attempt with what went wrong."""
    with open_session(Path(args.workspace)) as session:
        run = session.call(session.workflow.GetRun, pb.GetRunRequest(id=args.run)).run
        attempts = {n.node_id: _attempts(session, n.job.id) for n in run.nodes if n.job.id}
    if args.output == "json":
        nodes = [
            {**_node_row(n), "attempts": [_attempt_row(a) for a in attempts.get(n.node_id, [])]} for n in run.nodes
        ]
        print_json({**_run_row(run), "provenance": MessageToDict(run.provenance), "nodes": nodes})
        return 0
    facts = _run_row(run)
    print(f"run {run.id}  {clean(run.graph.name)}  {facts['state']}  {facts['started']}  {facts['seconds']} s")
    p = run.provenance
    if p.command:
        dirt = " with changes in no commit" if p.git_dirty else ""
        print(
            f"asked for by {clean(p.user)}@{clean(p.host)}: {clean(p.command)}\n"
            f"from {p.git_revision or 'no checkout'}{dirt}"
        )
    for r in run.resolutions:
        print(f"{r.alias} stood for {r.address}  {r.content_digest[7:19]}")
    print_table(("node", "state", "artifact", "attempts"), [tuple(_node_row(n).values()) for n in run.nodes])
    for node_id, made in attempts.items():
        for a in made:
            _print_attempt(node_id, a)
    return 0


def lineage(args: argparse.Namespace) -> int:
    """What an artifact was made from, or what was made from it."""
    name, _, version = args.address.rpartition("@")
    if not name:
        raise MarinError(f"'{args.address}' is no address", "write name@version, as `marin artifacts list` prints it")
    target = artifact_pb2.ArtifactTarget(project=args.project, name=name, version=version)
    direction = catalog_pb.LINEAGE_DIRECTION_DOWN if args.down else catalog_pb.LINEAGE_DIRECTION_UP
    with open_session(Path(args.workspace), ("catalog",)) as session:
        request = catalog_pb.GetLineageRequest(target=target, direction=direction)
        nodes = session.call(session.catalog.GetLineage, request).nodes
    if args.output == "json":
        print_json([{"distance": n.distance, **row(n.artifact)} for n in nodes])
    elif nodes:
        rows = [(n.distance, address(n.artifact), n.artifact.kind, n.artifact.content_digest[7:19]) for n in nodes]
        print_table(("steps", "address", "kind", "digest"), rows)
    else:
        print(
            f"nothing was made from {args.address}" if args.down else f"{args.address} was made from no other artifact"
        )
    return 0


def _attempts(session: Session, build_id: str) -> list[catalog_pb2.Attempt]:
    return list(session.call(session.catalog.ListAttempts, catalog_pb.ListAttemptsRequest(build_id=build_id)).attempts)


def _run_row(run: wf.Run) -> dict[str, Any]:
    ended = run.HasField("end_time")
    return {
        "id": run.id,
        "name": clean(run.graph.name),
        "state": wf.RunState.Name(run.state).removeprefix("RUN_STATE_").lower(),
        "started": f"{run.create_time.ToDatetime():%Y-%m-%d %H:%M:%S}",
        "seconds": _seconds(run.create_time, run.end_time) if ended else None,
        "failed": ", ".join(n.node_id for n in run.nodes if n.state == wf.NODE_STATE_FAILED),
    }


def _node_row(node: wf.NodeStatus) -> dict[str, Any]:
    made = address(node.artifact) if node.HasField("artifact") else ""
    return {"node": node.node_id, "state": WORDS[node.state], "artifact": made, "attempts": node.job.attempt or ""}


def _attempt_row(a: catalog_pb2.Attempt) -> dict[str, Any]:
    error = from_status(a.error) if a.HasField("error") else None
    return {
        "number": a.number,
        "outcome": a.outcome,
        "host": a.host,
        "holder": a.holder,
        "seconds": _seconds(a.start_time, a.end_time) if a.HasField("end_time") else None,
        "command": a.command,
        "uri": a.uri,
        "facts": dict(a.facts),
        "error": vars(error) if error else None,
        "log_tail": a.log_tail,
    }


def _print_attempt(node_id: str, a: catalog_pb2.Attempt) -> None:
    r = _attempt_row(a)
    lasted = "still running" if r["seconds"] is None else f"{r['seconds']} s"
    print(f"\n{node_id}, attempt {a.number}: {a.outcome} on {clean(a.host)}, {lasted}")
    if a.facts:
        print("  " + "  ".join(f"{k}={clean(v)}" for k, v in sorted(a.facts.items())))
    if a.outcome in ("succeeded", "running"):
        return
    error = from_status(a.error)
    detail = "  ".join(f"{k}={clean(v)}" for k, v in sorted(error.metadata.items()))
    print(f"  {error.reason}: {clean(error.message)}\n  fix: {clean(error.hint)}" + (f"\n  {detail}" if detail else ""))
    if a.command:
        print(f"  command: {clean(a.command)}")
    for line in a.log_tail.splitlines()[-12:]:
        print(f"  | {clean(line)}")


def _seconds(start: Timestamp, end: Timestamp) -> float:
    return round((end.ToMicroseconds() - start.ToMicroseconds()) / 1e6, 1)
