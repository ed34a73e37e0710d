"""Use cases of builds: register, look up, cancel, watch. What the holder of a lease does is in :mod:`leases`."""

import hashlib
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from marin_catalog.core import address, rules
from marin_catalog.core.checks import check_retry, page_limit
from marin_catalog.core.context import UseCases, again_on_conflict
from marin_catalog.core.errors import (
    AddressConflict,
    BadRequest,
    Draining,
    NotFound,
    Precondition,
)
from marin_catalog.core.hub import build_topic
from marin_catalog.core.model import (
    Artifact,
    Attempt,
    Build,
    Input,
    Request,
    RetryPolicy,
    State,
    Target,
    slot_of,
)

DEFAULT_RETRY = RetryPolicy()


@dataclass(frozen=True)
class Registration:
    """Arguments of RegisterBuild."""

    request_id: str
    kind: str
    target: Target
    build_key: str
    spec: dict
    inputs: tuple[Input, ...]
    retry: RetryPolicy = DEFAULT_RETRY
    supersedes: str = ""

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(f"{self.kind}\0{slot_of(self.target, self.build_key)}".encode()).hexdigest()


class Builds(UseCases):
    """Raises the errors of :mod:`marin_catalog.core.errors`."""

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
        wanted = replace(wanted, target=address.check_commit_target(wanted.target))
        address.check_kind(wanted.kind)
        address.check_build_key(wanted.build_key)
        check_retry(wanted.retry)
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
        now, again = self._context.clock(), (State.FAILED, State.CANCELLED)
        held = None if wanted.target.mutable else await self._store.artifact(wanted.target)
        if held and (held.build_key == wanted.build_key or held.content_digest != wanted.supersedes):
            check_drift(held, wanted.build_key)
            build = await self._store.build(held.build_id)
        else:
            build = await self._store.build_in_slot(slot_of(wanted.target, wanted.build_key))
            if held:  # what this key made before was superseded itself
                again = (*again, State.SUCCEEDED)
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
                wanted.retry,
                create_time=now,
                update_time=now,
                supersedes=wanted.supersedes,
            )
            return await self._context.apply_build(rules.register(build, request))
        if build.state in again:
            inputs = await self._resolve(wanted)
            build = replace(build, spec=wanted.spec, inputs=inputs, supersedes=wanted.supersedes)
            return await self._context.apply_build(rules.reset(build, request, wanted.retry, now))
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

    @again_on_conflict
    async def cancel(self, build_id: str, reason: str) -> Build:
        build = await self.get(build_id)
        change = rules.cancel(build, reason, self._context.clock())
        return await self._context.apply_build(change) if change else build

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
