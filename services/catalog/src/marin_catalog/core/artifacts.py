"""Use cases of committed artifacts and of the event log."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from marin_catalog.core import address
from marin_catalog.core.builds import check_drift
from marin_catalog.core.checks import page_limit
from marin_catalog.core.context import UseCases, again_on_conflict
from marin_catalog.core.errors import BadRequest, Draining, NotFound
from marin_catalog.core.events import artifact_event
from marin_catalog.core.hub import EVENTS
from marin_catalog.core.model import Artifact, Change, Event, Manifest, Target, Unreferenced

EVENT_PAGE = 1000


class Artifacts(UseCases):
    """Raises the errors of :mod:`marin_catalog.core.errors`."""

    async def get(self, target: Target) -> Artifact:
        """What the address holds, or what the newest address of the name holds if the version is an alias."""
        target = address.check_target(target)
        if target.version in address.ALIASES:
            artifact = await self._store.newest_artifact(
                target.project, target.name, mutable=target.version == address.LATEST
            )
        else:
            artifact = await self._store.artifact(target)
        if artifact is None:
            raise NotFound(
                "artifact",
                target.address,
                hint=f"see what is committed in project '{target.project}' with `marin artifacts list`",
            )
        return artifact

    async def manifest(self, target: Target) -> Manifest:
        artifact = await self.get(target)
        manifest = await self._store.manifest(artifact.build_id, artifact.attempt)
        assert manifest, f"{artifact.target.address} has no manifest"
        return manifest

    async def find(self, project: str, build_key: str) -> Artifact:
        project = address.check_project(project)
        artifact = await self._store.artifact_by_key(project, address.check_build_key(build_key))
        if artifact is None:
            raise NotFound("artifact", f"key {build_key[:12]}", hint=f"nothing in '{project}' was built with this key")
        return artifact

    async def page(self, project: str, kinds: Sequence[str], page_size: int, before: int | None) -> list[Artifact]:
        project = address.check_project(project)
        return await self._store.artifacts(project, kinds, before, page_limit(page_size))

    async def lineage(self, target: Target, up: bool) -> list[tuple[Artifact, int]]:
        return await self._store.lineage((await self.get(target)).sequence, up)

    @again_on_conflict
    async def adopt(self, source: Target, target: Target, supersedes: str = "") -> Artifact:
        original, target = await self.get(source), address.check_commit_target(target)
        if target.project != original.target.project:
            raise BadRequest(
                f"{original.target.address} is in project '{original.target.project}', not in '{target.project}'",
                hint="adopt inside one project",
                reason="OTHER_PROJECT",
            )
        held = await self._store.artifact(target)
        if held and not target.mutable and (held.build_key == original.build_key or held.content_digest != supersedes):
            check_drift(held, original.build_key)
            return held
        if held and (held.build_key, held.content_digest) == (original.build_key, original.content_digest):
            return held
        now = self._context.clock()
        adopted = replace(
            original, target=target, create_time=now, adopted_from=original.target.address, seconds=0.0, sequence=0
        )
        sequence = await self._context.apply(
            Change(
                events=(artifact_event("adopted", adopted, now),),
                artifact=adopted,
                replaces=held.sequence if held else None,
            )
        )
        return replace(adopted, sequence=sequence)

    async def unreferenced(self, project: str) -> list[Unreferenced]:
        """Directories that no address and no other artifact needs, oldest first."""
        return await self._store.unreferenced(address.check_project(project))

    async def rebuild_stream(self, from_sequence: int) -> int:
        """Puts the relay's mark back; returns how many events will be sent again. They are sent by whoever relays."""
        mark = max(from_sequence, 1) - 1
        published = await self._store.published()
        if mark < published:
            await self._store.rewind_published(mark)
            self._context.rewinds += 1
            self._context.hub.notify((EVENTS,))
        return max(published - mark, 0)

    async def events(self, from_sequence: int, page_size: int, project: str) -> list[Event]:
        return await self._store.events(from_sequence, page_limit(page_size, EVENT_PAGE), project or None)

    async def watch_events(self, from_sequence: int, project: str) -> AsyncIterator[Event]:
        """Every event from a sequence number on, for ever. Raises Draining when the service ends."""
        position = max(from_sequence, 1)
        with self._context.hub.listen(EVENTS) as ticket:
            while True:
                page = await self._store.events(position, EVENT_PAGE, project or None)
                for event in page:
                    position = event.sequence + 1
                    yield event
                if self._context.hub.closed:
                    raise Draining
                if len(page) < EVENT_PAGE:
                    await ticket.wait(self._context.poll)
