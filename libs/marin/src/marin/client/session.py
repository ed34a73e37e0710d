"""A session with the control plane of one workspace: the catalog, the workflow service, the stage services."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from marin.catalog.v1 import catalog_service_pb2 as catalog_pb, catalog_service_pb2_grpc as catalog_rpc
from marin.client.errors import MarinError, from_rpc
from marin.client.provenance import here
from marin.common.v1 import job_service_pb2_grpc as job_rpc
from marin.workflow.v1 import workflow_pb2 as wf, workflow_service_pb2 as pb, workflow_service_pb2_grpc as rpc

_OPTIONS = (("grpc.max_receive_message_length", 64 << 20), ("grpc.max_reconnect_backoff_ms", 500))
WATCH_SECONDS = 10.0  # a watch is opened anew so often, to see whether the services are still there


class Session:
    """Typed stubs, with errors turned into :class:`MarinError`. Use :func:`open_session` to get one.

    ``options`` are a person's decisions about drift and reuse, for plans and runs of this session.
    """

    def __init__(self, system: Any) -> None:
        self.system = system
        self.options = wf.RunOptions()
        self._channels: dict[str, grpc.Channel] = {}

    def ensure(self, services: Sequence[str]) -> None:
        """Installs the environments of these services if need be, and starts the services."""
        from marin.local import envs
        from marin.local.services import environments_for

        for name in environments_for(services):
            envs.ensure(name)
        self.system.ensure(list(services))

    @property
    def catalog(self) -> catalog_rpc.CatalogServiceStub:
        return catalog_rpc.CatalogServiceStub(self.channel("catalog"))

    @property
    def workflow(self) -> rpc.WorkflowServiceStub:
        return rpc.WorkflowServiceStub(self.channel("workflow"))

    def jobs(self, service: str) -> job_rpc.JobServiceStub:
        """JobService of one stage service."""
        return job_rpc.JobServiceStub(self.channel(service))

    def channel(self, service: str) -> grpc.Channel:
        """A channel to a service of this workspace."""
        if service not in self._channels:
            self._channels[service] = grpc.insecure_channel(self.system.endpoint(service), options=_OPTIONS)
        return self._channels[service]

    def call(self, method: Any, request: Any, timeout: float = 60) -> Any:
        """A unary call that waits while the service is coming up. Raises MarinError."""
        try:
            return method(request, timeout=timeout, wait_for_ready=True)
        except grpc.RpcError as e:
            raise from_rpc(e) from e

    def plan(self, graph: Any) -> list[Any]:
        """Decisions about every node, in topological order. Aliases in ``graph`` become the addresses they stand for."""
        planned = self.call(self.workflow.PlanGraph, pb.PlanGraphRequest(graph=graph, options=self.options))
        graph.CopyFrom(planned.graph)
        return list(planned.nodes)

    def runs(self, limit: int = 100) -> list[Any]:
        """Runs, newest first."""
        return list(self.call(self.workflow.ListRuns, pb.ListRunsRequest(page_size=limit)).runs)

    def create_run(self, run_id: str, graph: Any) -> Any:
        """Starts a run with the session's options."""
        request = pb.CreateRunRequest(request_id=run_id, graph=graph, options=self.options, provenance=here())
        return self.call(self.workflow.CreateRun, request).run

    def watch_run(self, run_id: str) -> Iterator[Any]:
        """The run at each change until it is terminal; a stream that breaks is opened again.

        Raises MarinError if a service of the workspace has died for good: then the run cannot get on.
        """
        failures = 0
        while True:
            try:
                request = pb.WatchRunRequest(id=run_id)
                for response in self.workflow.WatchRun(request, timeout=WATCH_SECONDS, wait_for_ready=True):
                    failures = 0
                    yield response.run
                return
            except grpc.RpcError as e:
                if e.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                    self._check_services()
                    continue
                failures += 1
                if e.code() != grpc.StatusCode.UNAVAILABLE or failures > 20:
                    raise from_rpc(e) from e
                self.ensure(("catalog", "workflow"))  # also brings back a supervisor that was killed

    def _check_services(self) -> None:
        for service in self.system.status()["services"]:
            if service["state"] == "failed":
                raise MarinError(
                    f"the {service['name']} service died for good: {service.get('error') or 'see its log'}",
                    f"read {service.get('log', 'its log')}, mend the cause, and run the same command again",
                    "SERVICE_FAILED",
                )

    def artifacts(self, project: str = "default") -> list[Any]:
        """All committed artifacts, newest first."""
        return self._pages(self.catalog.ListArtifacts, catalog_pb.ListArtifactsRequest(project=project), "artifacts")

    def builds(self, project: str = "default") -> list[Any]:
        """All builds, newest first."""
        return self._pages(self.catalog.ListBuilds, catalog_pb.ListBuildsRequest(project=project), "builds")

    def _pages(self, method: Any, request: Any, items: str) -> list[Any]:
        """The items of every page of a listing."""
        found: list[Any] = []
        request.page_size = 500
        while True:
            page = self.call(method, request)
            found += getattr(page, items)
            request.page_token = page.next_page_token
            if not request.page_token:
                return found

    def close(self) -> None:
        """Closes the channels; the services go on."""
        for channel in self._channels.values():
            channel.close()


@contextmanager
def open_session(workspace: Path, services: tuple[str, ...] = ("catalog", "workflow")) -> Iterator[Session]:
    """Connects to the workspace's local system, starting it if it is down. What was started for this session alone ends with it."""
    from marin.local.client import connect_or_start

    system = connect_or_start(workspace)
    session = Session(system)
    try:
        session.ensure(services)
        yield session
    finally:
        session.close()
        system.close()
