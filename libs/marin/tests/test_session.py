"""Watching a run, over a real gRPC server that plays the workflow service."""

import threading
from concurrent import futures

import grpc
import pytest

from marin.client import session as sessions
from marin.client.errors import MarinError
from marin.workflow.v1 import workflow_pb2 as wf, workflow_service_pb2 as pb, workflow_service_pb2_grpc as rpc


class Workflow(rpc.WorkflowServiceServicer):
    """Sends a running run and then nothing, or breaks once and then ends it."""

    def __init__(self, breaks: bool) -> None:
        self.breaks, self.calls, self.stop = breaks, 0, threading.Event()

    def WatchRun(self, request, context):
        self.calls += 1
        yield pb.WatchRunResponse(run=wf.Run(id=request.id, state=wf.RUN_STATE_RUNNING))
        if not self.breaks:
            self.stop.wait(20)
        elif self.calls == 1:
            context.abort(grpc.StatusCode.UNAVAILABLE, "restarting")
        else:
            yield pb.WatchRunResponse(run=wf.Run(id=request.id, state=wf.RUN_STATE_SUCCEEDED))


class System:
    """What the session asks of the local runtime."""

    def __init__(self, endpoint: str, services: list[dict]) -> None:
        self._endpoint, self._services, self.ensured = endpoint, services, 0

    def endpoint(self, service):
        return self._endpoint

    def status(self):
        return {"services": self._services}

    def ensure(self, names):
        self.ensured += 1


@pytest.fixture
def watch(monkeypatch):
    monkeypatch.setattr(sessions, "WATCH_SECONDS", 0.3)
    monkeypatch.setattr(sessions.Session, "ensure", lambda self, services: self.system.ensure(services))
    servers = []

    def start(breaks: bool, services: list[dict]):
        server = grpc.server(futures.ThreadPoolExecutor(4))
        workflow = Workflow(breaks)
        rpc.add_WorkflowServiceServicer_to_server(workflow, server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        servers.append((server, workflow))
        system = System(f"127.0.0.1:{port}", services)
        return sessions.Session(system).watch_run("r"), system

    yield start
    for server, workflow in servers:
        workflow.stop.set()
        server.stop(0).wait()


def test_a_watch_ends_with_the_error_of_a_service_that_died_for_good(watch):
    dead = {"name": "catalog", "state": "failed", "error": "it died 5 times", "log": "/logs/catalog.log"}
    states, _ = watch(False, [{"name": "workflow", "state": "ready"}, dead])
    next(states)
    with pytest.raises(MarinError, match="catalog service died for good: it died 5 times") as e:
        list(states)
    assert "/logs/catalog.log" in e.value.hint


def test_a_watch_that_breaks_goes_on_after_bringing_the_services_back(watch):
    states, system = watch(True, [])
    assert [s.state for s in states][-1] == wf.RUN_STATE_SUCCEEDED
    assert system.ensured == 1
