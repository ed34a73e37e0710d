"""``marin status | logs | events | artifacts``."""

import argparse
import sys
import time
from pathlib import Path

import grpc
from google.protobuf.json_format import MessageToDict

from marin.catalog.v1 import catalog_pb2, catalog_service_pb2 as catalog_pb
from marin.cli.jobs import artifacts_of, print_logs
from marin.cli.live import WORDS, progress_text
from marin.cli.output import clean, print_json, print_table, row, size
from marin.client.errors import MarinError, from_rpc, from_status
from marin.client.session import Session, open_session
from marin.common.v1 import artifact_pb2, job_service_pb2 as job_pb
from marin.workflow.v1 import workflow_pb2 as wf, workflow_service_pb2 as pb
from marin_contracts.kinds import KINDS


def status(args: argparse.Namespace) -> int:
    """Processes and the newest (or a named) run."""
    from marin.local.client import connect

    system = connect(Path(args.workspace))
    processes = system.status()["services"] if system else []
    with open_session(Path(args.workspace)) as session:
        runs = session.runs()
        run = None
        if args.run:
            run = session.call(session.workflow.GetRun, pb.GetRunRequest(id=args.run)).run
        elif runs:
            run = runs[0]
    if args.output == "json":
        print_json({"processes": processes, "run": MessageToDict(run) if run else None, "runs": [r.id for r in runs]})
        return 0
    if processes:
        rows = [(p["name"], p["state"], p.get("pid") or "", p.get("port") or "", p["restarts"]) for p in processes]
        print_table(("process", "state", "pid", "port", "restarts"), rows)
    else:
        print("no process was running in this workspace")
    if run is None:
        print("no run yet: try `marin run iceball-micro`")
        return 0
    state = wf.RunState.Name(run.state).removeprefix("RUN_STATE_").lower()
    print(f"\nrun {run.id[:8]}  {clean(run.graph.name)}  {state}  {len(runs)} runs in all")
    now = time.monotonic()
    print_table(
        ("node", "state", "attempt", ""),
        [(n.node_id, WORDS[n.state], n.job.attempt or "", progress_text(n, now)) for n in run.nodes],
    )
    for node in run.nodes:
        if node.state == wf.NODE_STATE_FAILED:
            print(f"\n{node.node_id}: {from_status(node.error)}")
    return 0


def logs(args: argparse.Namespace) -> int:
    """The log of one attempt, followed if asked."""
    with open_session(Path(args.workspace)) as session:
        if args.of_job:
            print_logs(session, args.of_job, args.job, args.attempt, args.follow)
            return 0
        build = _find_build(session, args.job)
        service = KINDS[build.kind].service
        session.ensure([service])
        request = job_pb.TailLogsRequest(id=build.id, attempt=args.attempt, follow=args.follow)
        try:
            for piece in session.jobs(service).TailLogs(request, wait_for_ready=True):
                sys.stdout.write(clean_lines(piece.data.decode(errors="replace")))
                sys.stdout.flush()
        except grpc.RpcError as e:
            raise from_rpc(e) from e
    return 0


def events(args: argparse.Namespace) -> int:
    """The event log, in order."""
    with open_session(Path(args.workspace)) as session:
        start = max(1, args.start)
        while True:
            listed = session.call(session.catalog.ListEvents, catalog_pb.ListEventsRequest(from_sequence=start)).events
            for event in listed:
                _print_event(event, args.output)
                start = event.sequence + 1
            if not listed:
                break
        while args.follow:
            try:
                for response in session.catalog.WatchEvents(catalog_pb.WatchEventsRequest(from_sequence=start)):
                    _print_event(response.event, args.output)
                    start = response.event.sequence + 1
            except grpc.RpcError as e:
                if e.code() != grpc.StatusCode.UNAVAILABLE:
                    raise from_rpc(e) from e
                session.ensure(("catalog",))
    return 0


def artifacts_list(args: argparse.Namespace) -> int:
    """Committed artifacts, newest first."""
    with open_session(Path(args.workspace), ("catalog", "workflow") if args.job else ("catalog",)) as session:
        found = session.artifacts(args.project)
        if args.job:
            return _job_artifacts(artifacts_of(session, args.job, found), args.output)
    if args.output == "json":
        print_json([row(a) for a in found])
    elif found:
        rows = [
            (r["address"], r["kind"], r["content_digest"][7:19], size(r["bytes"]), r["headline"])
            for r in map(row, found)
        ]
        print_table(("address", "kind", "digest", "size", "what it is"), rows)
    else:
        print("no artifact is committed yet: try `marin run iceball-micro`")
    return 0


def _job_artifacts(found: list[tuple[str, catalog_pb2.Artifact]], output: str) -> int:
    if output == "json":
        print_json([{"stage": stage, **row(a)} for stage, a in found])
    else:
        rows = [
            (s, r["address"], r["kind"], size(r["bytes"]), r["headline"]) for s, r in ((s, row(a)) for s, a in found)
        ]
        print_table(("stage", "address", "kind", "size", "what it is"), rows)
    return 0


def artifacts_show(args: argparse.Namespace) -> int:
    """One artifact with its facts, inputs and files."""
    name, _, version = args.address.rpartition("@")
    if not name:
        raise MarinError(f"'{args.address}' is no address", "write name@version, as `marin artifacts list` prints it")
    target = artifact_pb2.ArtifactTarget(project=args.project, name=name, version=version)
    with open_session(Path(args.workspace), ("catalog",)) as session:
        artifact = session.call(session.catalog.GetArtifact, catalog_pb.GetArtifactRequest(target=target)).artifact
        manifest = session.call(session.catalog.GetManifest, catalog_pb.GetManifestRequest(target=target)).manifest
    inputs = [{"role": i.role, "address": i.address, "content_digest": i.content_digest} for i in artifact.inputs]
    files = [{"path": f.path, "bytes": f.size, "sha256": f.sha256} for f in manifest.content]
    if args.output == "json":
        print_json({**row(artifact), "inputs": inputs, "content": files})
        return 0
    facts = row(artifact)
    for key in ("address", "kind", "content_digest", "build_key", "headline", "uri"):
        print(f"{key:<15} {clean(str(facts[key]))}")
    print(f"{'size':<15} {size(artifact.bytes)} in {artifact.files} files, {artifact.seconds:.1f} s")
    for key, value in sorted(facts["summary"].items()):
        print(f"  {clean(str(key))}: {clean(str(value))}")
    for i in inputs:
        print(f"{'input':<15} {i['role']} = {i['address']}  {i['content_digest'][7:19]}")
    print_table(("file", "size", "sha256"), [(f["path"], size(f["bytes"]), f["sha256"][:12]) for f in files])
    return 0


def clean_lines(text: str) -> str:
    """Log text for a terminal, line ends kept."""
    return "\n".join(clean(line) for line in text.split("\n"))


def _find_build(session: Session, wanted: str | None) -> catalog_pb2.Build:
    for run in session.runs(20):
        stage_of = {n.id: n.stage for n in run.graph.nodes}
        nodes = [n for n in run.nodes if n.job.id and wanted in (None, n.node_id, stage_of[n.node_id])]
        if nodes:
            return session.call(session.catalog.GetBuild, catalog_pb.GetBuildRequest(id=nodes[-1].job.id)).build
    builds = session.call(session.catalog.ListBuilds, catalog_pb.ListBuildsRequest()).builds
    matching = [b for b in builds if wanted is None or b.id.startswith(wanted)]
    if not matching:
        raise MarinError(
            f"no job matches '{wanted}'" if wanted else "there is no job yet",
            "name a stage or node of a run that built something, as `marin status` shows them, or a job id",
            "NOT_FOUND",
        )
    return matching[0]


def _print_event(event: catalog_pb2.Event, output: str) -> None:
    payload = MessageToDict(event.payload)
    if output == "json":
        print_json(
            {
                "sequence": event.sequence,
                "id": event.id,
                "type": event.type,
                "subject": event.subject,
                "payload": payload,
            }
        )
    else:
        about = next((payload[k] for k in ("artifact", "build", "run") if k in payload), {})
        what = about.get("address") or f"{about.get('name', '')} {about.get('state', '')}"
        print(
            f"{event.sequence:>6}  {event.time.ToDatetime():%H:%M:%S}  {event.type:<20} {clean(str(what))}", flush=True
        )
