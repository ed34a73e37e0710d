"""CatalogService: each method turns its request into a use case of the core and the answer into a message."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from marin.catalog.v1 import catalog_service_pb2 as pb, catalog_service_pb2_grpc as rpc
from marin_catalog import convert
from marin_catalog.core.artifacts import Artifacts
from marin_catalog.core.builds import Builds, Registration
from marin_catalog.core.checks import page_limit, page_start
from marin_catalog.core.context import Context
from marin_catalog.core.errors import BadRequest
from marin_catalog.core.leases import Commit, Leases
from marin_catalog.core.letters import Letters, NoLetters
from marin_catalog.core.model import Failure
from marin_catalog.core.rules import Ending
from marin_catalog.core.runs import Runs


class CatalogServicer(rpc.CatalogServiceServicer):
    """Errors of the core reach the caller through the chassis' interceptor."""

    def __init__(self, context: Context, letters: Letters | None = None) -> None:
        self._letters = letters or NoLetters()
        self._builds, self._leases = Builds(context), Leases(context)
        self._artifacts, self._runs = Artifacts(context), Runs(context)

    async def RegisterBuild(self, request: pb.RegisterBuildRequest, context: Any) -> pb.RegisterBuildResponse:
        wanted = Registration(
            request.request_id,
            request.kind,
            convert.target_of(request.target),
            request.build_key,
            convert.plain(request.spec),
            convert.inputs_of(request.inputs),
            convert.retry_of(request.retry, request.max_attempts),
            request.target.supersedes,
        )
        return pb.RegisterBuildResponse(build=convert.build(await self._builds.register(wanted)))

    async def GetBuild(self, request: pb.GetBuildRequest, context: Any) -> pb.GetBuildResponse:
        return pb.GetBuildResponse(build=convert.build(await self._builds.get(request.id)))

    async def ListBuilds(self, request: pb.ListBuildsRequest, context: Any) -> pb.ListBuildsResponse:
        page = await self._builds.page(
            request.project,
            request.kinds,
            convert.states_of(request.states),
            request.page_size,
            page_start(request.page_token),
        )
        return pb.ListBuildsResponse(
            builds=map(convert.build, page), next_page_token=_next_token(page, request.page_size)
        )

    async def WatchBuild(self, request: pb.WatchBuildRequest, context: Any) -> AsyncIterator[pb.WatchBuildResponse]:
        async for build in self._builds.watch(request.id):
            yield pb.WatchBuildResponse(build=convert.build(build))

    async def ListAttempts(self, request: pb.ListAttemptsRequest, context: Any) -> pb.ListAttemptsResponse:
        attempts = await self._builds.attempts(request.build_id)
        return pb.ListAttemptsResponse(attempts=map(convert.attempt, attempts))

    async def ClaimBuild(self, request: pb.ClaimBuildRequest, context: Any) -> pb.ClaimBuildResponse:
        build = await self._leases.claim(
            request.kinds,
            convert.text(request.holder),
            convert.text(request.host),
            convert.micros(request.ttl),
            convert.micros(request.wait),
            request.request_id,
        )
        return pb.ClaimBuildResponse(build=convert.build(build) if build else None)

    async def Heartbeat(self, request: pb.HeartbeatRequest, context: Any) -> pb.HeartbeatResponse:
        build = await self._leases.heartbeat(
            request.build_id,
            request.epoch,
            convert.micros(request.ttl),
            convert.progress_of(request.progress) if request.HasField("progress") else None,
            convert.text(request.command),
            request.uri,
            {convert.text(k): convert.text(v) for k, v in request.facts.items()},
        )
        return pb.HeartbeatResponse(cancel_requested=build.cancel_requested)

    async def CommitArtifact(self, request: pb.CommitArtifactRequest, context: Any) -> pb.CommitArtifactResponse:
        wanted = Commit(
            request.build_id,
            request.epoch,
            request.content_digest,
            convert.manifest_of(request.manifest),
            request.uri,
            convert.plain(request.summary),
            convert.text(request.headline),
        )
        return pb.CommitArtifactResponse(artifact=convert.artifact(await self._leases.commit(wanted)))

    async def FailBuild(self, request: pb.FailBuildRequest, context: Any) -> pb.FailBuildResponse:
        ending = Ending(_failure(request), request.retryable, request.cancelled, convert.text(request.log_tail))
        build = await self._leases.fail(request.build_id, request.epoch, ending)
        return pb.FailBuildResponse(build=convert.build(build))

    async def CancelBuild(self, request: pb.CancelBuildRequest, context: Any) -> pb.CancelBuildResponse:
        build = await self._builds.cancel(request.id, convert.text(request.reason))
        return pb.CancelBuildResponse(build=convert.build(build))

    async def GetArtifact(self, request: pb.GetArtifactRequest, context: Any) -> pb.GetArtifactResponse:
        artifact = await self._artifacts.get(convert.target_of(request.target))
        return pb.GetArtifactResponse(artifact=convert.artifact(artifact))

    async def GetManifest(self, request: pb.GetManifestRequest, context: Any) -> pb.GetManifestResponse:
        manifest = await self._artifacts.manifest(convert.target_of(request.target))
        return pb.GetManifestResponse(manifest=convert.manifest(manifest))

    async def FindArtifact(self, request: pb.FindArtifactRequest, context: Any) -> pb.FindArtifactResponse:
        artifact = await self._artifacts.find(request.project, request.build_key)
        return pb.FindArtifactResponse(artifact=convert.artifact(artifact))

    async def ListArtifacts(self, request: pb.ListArtifactsRequest, context: Any) -> pb.ListArtifactsResponse:
        page = await self._artifacts.page(
            request.project, request.kinds, request.page_size, page_start(request.page_token)
        )
        return pb.ListArtifactsResponse(
            artifacts=map(convert.artifact, page), next_page_token=_next_token(page, request.page_size)
        )

    async def AdoptArtifact(self, request: pb.AdoptArtifactRequest, context: Any) -> pb.AdoptArtifactResponse:
        source, target = convert.target_of(request.source), convert.target_of(request.target)
        adopted = await self._artifacts.adopt(source, target, request.target.supersedes)
        return pb.AdoptArtifactResponse(artifact=convert.artifact(adopted))

    async def GetLineage(self, request: pb.GetLineageRequest, context: Any) -> pb.GetLineageResponse:
        up = request.direction != pb.LINEAGE_DIRECTION_DOWN
        reached = await self._artifacts.lineage(convert.target_of(request.target), up)
        return pb.GetLineageResponse(
            nodes=[pb.LineageNode(artifact=convert.artifact(a), distance=d) for a, d in reached]
        )

    async def ListEvents(self, request: pb.ListEventsRequest, context: Any) -> pb.ListEventsResponse:
        page = await self._artifacts.events(request.from_sequence, request.page_size, request.project)
        return pb.ListEventsResponse(events=map(convert.event, page))

    async def WatchEvents(self, request: pb.WatchEventsRequest, context: Any) -> AsyncIterator[pb.WatchEventsResponse]:
        async for event in self._artifacts.watch_events(request.from_sequence, request.project):
            yield pb.WatchEventsResponse(event=convert.event(event))

    async def RebuildStream(self, request: pb.RebuildStreamRequest, context: Any) -> pb.RebuildStreamResponse:
        return pb.RebuildStreamResponse(events=await self._artifacts.rebuild_stream(request.from_sequence))

    async def ListDeadLetters(self, request: pb.ListDeadLettersRequest, context: Any) -> pb.ListDeadLettersResponse:
        letters = await self._letters.page(request.consumer)
        return pb.ListDeadLettersResponse(letters=map(convert.letter, letters))

    async def ReplayDeadLetters(
        self, request: pb.ReplayDeadLettersRequest, context: Any
    ) -> pb.ReplayDeadLettersResponse:
        letters = await self._letters.replay(request.sequences, request.consumer)
        return pb.ReplayDeadLettersResponse(letters=map(convert.letter, letters))

    async def ListUnreferenced(self, request: pb.ListUnreferencedRequest, context: Any) -> pb.ListUnreferencedResponse:
        found = await self._artifacts.unreferenced(request.project)
        return pb.ListUnreferencedResponse(unreferenced=map(convert.unreferenced, found))

    async def CreateRun(self, request: pb.CreateRunRequest, context: Any) -> pb.CreateRunResponse:
        return pb.CreateRunResponse(run=convert.run(await self._runs.create(convert.run_of(request.run))))

    async def UpdateRun(self, request: pb.UpdateRunRequest, context: Any) -> pb.UpdateRunResponse:
        return pb.UpdateRunResponse(run=convert.run(await self._runs.update(convert.run_of(request.run))))

    async def GetRun(self, request: pb.GetRunRequest, context: Any) -> pb.GetRunResponse:
        return pb.GetRunResponse(run=convert.run(await self._runs.get(request.id)))

    async def ListRuns(self, request: pb.ListRunsRequest, context: Any) -> pb.ListRunsResponse:
        page = await self._runs.page(request.project, request.states, request.page_size)
        return pb.ListRunsResponse(runs=map(convert.run, page))


def _next_token(page: Sequence[Any], page_size: int) -> str:
    return str(page[-1].sequence) if len(page) == page_limit(page_size) else ""


def _failure(request: pb.FailBuildRequest) -> Failure:
    if request.HasField("error") and request.error.code:
        return convert.failure_of(request.error)
    if request.cancelled:
        return Failure("CANCELLED", "CANCELLED", "the attempt was cancelled", "run it again to start it anew")
    raise BadRequest(
        f"FailBuild of {request.build_id} does not say what went wrong",
        hint="fill error with a code other than OK and a message",
        reason="MISSING_ERROR",
    )
