"""Use cases of leases: claim, heartbeat, commit, fail, expire."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from marin_artifacts.digest import content_digest
from marin_catalog.core import rules
from marin_catalog.core.builds import Builds
from marin_catalog.core.checks import check_manifest, check_ttl
from marin_catalog.core.context import Context, UseCases, again_on_conflict
from marin_catalog.core.errors import AddressConflict, BadRequest, LeaseLost, StoreError
from marin_catalog.core.hub import LEASES, kind_topic
from marin_catalog.core.model import (
    SECOND,
    Artifact,
    Attempt,
    Build,
    Manifest,
    Outcome,
    Progress,
    State,
)

log = logging.getLogger("marin.catalog")
MAX_WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Commit:
    """Arguments of CommitArtifact."""

    build_id: str
    epoch: int
    content_digest: str
    manifest: Manifest
    uri: str
    summary: dict
    headline: str


class Leases(UseCases):
    """Raises the errors of :mod:`marin_catalog.core.errors`."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._builds = Builds(context)

    async def claim(
        self, kinds: Sequence[str], holder: str, host: str, ttl: int, wait: int, request_id: str
    ) -> Build | None:
        """The oldest pending build of these kinds, or None after ``wait`` microseconds."""
        if not kinds or not holder:
            raise BadRequest(
                "a claim needs kinds and a holder",
                hint="say what the worker builds and who it is",
                reason="BAD_CLAIM",
            )
        check_ttl(ttl)
        deadline = asyncio.get_running_loop().time() + min(wait / SECOND, MAX_WAIT_SECONDS)
        with self._context.hub.listen(*map(kind_topic, kinds)) as ticket:
            while True:
                build = await self._claim(kinds, holder, host, ttl, request_id)
                left = deadline - asyncio.get_running_loop().time()
                if build or left <= 0 or self._context.hub.closed:
                    return build
                await ticket.wait(min(left, self._context.poll, await self._until_ready(kinds)))

    async def _until_ready(self, kinds: Sequence[str]) -> float:
        """Seconds until the next pending build may be claimed."""
        ready = await self._store.next_ready_time(kinds)
        return MAX_WAIT_SECONDS if ready is None else max((ready - self._context.clock()) / SECOND, 0.001)

    @again_on_conflict
    async def _claim(self, kinds: Sequence[str], holder: str, host: str, ttl: int, request_id: str) -> Build | None:
        if request_id and (attempt := await self._store.attempt_of_request(request_id)):
            build = await self._builds.get(attempt.build_id)
            held = build.state is State.RUNNING and build.epoch == attempt.epoch
            return build if held else None
        await self.expire_leases()
        build = await self._store.next_pending(kinds, self._context.clock())
        if build is None:
            return None
        return await self._context.apply_build(rules.claim(build, holder, host, ttl, request_id, self._context.clock()))

    @again_on_conflict
    async def heartbeat(
        self,
        build_id: str,
        epoch: int,
        ttl: int,
        progress: Progress | None = None,
        command: str = "",
        uri: str = "",
        facts: dict[str, str] | None = None,
    ) -> Build:
        check_ttl(ttl)
        build = await self._builds.get(build_id)
        rules.check_lease(build, epoch)
        attempt = None
        if command or uri or facts:
            stored = await self._attempt(build_id, epoch)
            told = replace(
                stored, command=command or stored.command, uri=uri or stored.uri, facts=stored.facts | (facts or {})
            )
            attempt = told if told != stored else None
        return await self._context.apply_build(rules.heartbeat(build, attempt, ttl, progress, self._context.clock()))

    @again_on_conflict
    async def commit(self, wanted: Commit) -> Artifact:
        build = await self._builds.get(wanted.build_id)
        done = build.state is State.SUCCEEDED and build.epoch == wanted.epoch
        if done and build.content_digest == wanted.content_digest:
            return await self._committed(build)
        rules.check_lease(build, wanted.epoch)
        check_manifest(wanted.manifest, wanted.content_digest, content_digest(wanted.manifest.content))
        if not wanted.uri:
            raise BadRequest(
                "uri is empty", hint="say where the artifact lies, for example 'file:///data/...'", reason="BAD_URI"
            )
        current = await self._store.artifact(build.target)
        same = current and current.content_digest == wanted.content_digest
        if current and not same and not rules.may_replace(build, current):
            raise AddressConflict(
                f"{build.target.address} was committed meanwhile with {current.content_digest}, "
                f"this attempt made {wanted.content_digest}",
                hint="give the new artifact another version",
                reason="ADDRESS_TAKEN",
                address=build.target.address,
            )
        attempt = await self._attempt(build.id, build.epoch)
        artifact = _artifact(build, attempt, wanted, self._context.clock())
        change = rules.commit(build, attempt, artifact, wanted.manifest, current)
        sequence = await self._context.apply(change)
        return replace(artifact, sequence=sequence) if change.artifact else current or artifact

    async def _committed(self, build: Build) -> Artifact:
        artifact = await self._store.artifact_of_attempt(build.id, build.attempt)
        artifact = artifact or await self._store.artifact(build.target)
        assert artifact, f"build {build.id} succeeded without an artifact"
        return artifact

    @again_on_conflict
    async def fail(self, build_id: str, epoch: int, ending: rules.Ending) -> Build:
        build = await self._builds.get(build_id)
        attempt = await self._store.attempt(build_id, epoch)
        if attempt and attempt.outcome in (Outcome.FAILED, Outcome.CANCELLED, Outcome.PREEMPTED):
            return build  # said before
        rules.check_lease(build, epoch)
        if attempt is None:
            raise LeaseLost(build_id, epoch, "there is no such attempt")
        return await self._context.apply_build(
            rules.fail(build, attempt, ending, self._context.jitter(), self._context.clock())
        )

    @again_on_conflict
    async def expire_leases(self) -> float | None:
        """Takes back all leases that have run out. Returns the seconds until the next one does, None without one."""
        now = self._context.watch_clock()
        since, upcoming = self._context.since, []
        for build in await self._store.leased():
            if rules.expired(build, now, since):
                attempt = await self._attempt(build.id, build.epoch)
                await self._context.apply(rules.expire(build, attempt, now))
            else:
                if change := rules.shorten(build, now):
                    build = await self._context.apply_build(change)
                upcoming.append(max(build.lease_expire or now, since + build.lease_ttl) - now)
        return min(upcoming) / SECOND if upcoming else None

    async def keep_expiring(self) -> None:
        """Runs for ever beside the RPCs: a dead worker is noticed even if nobody claims."""
        with self._context.hub.listen(LEASES) as ticket:
            while not self._context.hub.closed:
                upcoming, poll = None, self._context.poll
                try:
                    upcoming = await self.expire_leases()
                except StoreError as e:
                    log.warning("leases cannot be looked at: %s", e.message)
                await ticket.wait(poll if upcoming is None else min(max(upcoming, 0.005), poll))

    async def _attempt(self, build_id: str, epoch: int) -> Attempt:
        attempt = await self._store.attempt(build_id, epoch)
        assert attempt, f"build {build_id} has no attempt for its epoch {epoch}"
        return attempt


def _artifact(build: Build, attempt: Attempt, wanted: Commit, now: int) -> Artifact:
    return Artifact(
        target=build.target,
        kind=build.kind,
        content_digest=wanted.content_digest,
        build_key=build.build_key,
        build_id=build.id,
        attempt=build.attempt,
        uri=wanted.uri,
        bytes=sum(f.size for f in wanted.manifest.content),
        files=len(wanted.manifest.content),
        summary=wanted.summary,
        headline=wanted.headline,
        inputs=build.inputs,
        create_time=now,
        seconds=(now - attempt.start_time) / SECOND,
    )
