"""What all stage services have in common: typed Create calls that register builds, JobService, and the worker loop.

A stage service is a table (:class:`Stage`), a thin servicer with its Create calls, and an engine. Everything else is here.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct

from marin.catalog.v1 import catalog_pb2, catalog_service_pb2 as catalog_pb
from marin.common.v1 import artifact_pb2, job_pb2, job_service_pb2 as pb, job_service_pb2_grpc as rpc
from marin_artifacts.identity import build_key, spec_dict
from marin_chassis.client import CatalogClient
from marin_chassis.config import ServiceConfig
from marin_chassis.engine import EngineError
from marin_chassis.layout import attempt_dir
from marin_chassis.server import ServiceContext, run_service
from marin_chassis.worker import Worker
from marin_contracts.kinds import KINDS

Check = Callable[[dict[str, Any], Mapping[str, str]], None]
LOG_CHUNK = 1 << 18


@dataclass(frozen=True)
class JobKind:
    """One kind of artifact that a stage makes. ``check(spec, roles)`` raises EngineError for a spec that cannot work;
    ``roles`` maps role to input address."""

    name: str
    check: Check


@dataclass(frozen=True)
class Stage:
    """A stage service. ``package`` holds ``engine.py``; ``add`` registers the typed servicer."""

    name: str
    port: int
    package: str
    service: ServiceDescriptor
    kinds: tuple[JobKind, ...]
    add: Callable[[grpc.aio.Server, "Jobs"], None]

    def spec_class(self, kind: str) -> type[Message]:
        """The spec message of a kind: the type of ``spec`` in the request of its Create call."""
        request = self.service.methods_by_name[KINDS[kind].create].input_type
        return request.fields_by_name["spec"].message_type._concrete_class


class Jobs:
    """Registers builds for Create calls and shows builds as jobs."""

    def __init__(self, stage: Stage, catalog: CatalogClient) -> None:
        self._checks = {k.name: k.check for k in stage.kinds}
        self._catalog = catalog
        self.kinds = list(self._checks)

    async def create(self, kind: str, request: Any) -> job_pb2.Job:
        """Checks a Create request and registers its build.

        Raises EngineError: INVALID_ARGUMENT for a bad target or spec, and whatever the catalog answers.
        """
        if not (request.target.name and request.target.version):
            raise EngineError(
                f"{KINDS[kind].create}: target.name and target.version are needed",
                hint="say where the artifact should go, for example name 'tokens/web', version 'v1'",
                reason="MISSING_TARGET",
            )
        self._checks[kind](spec_dict(request.spec), {i.role: i.address for i in request.inputs})
        inputs = [await self._pinned(request.target.project, i) for i in request.inputs]
        spec = Struct()
        spec.update(spec_dict(request.spec))
        registered = await self._catalog.RegisterBuild(
            catalog_pb.RegisterBuildRequest(
                request_id=request.request_id,
                kind=kind,
                target=request.target,
                build_key=build_key(kind, request.spec, {i.role: i.content_digest for i in inputs}),
                spec=spec,
                inputs=inputs,
            )
        )
        return job_of(registered.build)

    async def _pinned(self, project: str, ref: artifact_pb2.InputRef) -> artifact_pb2.InputRef:
        """The reference with the digest that the address has now, where the caller left it out."""
        if ref.content_digest:
            return ref
        name, _, version = ref.address.rpartition("@")
        target = artifact_pb2.ArtifactTarget(project=project, name=name, version=version)
        artifact = (await self._catalog.GetArtifact(catalog_pb.GetArtifactRequest(target=target))).artifact
        return artifact_pb2.InputRef(role=ref.role, address=ref.address, content_digest=artifact.content_digest)


def job_of(build: catalog_pb2.Build) -> job_pb2.Job:
    """The public face of a build."""
    job = job_pb2.Job(
        id=build.id,
        kind=build.kind,
        target=build.target,
        state=build.state,
        attempt=build.attempt,
        build_key=build.build_key,
        content_digest=build.content_digest,
        inputs=build.inputs,
    )
    for name in ("error", "progress", "create_time", "update_time", "end_time"):
        if build.HasField(name):
            getattr(job, name).CopyFrom(getattr(build, name))
    return job


class JobServicer(rpc.JobServiceServicer):
    """JobService over the catalog, limited to the kinds of one stage."""

    def __init__(self, jobs: Jobs, catalog: CatalogClient, config: ServiceConfig) -> None:
        self._jobs, self._catalog, self._config = jobs, catalog, config

    async def GetJob(self, request: pb.GetJobRequest, context: Any) -> pb.GetJobResponse:
        return pb.GetJobResponse(job=job_of(await self._build(request.id)))

    async def ListJobs(self, request: pb.ListJobsRequest, context: Any) -> pb.ListJobsResponse:
        listed = await self._catalog.ListBuilds(
            catalog_pb.ListBuildsRequest(
                project=request.project,
                kinds=self._jobs.kinds,
                page_size=request.page_size,
                page_token=request.page_token,
            )
        )
        return pb.ListJobsResponse(jobs=[job_of(b) for b in listed.builds], next_page_token=listed.next_page_token)

    async def WatchJob(self, request: pb.WatchJobRequest, context: Any) -> AsyncIterator[pb.WatchJobResponse]:
        while True:
            try:
                async for update in self._catalog.stub.WatchBuild(catalog_pb.WatchBuildRequest(id=request.id)):
                    yield pb.WatchJobResponse(job=job_of(update.build))
                return
            except grpc.RpcError as e:
                if e.code() != grpc.StatusCode.UNAVAILABLE:
                    raise
            await self._build(request.id)  # waits for the catalog; the next message is the whole state again

    async def CancelJob(self, request: pb.CancelJobRequest, context: Any) -> pb.CancelJobResponse:
        cancelled = await self._catalog.CancelBuild(catalog_pb.CancelBuildRequest(id=request.id, reason=request.reason))
        return pb.CancelJobResponse(job=job_of(cancelled.build))

    async def TailLogs(self, request: pb.TailLogsRequest, context: Any) -> AsyncIterator[pb.TailLogsResponse]:
        offset = request.offset
        while True:
            build = await self._build(request.id)
            number, epoch, running = await self._chosen_attempt(build, request.attempt)
            if epoch:
                path = attempt_dir(self._config.store_root, build, epoch) / "record" / "log.txt"
                for data in _read_from(path, offset):
                    offset += len(data)
                    yield pb.TailLogsResponse(data=data, next_offset=offset, attempt=number)
            if not request.follow or (epoch and not running) or build.state in _TERMINAL:
                return
            await asyncio.sleep(0.2)

    async def _build(self, build_id: str) -> catalog_pb2.Build:
        return (await self._catalog.GetBuild(catalog_pb.GetBuildRequest(id=build_id))).build

    async def _chosen_attempt(self, build: catalog_pb2.Build, number: int) -> tuple[int, int, bool]:
        attempts = (await self._catalog.ListAttempts(catalog_pb.ListAttemptsRequest(build_id=build.id))).attempts
        chosen = [a for a in attempts if not number or a.number == number]
        if not chosen:
            if number:
                raise EngineError(
                    f"build {build.id} has no attempt {number}; it has {len(attempts)}",
                    hint="leave the attempt out to read the newest",
                    reason="UNKNOWN_ATTEMPT",
                    code="NOT_FOUND",
                )
            return 0, 0, False
        newest = chosen[-1]
        return newest.number, newest.epoch, newest.outcome == "running"


_TERMINAL = (job_pb2.JOB_STATE_SUCCEEDED, job_pb2.JOB_STATE_FAILED, job_pb2.JOB_STATE_CANCELLED)


def _read_from(path: Any, offset: int) -> list[bytes]:
    try:
        with open(path, "rb") as f:
            f.seek(offset)
            return list(iter(lambda: f.read(LOG_CHUNK), b""))
    except FileNotFoundError:
        return []


def main(stage: Stage) -> None:
    """Entry point of a stage service process."""

    def add(server: grpc.aio.Server, context: ServiceContext) -> None:
        catalog = CatalogClient(context.config.catalog)
        jobs = Jobs(stage, catalog)
        stage.add(server, jobs)
        rpc.add_JobServiceServicer_to_server(JobServicer(jobs, catalog, context.config), server)
        worker = Worker(stage.package, {k: stage.spec_class(k) for k in jobs.kinds}, context.config, catalog)
        context.spawn(worker.run(), "worker")
        context.on_close(worker.drain)

    run_service(stage.name, stage.port, (stage.service.full_name, "marin.common.v1.JobService"), add)
