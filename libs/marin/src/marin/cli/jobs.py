"""What belongs to a job, that is to all runs of one name: their logs and artifacts."""

import sys
import time

import grpc

from marin.catalog.v1.catalog_pb2 import Artifact
from marin.cli.output import address, clean
from marin.client.errors import MarinError, from_rpc
from marin.client.session import Session
from marin.common.v1 import job_service_pb2 as job_pb
from marin.config.problems import suggestion
from marin.workflow.v1 import workflow_pb2 as wf, workflow_service_pb2 as pb
from marin_contracts.kinds import KINDS

_POLL_SECONDS = 0.5


def runs_of(session: Session, job: str) -> list[wf.Run]:
    """Runs of a job, newest first. Raises MarinError if there is none."""
    runs = session.runs()
    found = [r for r in runs if r.graph.name == job]
    if not found:
        names = list(dict.fromkeys(r.graph.name for r in runs))
        otherwise = f"jobs here are: {', '.join(names)}" if names else "run it first: `marin run config.yaml`"
        raise MarinError(f"no run of a job '{job}' in this workspace", suggestion(job, names, otherwise), "NOT_FOUND")
    return found


def print_logs(session: Session, job: str, stage: str | None, attempt: int, follow: bool) -> None:
    """Logs of the newest run that built something, step after step; with ``follow`` on to the end of the run."""
    runs = runs_of(session, job)
    run = next((r for r in runs if any(n.job.id for n in r.nodes)), runs[0])
    if runs[0].state == wf.RUN_STATE_RUNNING:
        run = runs[0]
    stages = {n.id: n.stage for n in run.graph.nodes}
    kinds = {n.id: n.kind for n in run.graph.nodes}
    if stage and stage not in {*stages, *stages.values()}:
        known = list(dict.fromkeys([*stages.values(), *stages]))
        raise MarinError(
            f"job '{job}' has no stage or step '{stage}'", suggestion(stage, known, f"it has: {', '.join(known)}")
        )
    shown: set[str] = set()
    while True:
        for node in run.nodes:
            if node.job.id and node.node_id not in shown and stage in (None, node.node_id, stages[node.node_id]):
                shown.add(node.node_id)
                print(f"==> {node.node_id}", file=sys.stderr, flush=True)
                tail(session, KINDS[kinds[node.node_id]].service, node.job.id, attempt, follow)
        if not follow or run.state != wf.RUN_STATE_RUNNING:
            break
        time.sleep(_POLL_SECONDS)
        run = session.call(session.workflow.GetRun, pb.GetRunRequest(id=run.id)).run
    if not shown:
        print("nothing was built: every artifact was committed already", file=sys.stderr)


def tail(session: Session, service: str, build_id: str, attempt: int, follow: bool) -> None:
    """One attempt's log on stdout."""
    session.ensure([service])
    request = job_pb.TailLogsRequest(id=build_id, attempt=attempt, follow=follow)
    try:
        for piece in session.jobs(service).TailLogs(request, wait_for_ready=True):
            text = piece.data.decode(errors="replace")
            sys.stdout.write("\n".join(clean(line) for line in text.split("\n")))
            sys.stdout.flush()
    except grpc.RpcError as e:
        raise from_rpc(e) from e


def artifacts_of(session: Session, job: str, artifacts: list[Artifact]) -> list[tuple[str, Artifact]]:
    """(stage, artifact) of a job: for each step of its runs the newest committed one, in pipeline order."""
    committed = {address(a): a for a in artifacts}
    newest: dict[str, tuple[str, Artifact]] = {}
    order: list[str] = []
    for run in runs_of(session, job):
        order += [n.target.name for n in run.graph.nodes if n.target.name not in order]
        for node in run.graph.nodes:
            found = committed.get(f"{node.target.name}@{node.target.version}")
            if found is not None and node.target.name not in newest:
                newest[node.target.name] = (node.stage, found)
    return [newest[name] for name in order if name in newest]
