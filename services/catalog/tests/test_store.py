"""One suite for all stores."""

import asyncio
from dataclasses import replace

import pytest

from marin_catalog.core.errors import Conflict
from marin_catalog.core.model import (
    Artifact,
    Attempt,
    Build,
    Change,
    Event,
    Failure,
    FileEntry,
    Input,
    Manifest,
    Outcome,
    Progress,
    Request,
    RetryPolicy,
    Run,
    State,
    Target,
)
from marin_catalog.store.interface import Store

pytestmark = pytest.mark.parametrize("database_url", ("memory", "sqlite", "postgres"), indirect=True)


def event(name: str, project: str = "default") -> Event:
    return Event(name, "build.registered", "marin.x", project, {"n": [1, 2.5, None, "ü\u0000"]}, 7)


def build(name: str, kind: str = "tokens", version: str = "v1", **fields: object) -> Build:
    target = Target("default", name, version)
    return Build(name, kind, target, "k" * 64, {"a": {"b": [1, None]}}, (), RetryPolicy(3, 5, 7), 1, 1, **fields)


def artifact(name: str, inputs: tuple[int, ...] = (), version: str = "v1", kind: str = "tokens") -> Artifact:
    made_from = tuple(Input("r", "x@v1", "sha256:0", i) for i in inputs)
    target = Target("default", name, version)
    return Artifact(
        target, kind, "sha256:1", "k" * 64, name, 1, "file:///x", 3, 1, {"loss": 0.5}, "h", made_from, 5, 1.5
    )


async def add(store: Store, a: Artifact, replaces: int | None = None) -> int:
    return await store.apply(Change((event(f"e-{a.target.address}-{replaces}"),), artifact=a, replaces=replaces))


async def test_records_come_back_as_they_were_written(store: Store) -> None:
    full = replace(
        build("b"),
        inputs=(Input("documents", "d@v1", "sha256:2", 4), Input("tokenizer", "t@v1", "sha256:3", 5)),
        state=State.RUNNING,
        attempt=2,
        attempts_used=1,
        epoch=2**40,
        lease_holder="w",
        lease_ttl=10,
        lease_expire=2**52,
        cancel_requested=True,
        cancel_reason="why",
        error=Failure("ABORTED", "R", "m", "h", {"k": "v"}),
        progress=Progress("train", 3, 10, {"loss": float("inf")}, 9),
        uri="file:///b",
        content_digest="sha256:4",
        end_time=12,
    )
    attempt = Attempt(
        "b", 2, 2**40, "w", "host", 5, "c1", "python -m x", "file:///b", Outcome.FAILED, full.error, "tail\n\u2028", 8
    )
    manifest = Manifest((FileEntry("a/ü b", 2**40, "0" * 64),), (FileEntry("log", 0, "1" * 64),))
    run = Run("r", "default", "n", "running", b"\x00\xff", 1, 2)
    request = Request("q", "b", "f")
    assert await store.apply(Change((event("1"),), build=full, request=request, new_attempt=attempt, run=run)) == 1
    made = replace(artifact("a"), build_id="b", attempt=2)
    assert await store.apply(Change((event("2"),), artifact=made, manifest=manifest)) == 2

    stored = replace(full, revision=1, sequence=1)
    assert await store.build("b") == stored == await store.build_in_slot(full.slot or "")
    assert await store.leased() == [stored]
    assert await store.attempts("b") == [attempt]
    assert await store.attempt("b", 2**40) == attempt == await store.attempt_of_request("c1")
    assert await store.request("q") == request
    assert await store.artifact(made.target) == replace(made, sequence=2) == await store.artifact_of_attempt("b", 2)
    assert await store.manifest("b", 2) == manifest
    assert await store.run("r") == replace(run, revision=1, sequence=1)
    assert await store.events(1, 10) == [replace(event("1"), sequence=1), replace(event("2"), sequence=2)]


async def test_what_is_not_there_is_none(store: Store) -> None:
    assert await store.build("x") is None
    assert await store.build_in_slot("x") is None
    assert await store.next_pending(["tokens"], 9) is None
    assert await store.attempt("x", 1) is None
    assert await store.attempt_of_request("") is None
    assert await store.artifact(Target("default", "x", "v1")) is None
    assert await store.run("x") is None
    assert (await store.published(), await store.events(0, 10), await store.leased()) == (0, [], [])


async def test_only_one_of_many_writers_of_a_revision_wins(store: Store) -> None:
    await store.apply(Change((event("0"),), build=build("b")))
    stored = await store.build("b")
    assert stored

    async def write(holder: str) -> bool:
        try:
            taken = replace(stored, state=State.RUNNING, lease_holder=holder)
            await store.apply(Change((event(holder),), build=taken))
        except Conflict:
            return False
        return True

    won = await asyncio.gather(*(write(f"w{i}") for i in range(8)))
    assert won.count(True) == 1
    after = await store.build("b")
    assert after and after.revision == 2 and after.lease_holder == f"w{won.index(True)}"
    assert [e.id for e in await store.events(1, 100)] == ["0", after.lease_holder]


async def test_sequence_numbers_are_dense_under_concurrency_and_refusals(store: Store) -> None:
    async def write(i: int) -> int:
        try:
            return await store.apply(Change((event(f"a{i}"), event(f"b{i}")), build=build(f"x{i // 2}")))
        except Conflict:
            return 0

    firsts = sorted(await asyncio.gather(*(write(i) for i in range(24))))
    assert firsts == [0] * 12 + list(range(1, 25, 2))
    log = await store.events(1, 100)
    assert [e.sequence for e in log] == list(range(1, 25))
    assert all(a.id[1:] == b.id[1:] for a, b in zip(log[::2], log[1::2], strict=True))


async def test_a_refused_change_leaves_nothing_behind(store: Store) -> None:
    await add(store, artifact("a"))
    running = replace(build("b"), state=State.RUNNING)
    change = Change(
        (event("z"),),
        build=running,
        request=Request("q", "b", "f"),
        new_attempt=Attempt("b", 1, 1, "w", "h", 1),
        artifact=artifact("a"),
        manifest=Manifest((), ()),
        run=Run("r", "default", "n", "running", b""),
    )
    with pytest.raises(Conflict):
        await store.apply(change)
    assert await store.build("b") is None and await store.attempts("b") == [] and await store.request("q") is None
    assert await store.run("r") is None and await store.manifest("a", 1) is None
    assert len(await store.events(1, 10)) == 1
    assert await store.apply(replace(change, artifact=None)) == 2


@pytest.mark.parametrize("twice", ("slot", "request", "claim", "epoch", "address", "run"))
async def test_names_are_unique(store: Store, twice: str) -> None:
    changes = {
        "slot": lambda i: Change((event(i),), build=replace(build("b"), id=i)),
        "request": lambda i: Change(request=Request("q", i, "f")),
        "claim": lambda i: Change(new_attempt=Attempt(i, 1, 1, "w", "h", 1, request_id="c")),
        "epoch": lambda i: Change(new_attempt=Attempt("b", 1, 1, "w", "h", 1, request_id=i)),
        "address": lambda i: Change((event(i),), artifact=artifact("a")),
        "run": lambda i: Change((event(i),), run=Run("r", "default", i, "running", b"")),
    }
    await store.apply(changes[twice]("1"))
    with pytest.raises(Conflict):
        await store.apply(changes[twice]("2"))


async def test_claims_without_a_request_id_do_not_collide(store: Store) -> None:
    for i in (1, 2):
        await store.apply(Change(new_attempt=Attempt("b", i, i, "w", "h", 1)))
    assert [a.epoch for a in await store.attempts("b")] == [1, 2]


async def test_a_finished_build_of_a_mutable_version_gives_its_slot_up(store: Store) -> None:
    await store.apply(Change((event("1"),), build=replace(build("b", version="dev"), id="first")))
    first = await store.build("first")
    assert first
    await store.apply(Change((event("2"),), build=replace(first, state=State.SUCCEEDED)))
    await store.apply(Change((event("3"),), build=replace(build("b", version="dev"), id="second")))
    found = await store.build_in_slot(first.slot or "")
    assert found and found.id == "second"


async def test_an_address_moves_on_only_from_the_artifact_that_was_seen(store: Store) -> None:
    old = await add(store, artifact("a", version="dev"))
    new = await add(store, replace(artifact("a", version="dev"), build_id="b2"), replaces=old)
    for stale in (old, None):
        with pytest.raises(Conflict):
            await add(store, artifact("a", version="dev"), replaces=stale)
    held = await store.artifact(Target("default", "a", "dev"))
    assert held and held.sequence == new
    assert [a.sequence for a in await store.artifacts("default", [], None, 10)] == [new]
    superseded = await store.artifact_of_attempt("a", 1)
    assert superseded and superseded.sequence == old


async def test_lists_are_filtered_and_paged_newest_first(store: Store) -> None:
    for i, kind in enumerate(("tokens", "policy", "tokens")):
        await store.apply(Change((event(f"b{i}"),), build=build(f"b{i}", kind=kind)))
        await add(store, artifact(f"a{i}", kind=kind))
        await store.apply(
            Change((event(f"r{i}"),), run=Run(f"r{i}", "default", "n", ("running", "failed")[i % 2], b""))
        )
    other = replace(build("o"), target=Target("other", "o", "v1"))
    await store.apply(Change((event("o", "other"),), build=other))

    async def ids(**wanted: object) -> list[str]:
        query = {"kinds": [], "states": [], "before": None, "limit": 10} | wanted
        return [b.id for b in await store.builds("default", **query)]

    assert await ids() == ["b2", "b1", "b0"]
    assert await ids(kinds=["policy"]) == ["b1"]
    assert await ids(states=[State.FAILED]) == []
    assert await ids(limit=2) == ["b2", "b1"]
    b1 = await store.build("b1")
    assert b1 and await ids(before=b1.sequence) == ["b0"]
    pending = await store.next_pending(["tokens", "policy"], 9)
    assert pending and pending.id == "b0"
    assert [a.target.name for a in await store.artifacts("default", ["tokens"], None, 1)] == ["a2"]
    oldest = await store.artifact_by_key("default", "k" * 64)
    assert oldest and oldest.target.name == "a0"
    assert [r.id for r in await store.runs("default", ["running"], 10)] == ["r2", "r0"]
    assert [e.id for e in await store.events(0, 10, "other")] == ["o"]
    assert [e.sequence for e in await store.events(3, 2)] == [3, 4]


async def test_run_prefixes_are_taken_literally(store: Store) -> None:
    for name in ("ab1", "ab2", "AB3", "a%4"):
        await store.apply(Change((event(name),), run=Run(name, "default", "n", "running", b"")))
    assert [r.id for r in await store.runs_with_prefix("ab", 10)] == ["ab1", "ab2"]
    assert [r.id for r in await store.runs_with_prefix("a%", 10)] == ["a%4"]
    assert len(await store.runs_with_prefix("a", 2)) == 2


async def test_lineage_takes_the_shortest_way(store: Store) -> None:
    a = await add(store, artifact("a"))
    b = await add(store, artifact("b", (a,)))
    c = await add(store, artifact("c", (a, b)))
    d = await add(store, artifact("d", (b, c)))
    await add(store, artifact("apart"))
    assert [(x.sequence, n) for x, n in await store.lineage(d, up=True)] == [(b, 1), (c, 1), (a, 2)]
    assert [(x.sequence, n) for x, n in await store.lineage(a, up=False)] == [(b, 1), (c, 1), (d, 2)]
    assert await store.lineage(a, up=True) == [] == await store.lineage(d, up=False)


async def test_the_published_mark_is_moved_by_whoever_knows_where_it_is(store: Store) -> None:
    for mark, since, moved, stored in ((3, 0, True, 3), (4, 0, False, 3), (2, 3, True, 3), (5, 3, True, 5)):
        assert await store.mark_published(mark, since) is moved
        assert await store.published() == stored
    for back, stored in ((7, 5), (2, 2), (0, 0)):
        await store.rewind_published(back)
        assert await store.published() == stored


async def test_a_pending_build_is_hidden_until_its_time(store: Store) -> None:
    assert await store.next_ready_time(["tokens"]) is None
    await store.apply(Change((event("1"),), build=build("late", not_before=50)))
    before_the_clock_was_put_back = await store.next_pending(["tokens"], 42)  # the longest wait is 7
    assert before_the_clock_was_put_back and await store.next_pending(["tokens"], 43) is None
    await store.apply(Change((event("2"),), build=build("later", not_before=56)))
    assert await store.next_ready_time(["tokens"]) == 50 and await store.next_ready_time(["policy"]) is None
    assert await store.next_pending(["tokens"], 49) is None
    found = await store.next_pending(["tokens"], 50)
    assert found and found.id == "late"


async def test_the_newest_of_a_name_with_and_without_mutable_versions(store: Store) -> None:
    for version in ("v1", "v2", "dev", "x-dev"):
        await add(store, artifact("a", version=version))
    await add(store, artifact("b"))
    newest = [await store.newest_artifact("default", "a", mutable=m) for m in (True, False)]
    assert [a.target.version for a in newest if a] == ["x-dev", "v2"]
    assert await store.newest_artifact("default", "c", mutable=True) is None


async def test_only_ended_attempts_that_nothing_refers_to_are_unreferenced(store: Store) -> None:
    def attempt(epoch: int, outcome: Outcome, uri: str) -> Attempt:
        return Attempt("b", epoch, epoch, "w", "h", 1, outcome=outcome, uri=uri, end_time=epoch)

    await store.apply(Change((event("b"),), build=build("b")))
    for epoch, (outcome, uri) in enumerate(
        [
            (Outcome.FAILED, "file:///1"),
            (Outcome.RUNNING, "file:///2"),
            (Outcome.LOST, ""),
            (Outcome.SUCCEEDED, "file:///4"),
            (Outcome.SUCCEEDED, "file:///5"),
            (Outcome.SUCCEEDED, "file:///6"),
        ]
    ):
        await store.apply(Change(new_attempt=attempt(epoch + 1, outcome, uri)))
    overwritten = await add(store, replace(artifact("d", version="dev"), uri="file:///4"))
    used = await add(store, replace(artifact("d", version="dev"), uri="file:///5"), replaces=overwritten)
    await add(store, replace(artifact("d", version="dev"), uri="file:///6"), replaces=used)
    await add(store, artifact("user", (used,)))
    found = await store.unreferenced("default")
    assert [(u.attempt.uri, u.overwritten) for u in found] == [("file:///1", False), ("file:///4", True)]
    assert found[0].attempt == attempt(1, Outcome.FAILED, "file:///1") and found[0].target == build("b").target
    assert await store.unreferenced("other") == []
