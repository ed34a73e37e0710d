"""A store in plain dictionaries: the model that the others are measured against, and a fast one for tests."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from marin_catalog.core.errors import Conflict
from marin_catalog.core.model import (
    Artifact,
    Attempt,
    Build,
    Change,
    Event,
    Manifest,
    Outcome,
    Request,
    Run,
    State,
    Target,
    Unreferenced,
)


class MemoryStore:
    """Nothing here awaits, so each method is atomic on one event loop."""

    def __init__(self) -> None:
        self._builds: dict[str, Build] = {}
        self._slots: dict[str, str] = {}
        self._requests: dict[str, Request] = {}
        self._attempts: dict[tuple[str, int], Attempt] = {}
        self._artifacts: dict[int, Artifact] = {}
        self._current: dict[Target, int] = {}
        self._manifests: dict[tuple[str, int], Manifest] = {}
        self._events: list[Event] = []
        self._runs: dict[str, Run] = {}
        self._published = 0

    async def apply(self, change: Change) -> int:
        self._check(change)
        first = len(self._events) + 1 if change.events else 0
        for event in change.events:
            self._events.append(replace(event, sequence=len(self._events) + 1))
        if b := change.build:
            self._put_build(replace(b, revision=b.revision + 1, sequence=b.sequence or first))
        if change.request:
            self._requests[change.request.id] = change.request
        for attempt in (change.new_attempt, change.attempt):
            if attempt:
                self._attempts[attempt.build_id, attempt.epoch] = attempt
        if a := change.artifact:
            self._artifacts[first] = replace(a, sequence=first)
            self._current[a.target] = first
            if change.manifest:
                self._manifests[a.build_id, a.attempt] = change.manifest
        if r := change.run:
            self._runs[r.id] = replace(r, revision=r.revision + 1, sequence=r.sequence or first)
        return first

    def _check(self, change: Change) -> None:
        for new, stored in ((change.build, self._builds), (change.run, self._runs)):
            if new and _revision(stored.get(new.id)) != new.revision:
                raise Conflict
        if change.build and (slot := change.build.slot) and self._slots.get(slot, change.build.id) != change.build.id:
            raise Conflict
        if change.request and change.request.id in self._requests:
            raise Conflict
        if a := change.new_attempt:
            taken = a.request_id and any(a.request_id == x.request_id for x in self._attempts.values())
            if taken or (a.build_id, a.epoch) in self._attempts:
                raise Conflict
        if change.artifact and self._current.get(change.artifact.target) != change.replaces:
            raise Conflict

    def _put_build(self, build: Build) -> None:
        if (old := self._builds.get(build.id)) and old.slot:
            del self._slots[old.slot]
        self._builds[build.id] = build
        if build.slot:
            self._slots[build.slot] = build.id

    async def build(self, build_id: str) -> Build | None:
        return self._builds.get(build_id)

    async def build_in_slot(self, slot: str) -> Build | None:
        return self._builds.get(self._slots.get(slot, ""))

    async def builds(
        self, project: str, kinds: Sequence[str], states: Sequence[State], before: int | None, limit: int
    ) -> list[Build]:
        return _newest(
            (
                b
                for b in self._builds.values()
                if b.target.project == project and b.kind in (kinds or (b.kind,)) and b.state in (states or (b.state,))
            ),
            before,
            limit,
        )

    async def next_pending(self, kinds: Sequence[str], now: int) -> Build | None:
        ready = (b for b in self._pending(kinds) if not now < b.not_before <= now + b.retry.backoff_max)
        return min(ready, key=lambda b: b.sequence, default=None)

    async def next_ready_time(self, kinds: Sequence[str]) -> int | None:
        return min((b.not_before for b in self._pending(kinds)), default=None)

    def _pending(self, kinds: Sequence[str]) -> list[Build]:
        return [b for b in self._builds.values() if b.state is State.PENDING and b.kind in kinds]

    async def leased(self) -> list[Build]:
        running = (b for b in self._builds.values() if b.state is State.RUNNING)
        return sorted(running, key=lambda b: (b.lease_expire or 0, b.sequence))

    async def request(self, request_id: str) -> Request | None:
        return self._requests.get(request_id)

    async def attempts(self, build_id: str) -> list[Attempt]:
        return sorted((a for a in self._attempts.values() if a.build_id == build_id), key=lambda a: a.epoch)

    async def attempt(self, build_id: str, epoch: int) -> Attempt | None:
        return self._attempts.get((build_id, epoch))

    async def attempt_of_request(self, request_id: str) -> Attempt | None:
        return next((a for a in self._attempts.values() if a.request_id == request_id), None)

    async def artifact(self, target: Target) -> Artifact | None:
        return self._artifacts.get(self._current.get(target, 0))

    async def artifact_of_attempt(self, build_id: str, attempt: int) -> Artifact | None:
        return next(
            (a for a in self._artifacts.values() if (a.build_id, a.attempt, a.adopted_from) == (build_id, attempt, "")),
            None,
        )

    async def artifact_by_key(self, project: str, build_key: str) -> Artifact | None:
        found = (a for a in self._held() if a.target.project == project and a.build_key == build_key)
        return min(found, key=lambda a: a.sequence, default=None)

    async def newest_artifact(self, project: str, name: str, mutable: bool) -> Artifact | None:
        found = (
            a
            for a in self._held()
            if (a.target.project, a.target.name) == (project, name) and (mutable or not a.target.mutable)
        )
        return max(found, key=lambda a: a.sequence, default=None)

    async def unreferenced(self, project: str) -> list[Unreferenced]:
        inputs = {i.artifact for a in self._artifacts.values() for i in a.inputs}
        needed = {a.uri for s, a in self._artifacts.items() if s in inputs} | {a.uri for a in self._held()}
        committed = {a.uri for a in self._artifacts.values()}
        found = []
        for a in sorted(self._attempts.values(), key=lambda a: (a.end_time or 0, a.build_id, a.epoch)):
            b = self._builds[a.build_id]
            if b.target.project == project and a.outcome is not Outcome.RUNNING and a.uri and a.uri not in needed:
                found.append(Unreferenced(a, b.kind, b.target, a.uri in committed))
        return found

    async def artifacts(self, project: str, kinds: Sequence[str], before: int | None, limit: int) -> list[Artifact]:
        held = (a for a in self._held() if a.target.project == project and a.kind in (kinds or (a.kind,)))
        return _newest(held, before, limit)

    def _held(self) -> list[Artifact]:
        return [self._artifacts[s] for s in self._current.values()]

    async def manifest(self, build_id: str, attempt: int) -> Manifest | None:
        return self._manifests.get((build_id, attempt))

    async def lineage(self, sequence: int, up: bool) -> list[tuple[Artifact, int]]:
        edges: dict[int, set[int]] = {}
        for a in self._artifacts.values():
            for i in a.inputs:
                start, end = (a.sequence, i.artifact) if up else (i.artifact, a.sequence)
                edges.setdefault(start, set()).add(end)
        distance, queue = {sequence: 0}, deque([sequence])
        while queue:
            here = queue.popleft()
            for there in edges.get(here, set()) - distance.keys():
                distance[there] = distance[here] + 1
                queue.append(there)
        del distance[sequence]
        return sorted(((self._artifacts[s], d) for s, d in distance.items()), key=lambda n: (n[1], n[0].sequence))

    async def events(self, from_sequence: int, limit: int, project: str | None = None) -> list[Event]:
        later = self._events[max(from_sequence - 1, 0) :]
        return [e for e in later if project in (None, e.project)][:limit]

    async def run(self, run_id: str) -> Run | None:
        return self._runs.get(run_id)

    async def runs_with_prefix(self, prefix: str, limit: int) -> list[Run]:
        return sorted((r for r in self._runs.values() if r.id.startswith(prefix)), key=lambda r: r.sequence)[:limit]

    async def runs(self, project: str, states: Sequence[str], limit: int) -> list[Run]:
        found = (r for r in self._runs.values() if r.project == project and r.state in (states or (r.state,)))
        return _newest(found, None, limit)

    async def published(self) -> int:
        return self._published

    async def mark_published(self, sequence: int, since: int) -> bool:
        if self._published != since:
            return False
        self._published = max(self._published, sequence)
        return True

    async def rewind_published(self, sequence: int) -> None:
        self._published = min(self._published, sequence)

    async def close(self) -> None:
        return None


def _revision(stored: Build | Run | None) -> int:
    return stored.revision if stored else 0


def _newest(records: Any, before: int | None, limit: int) -> list[Any]:
    chosen = (r for r in records if before is None or r.sequence < before)
    return sorted(chosen, key=lambda r: -r.sequence)[:limit]
