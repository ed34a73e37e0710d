"""The store on SQLite or PostgreSQL. The statements are the same; :mod:`database` knows how each is talked to."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    bindparam,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

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
from marin_catalog.store import rows
from marin_catalog.store.database import Database
from marin_catalog.store.tables import (
    ARTIFACTS,
    ATTEMPTS,
    BUILDS,
    COUNTERS,
    EDGES,
    EVENTS,
    MANIFESTS,
    REQUESTS,
    RUNS,
)


class SqlStore:
    """Writes are one short transaction each; reads see what is committed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def apply(self, change: Change) -> int:
        try:
            return await self._database.write(lambda connection: _apply(connection, change))
        except IntegrityError as e:
            raise Conflict from e

    async def close(self) -> None:
        await self._database.close()

    async def _all(self, statement: Select, convert: Any) -> list[Any]:
        return await self._database.read(lambda c: [convert(row) for row in c.execute(statement)])

    async def _first(self, statement: Select, convert: Any) -> Any:
        found = await self._all(statement.limit(1), convert)
        return found[0] if found else None

    async def build(self, build_id: str) -> Build | None:
        return await self._first(select(BUILDS).where(BUILDS.c.id == build_id), rows.build_of)

    async def build_in_slot(self, slot: str) -> Build | None:
        return await self._first(select(BUILDS).where(BUILDS.c.slot == slot), rows.build_of)

    async def builds(
        self, project: str, kinds: Sequence[str], states: Sequence[State], before: int | None, limit: int
    ) -> list[Build]:
        wanted = select(BUILDS).where(BUILDS.c.project == project)
        if states:
            wanted = wanted.where(BUILDS.c.state.in_([s.value for s in states]))
        return await self._all(_page(wanted, BUILDS, kinds, before, limit), rows.build_of)

    async def next_pending(self, kinds: Sequence[str], now: int) -> Build | None:
        clock_was_put_back = BUILDS.c.not_before > now + BUILDS.c.backoff_max
        ready = select(BUILDS).where(*_pending(kinds), or_(BUILDS.c.not_before <= now, clock_was_put_back))
        return await self._first(ready.order_by(BUILDS.c.sequence), rows.build_of)

    async def next_ready_time(self, kinds: Sequence[str]) -> int | None:
        soonest = select(func.min(BUILDS.c.not_before).label("time")).where(*_pending(kinds))
        return await self._first(soonest, lambda row: row.time)

    async def leased(self) -> list[Build]:
        running = select(BUILDS).where(BUILDS.c.state == State.RUNNING.value)
        return await self._all(running.order_by(BUILDS.c.lease_expire, BUILDS.c.sequence), rows.build_of)

    async def request(self, request_id: str) -> Request | None:
        return await self._first(select(REQUESTS).where(REQUESTS.c.id == request_id), rows.request_of)

    async def attempts(self, build_id: str) -> list[Attempt]:
        of_build = select(ATTEMPTS).where(ATTEMPTS.c.build_id == build_id).order_by(ATTEMPTS.c.epoch)
        return await self._all(of_build, rows.attempt_of)

    async def attempt(self, build_id: str, epoch: int) -> Attempt | None:
        wanted = select(ATTEMPTS).where(ATTEMPTS.c.build_id == build_id, ATTEMPTS.c.epoch == epoch)
        return await self._first(wanted, rows.attempt_of)

    async def attempt_of_request(self, request_id: str) -> Attempt | None:
        return await self._first(select(ATTEMPTS).where(ATTEMPTS.c.request_id == request_id), rows.attempt_of)

    async def artifact(self, target: Target) -> Artifact | None:
        held = select(ARTIFACTS).where(ARTIFACTS.c.held == rows.held_by(target))
        return await self._first(held, rows.artifact_of)

    async def artifact_of_attempt(self, build_id: str, attempt: int) -> Artifact | None:
        made = select(ARTIFACTS).where(
            ARTIFACTS.c.build_id == build_id, ARTIFACTS.c.attempt == attempt, ARTIFACTS.c.adopted_from == ""
        )
        return await self._first(made, rows.artifact_of)

    async def artifact_by_key(self, project: str, build_key: str) -> Artifact | None:
        held = select(ARTIFACTS).where(
            ARTIFACTS.c.project == project, ARTIFACTS.c.build_key == build_key, ARTIFACTS.c.held.is_not(None)
        )
        return await self._first(held.order_by(ARTIFACTS.c.sequence), rows.artifact_of)

    async def newest_artifact(self, project: str, name: str, mutable: bool) -> Artifact | None:
        held = select(ARTIFACTS).where(
            ARTIFACTS.c.project == project, ARTIFACTS.c.name == name, ARTIFACTS.c.held.is_not(None)
        )
        if not mutable:
            held = held.where(ARTIFACTS.c.version != "dev", ARTIFACTS.c.version.not_like("%-dev"))
        return await self._first(held.order_by(ARTIFACTS.c.sequence.desc()), rows.artifact_of)

    async def unreferenced(self, project: str) -> list[Unreferenced]:
        own = ARTIFACTS.c.uri == ATTEMPTS.c.uri
        made_from = exists().where(EDGES.c.input == ARTIFACTS.c.sequence)
        needed = exists().where(own, or_(ARTIFACTS.c.held.is_not(None), made_from))
        ended = (
            select(
                ATTEMPTS,
                *(BUILDS.c[c].label(f"of_{c}") for c in ("kind", "project", "name", "version")),
                exists().where(own).label("overwritten"),
            )
            .join(BUILDS, BUILDS.c.id == ATTEMPTS.c.build_id)
            .where(BUILDS.c.project == project, ATTEMPTS.c.outcome != Outcome.RUNNING.value, ATTEMPTS.c.uri != "")
            .where(~needed)
            .order_by(ATTEMPTS.c.end_time, ATTEMPTS.c.build_id, ATTEMPTS.c.epoch)
        )
        return await self._all(ended, rows.unreferenced_of)

    async def artifacts(self, project: str, kinds: Sequence[str], before: int | None, limit: int) -> list[Artifact]:
        held = select(ARTIFACTS).where(ARTIFACTS.c.project == project, ARTIFACTS.c.held.is_not(None))
        return await self._all(_page(held, ARTIFACTS, kinds, before, limit), rows.artifact_of)

    async def manifest(self, build_id: str, attempt: int) -> Manifest | None:
        wanted = select(MANIFESTS).where(MANIFESTS.c.build_id == build_id, MANIFESTS.c.attempt == attempt)
        return await self._first(wanted, rows.manifest_of)

    async def lineage(self, sequence: int, up: bool) -> list[tuple[Artifact, int]]:
        here, there = (EDGES.c.artifact, EDGES.c.input) if up else (EDGES.c.input, EDGES.c.artifact)
        walk = (
            select(there.label("id"), literal(1).label("distance")).where(here == sequence).cte("walk", recursive=True)
        )
        walk = walk.union(select(there, walk.c.distance + 1).where(here == walk.c.id))
        nearest = select(walk.c.id, func.min(walk.c.distance).label("distance")).group_by(walk.c.id).subquery()
        reached = (
            select(ARTIFACTS, nearest.c.distance)
            .join(nearest, nearest.c.id == ARTIFACTS.c.sequence)
            .order_by(nearest.c.distance, ARTIFACTS.c.sequence)
        )
        return await self._all(reached, lambda row: (rows.artifact_of(row), row.distance))

    async def events(self, from_sequence: int, limit: int, project: str | None = None) -> list[Event]:
        later = select(EVENTS).where(EVENTS.c.sequence >= from_sequence)
        if project is not None:
            later = later.where(EVENTS.c.project == project)
        return await self._all(later.order_by(EVENTS.c.sequence).limit(limit), rows.event_of)

    async def run(self, run_id: str) -> Run | None:
        return await self._first(select(RUNS).where(RUNS.c.id == run_id), rows.run_of)

    async def runs_with_prefix(self, prefix: str, limit: int) -> list[Run]:
        # substr, not LIKE: SQLite's LIKE takes "a" for "A".
        matching = select(RUNS).where(func.substr(RUNS.c.id, 1, len(prefix)) == prefix)
        return await self._all(matching.order_by(RUNS.c.sequence).limit(limit), rows.run_of)

    async def runs(self, project: str, states: Sequence[str], limit: int) -> list[Run]:
        wanted = select(RUNS).where(RUNS.c.project == project)
        if states:
            wanted = wanted.where(RUNS.c.state.in_(states))
        return await self._all(wanted.order_by(RUNS.c.sequence.desc()).limit(limit), rows.run_of)

    async def published(self) -> int:
        mark = select(COUNTERS.c.value).where(COUNTERS.c.name == "published")
        return await self._first(mark, lambda row: row.value)

    async def mark_published(self, sequence: int, since: int) -> bool:
        mark = update(COUNTERS).where(COUNTERS.c.name == "published", COUNTERS.c.value == since)
        return await self._database.write(lambda c: c.execute(mark.values(value=max(sequence, since))).rowcount == 1)

    async def rewind_published(self, sequence: int) -> None:
        back = update(COUNTERS).where(COUNTERS.c.name == "published", COUNTERS.c.value > sequence)
        await self._database.write(lambda c: c.execute(back.values(value=sequence)))


def _pending(kinds: Sequence[str]) -> tuple[ColumnElement[bool], ...]:
    return BUILDS.c.state == State.PENDING.value, BUILDS.c.kind.in_(kinds)


def _page(wanted: Select, table: Table, kinds: Sequence[str], before: int | None, limit: int) -> Select:
    if kinds:
        wanted = wanted.where(table.c.kind.in_(kinds))
    if before is not None:
        wanted = wanted.where(table.c.sequence < before)
    return wanted.order_by(table.c.sequence.desc()).limit(limit)


_TAKE = (
    update(COUNTERS)
    .where(COUNTERS.c.name == "event")
    .values(value=COUNTERS.c.value + bindparam("n"))
    .returning(COUNTERS.c.value)
)


def _apply(connection: Connection, change: Change) -> int:
    first = _append(connection, change.events) if change.events else 0
    if change.build:
        _put(connection, BUILDS, rows.build_row(change.build), first)
    if change.request:
        connection.execute(insert(REQUESTS), rows.request_row(change.request))
    if change.new_attempt:
        connection.execute(insert(ATTEMPTS), rows.attempt_row(change.new_attempt))
    if a := change.attempt:
        mine = update(ATTEMPTS).where(ATTEMPTS.c.build_id == a.build_id, ATTEMPTS.c.epoch == a.epoch)
        connection.execute(mine, rows.attempt_row(a))
    if change.artifact:
        _put_artifact(connection, replace(change.artifact, sequence=first), change)
    if change.run:
        _put(connection, RUNS, rows.run_row(change.run), first)
    return first


def _append(connection: Connection, events: Sequence[Event]) -> int:
    """The counter comes before everything else: its row lock puts PostgreSQL's writers in line, so that sequence
    numbers become visible in order and no two writers wait for each other."""
    last = connection.execute(_TAKE, {"n": len(events)}).scalar_one()
    first = last - len(events) + 1
    numbered = [rows.event_row(replace(e, sequence=first + i)) for i, e in enumerate(events)]
    connection.execute(insert(EVENTS), numbered)
    return first


def _put(connection: Connection, table: Table, row: dict[str, Any], first: int) -> None:
    """Inserts a record of revision 0, replaces one of a later revision if it is stored with that revision still."""
    expected = row["revision"]
    row |= {"revision": expected + 1, "sequence": row["sequence"] or first}
    if expected == 0:
        connection.execute(insert(table), row)
        return
    stored = update(table).where(table.c.id == bindparam("stored_id"), table.c.revision == bindparam("expected"))
    if connection.execute(stored, row | {"stored_id": row["id"], "expected": expected}).rowcount != 1:
        raise Conflict


def _put_artifact(connection: Connection, artifact: Artifact, change: Change) -> None:
    if change.replaces is not None:
        held = update(ARTIFACTS).where(ARTIFACTS.c.sequence == change.replaces, ARTIFACTS.c.held.is_not(None))
        if connection.execute(held, {"held": None}).rowcount != 1:
            raise Conflict
    connection.execute(insert(ARTIFACTS), rows.artifact_row(artifact))
    if change.manifest:
        manifest = rows.manifest_row(artifact.build_id, artifact.attempt, change.manifest)
        connection.execute(insert(MANIFESTS), manifest)
    if edges := {i.artifact for i in artifact.inputs}:
        connection.execute(insert(EDGES), [{"artifact": artifact.sequence, "input": i} for i in sorted(edges)])
