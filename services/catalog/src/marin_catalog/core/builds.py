"""Use cases of builds: register, claim, heartbeat, commit, fail, cancel, expire, watch."""

import asyncio
import hashlib
import logging
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from marin_artifacts.digest import content_digest

from marin_catalog.core import address, rules
from marin_catalog.core.checks import check_manifest, check_ttl, page_limit
from marin_catalog.core.context import UseCases, again_on_conflict
from marin_catalog.core.errors import (
    AddressConflict,
    BadRequest,
    Draining,
    LeaseLost,
    NotFound,
    Precondition,
    StoreError,
)
from marin_catalog.core.hub import LEASES, build_topic, kind_topic
from marin_catalog.core.model import (
    SECOND,
    Artifact,
    Attempt,
    Build,
    Failure,
    Input,
    Manifest,
    Outcome,
    Progress,
    Request,
    State,
    Target,
    slot_of,
)

log = logging.getLogger("marin.catalog")
MAX_WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Registration:
    """Arguments of RegisterBuild."""

    request_id: str
    kind: str
    target: Target
    build_key: str
    spec: dict
    inputs: tuple[Input, ...]
    max_attempts: int = 0

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(f"{self.kind}\0{slot_of(self.target, self.build_key)}".encode()).hexdigest()


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


class Builds(UseCases):
    """The write side of the catalog. Raises the errors of :mod:`marin_catalog.core.errors`."""

    async def get(self, build_id: str) -> Build:
        build = await self._store.build(build_id)
        if build is None:
            raise NotFound("build", build_id, hint="list the builds there are with ListBuilds")
        return build

    async def page(
        self, project: str, kinds: Sequence[str], states: Sequence[State], page_size: int, before: int | None
    ) -> list[Build]:
        project = address.check_project(project)
        return await self._store.builds(project, kinds, states, before, page_limit(page_size))

    async def attempts(self, build_id: str) -> list[Attempt]:
        await self.get(build_id)
        return await self._store.attempts(build_id)

    @again_on_conflict
    async def register(self, wanted: Registration) -> Build:
        wanted = replace(wanted, target=address.check_target(wanted.target))
        address.check_kind(wanted.kind)
        address.check_build_key(wanted.build_key)
        if wanted.max_attempts < 0:
            raise BadRequest(
                f"max_attempts is {wanted.max_attempts}",
                hint="give 1 or more, or 0 for 3",
                reason="BAD_ATTEMPTS",
            )
        request = None
        if wanted.request_id:
            if known := await self._store.request(wanted.request_id):
                return await self._repeated(known, wanted)
            request = Request(wanted.request_id, "", wanted.fingerprint)
        return await self._register(wanted, request)

    async def _repeated(self, known: Request, wanted: Registration) -> Build:
        if known.fingerprint != wanted.fingerprint:
            raise BadRequest(
                f"request_id '{known.id}' was used for build {known.build_id}, whose kind, target or key differ",
                hint="draw a new request_id for each piece of work",
                reason="REQUEST_ID_REUSED",
            )
        return await self.get(known.build_id)

    async def _register(self, wanted: Registration, request: Request | None) -> Build:
        now, limit = self._context.clock(), wanted.max_attempts or rules.DEFAULT_MAX_ATTEMPTS
        if not wanted.target.mutable and (held := await self._store.artifact(wanted.target)):
            check_drift(held, wanted.build_key)
            build = await self._store.build(held.build_id)
        else:
            build = await self._store.build_in_slot(slot_of(wanted.target, wanted.build_key))
        build_id = build.id if build else uuid.uuid4().hex
        request = replace(request, build_id=build_id) if request else None
        if build is None:
            build = Build(
                build_id,
                wanted.kind,
                wanted.target,
                wanted.build_key,
                wanted.spec,
                await self._resolve(wanted),
                limit,
                create_time=now,
                update_time=now,
            )
            return await self._context.apply_build(rules.register(build, request))
        if build.state in (State.FAILED, State.CANCELLED):
            build = replace(build, spec=wanted.spec, inputs=await self._resolve(wanted))
            return await self._context.apply_build(rules.reset(build, request, limit, now))
        if request:
            await self._context.apply(rules.remember(request))
        return build

    async def _resolve(self, wanted: Registration) -> tuple[Input, ...]:
        resolved = []
        for i in wanted.inputs:
            held = await self._store.artifact(address.parse_address(wanted.target.project, i.address))
            if held is None:
                raise Precondition(
                    f"input {i.role}={i.address} of {wanted.target.address} is not committed",
                    hint="build the input first, or run the graph that makes it",
                    reason="INPUT_MISSING",
                    address=i.address,
                )
            if held.content_digest != i.content_digest:
                raise Precondition(
                    f"input {i.role}={i.address} of {wanted.target.address} is {held.content_digest}, "
                    f"the plan was made for {i.content_digest or 'no digest'}",
                    hint="plan again on what is committed now",
                    reason="INPUT_CHANGED",
                    address=i.address,
                )
            resolved.append(replace(i, artifact=held.sequence))
        return tuple(resolved)

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
                await ticket.wait(min(left, self._context.poll))

    @again_on_conflict
    async def _claim(self, kinds: Sequence[str], holder: str, host: str, ttl: int, request_id: str) -> Build | None:
        if request_id and (attempt := await self._store.attempt_of_request(request_id)):
            build = await self.get(attempt.build_id)
            held = build.state is State.RUNNING and build.epoch == attempt.epoch
            return build if held else None
        await self.expire_leases()
        build = await self._store.next_pending(kinds)
        if build is None:
            return None
        return await self._context.apply_build(rules.claim(build, holder, host, ttl, request_id, self._context.clock()))

    @again_on_conflict
    async def heartbeat(
        self, build_id: str, epoch: int, ttl: int, progress: Progress | None, command: str, uri: str
    ) -> Build:
        check_ttl(ttl)
        build = await self.get(build_id)
        rules.check_lease(build, epoch)
        attempt = None
        if command or uri:
            stored = await self._attempt(build_id, epoch)
            told = replace(stored, command=command or stored.command, uri=uri or stored.uri)
            attempt = told if told != stored else None
        return await self._context.apply_build(rules.heartbeat(build, attempt, ttl, progress, self._context.clock()))

    @again_on_conflict
    async def commit(self, wanted: Commit) -> Artifact:
        build = await self.get(wanted.build_id)
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
        if current and not build.target.mutable and current.content_digest != wanted.content_digest:
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
    async def fail(
        self, build_id: str, epoch: int, failure: Failure, retryable: bool, cancelled: bool, log_tail: str
    ) -> Build:
        build = await self.get(build_id)
        attempt = await self._store.attempt(build_id, epoch)
        if attempt and attempt.outcome in (Outcome.FAILED, Outcome.CANCELLED):
            return build  # said before
        rules.check_lease(build, epoch)
        if attempt is None:
            raise LeaseLost(build_id, epoch, "there is no such attempt")
        return await self._context.apply_build(
            rules.fail(build, attempt, failure, retryable, cancelled, log_tail, self._context.clock())
        )

    @again_on_conflict
    async def cancel(self, build_id: str, reason: str) -> Build:
        build = await self.get(build_id)
        change = rules.cancel(build, reason, self._context.clock())
        return await self._context.apply_build(change) if change else build

    @again_on_conflict
    async def expire_leases(self) -> float | None:
        """Takes back all leases that have run out. Returns the seconds until the next one does, None without one."""
        now, since = self._context.clock(), self._context.since
        upcoming = []
        for build in await self._store.leased():
            if rules.expired(build, now, since):
                attempt = await self._attempt(build.id, build.epoch)
                await self._context.apply(rules.expire(build, attempt, now))
            else:
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

    async def watch(self, build_id: str) -> AsyncIterator[Build]:
        """The build now and at each change until it is terminal. Changes in quick succession may be seen as one."""
        revision = 0
        with self._context.hub.listen(build_topic(build_id)) as ticket:
            while True:
                build = await self.get(build_id)
                if build.revision != revision:
                    revision = build.revision
                    yield build
                if build.state.terminal:
                    return
                if self._context.hub.closed:
                    raise Draining
                await ticket.wait(self._context.poll)

    async def _attempt(self, build_id: str, epoch: int) -> Attempt:
        attempt = await self._store.attempt(build_id, epoch)
        assert attempt, f"build {build_id} has no attempt for its epoch {epoch}"
        return attempt


def check_drift(held: Artifact, build_key: str) -> None:
    """Raises AddressConflict if an address holds another build than the one asked for."""
    if held.build_key != build_key:
        raise AddressConflict(
            f"{held.target.address} is committed with build key {held.build_key[:12]}, asked for was {build_key[:12]}",
            hint="give it another version, or decide with --on-drift=serve|rebuild",
            reason="ADDRESS_DRIFT",
            address=held.target.address,
            committed_build_key=held.build_key,
        )


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
