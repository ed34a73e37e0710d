"""The life of a build, over real gRPC on SQLite, with a clock that the tests turn."""

import asyncio

import pytest

from marin.catalog.v1 import catalog_service_pb2 as pb
from marin.catalog.v1.catalog_pb2 import Build, Manifest, ManifestFile
from marin.common.v1 import job_pb2
from marin.common.v1.artifact_pb2 import ArtifactTarget, InputRef
from marin_artifacts.digest import content_digest
from marin_catalog.core.builds import Builds, Registration
from marin_catalog.core.context import Context
from marin_catalog.core.leases import Leases
from marin_catalog.core.model import SECOND, Target
from marin_chassis.engine import EngineError
from marin_chassis.errors import from_status

PENDING, RUNNING = job_pb2.JOB_STATE_PENDING, job_pb2.JOB_STATE_RUNNING
SUCCEEDED, FAILED = job_pb2.JOB_STATE_SUCCEEDED, job_pb2.JOB_STATE_FAILED
CANCELLED = job_pb2.JOB_STATE_CANCELLED


def refused(reason: str, code: str):
    """Expects an error with this reason and code, a message and a fix."""

    def check(error: EngineError) -> bool:
        assert (error.reason, error.code) == (reason, code)
        assert error.message and error.hint and error.hint != "see the server's log"
        return True

    return pytest.raises(EngineError, check=check)


lost = refused("LEASE_LOST", "FAILED_PRECONDITION")


async def test_register_claim_heartbeat_commit(catalog, clock) -> None:
    registered = await catalog.register(request_id="r", spec={"vocab": 2048, "opts": {"x": None}})
    assert (registered.state, registered.attempt, registered.target.project) == (PENDING, 0, "default")
    build = await catalog.claim()
    assert build and (build.id, build.state, build.attempt, build.epoch) == (registered.id, RUNNING, 1, 1)
    assert build.lease_holder == "worker" and build.lease_expire_time.ToMicroseconds() == clock.now + 10 * SECOND
    assert build.spec == registered.spec and await catalog.claim() is None
    clock.advance(5)
    progress = job_pb2.Progress(phase="train", step=3, total=9, metrics={"loss": 2.5})
    assert await catalog.beat(build, progress=progress, command="python -m x", uri="file:///b/1") is False
    seen = await catalog.get(build)
    assert seen.progress.metrics["loss"] == 2.5 and seen.lease_expire_time.ToMicroseconds() == clock.now + 10 * SECOND
    artifact = await catalog.commit(build, headline="done", summary={"rows": 5, "loss": float("nan")})
    assert (artifact.bytes, artifact.files, artifact.seconds, artifact.attempt) == (1, 1, 5.0, 1)
    assert artifact.summary["rows"] == 5 and artifact.summary["loss"] != artifact.summary["loss"]
    done = await catalog.get(build)
    assert (done.state, done.content_digest, done.lease_holder) == (SUCCEEDED, artifact.content_digest, "")
    assert done.end_time == artifact.create_time
    (attempt,) = await catalog.attempts(build)
    assert (attempt.outcome, attempt.command, attempt.host) == ("succeeded", "python -m x", "box")
    got = await catalog.rpc.GetArtifact(pb.GetArtifactRequest(target=registered.target))
    assert got.artifact.content_digest == artifact.content_digest
    manifest = (await catalog.rpc.GetManifest(pb.GetManifestRequest(target=registered.target))).manifest
    assert [f.path for f in manifest.content] == ["data.txt"]
    assert await catalog.event_types() == ["build.registered", "build.claimed", "artifact.committed"]


async def test_oldest_build_of_a_wanted_kind_is_claimed_once(catalog) -> None:
    first, second = await catalog.register("a"), await catalog.register("b", "b")
    await catalog.register("c", "c", kind="policy")
    claims = await asyncio.gather(*(catalog.claim(holder=f"w{i}") for i in range(6)))
    assert sorted(c.id for c in claims if c) == sorted([first.id, second.id])


async def test_a_waiting_claim_wakes_at_once(catalog, context) -> None:
    context.poll = 60
    waiting = asyncio.create_task(catalog.claim(wait=50))
    await asyncio.sleep(0.1)
    registered = await catalog.register()
    async with asyncio.timeout(10):
        build = await waiting
    assert build and build.id == registered.id


async def test_a_waiting_claim_sees_builds_of_other_replicas(catalog, context) -> None:
    waiting = asyncio.create_task(catalog.claim(wait=50))
    await asyncio.sleep(0.1)
    replica = Context(context.store, context.clock)  # has notices of its own
    await Builds(replica).register(Registration("", "tokens", Target("", "a", "v1"), "0" * 64, {}, ()))
    async with asyncio.timeout(10):
        assert await waiting


async def test_an_expired_lease_goes_to_another_and_the_zombie_is_refused(catalog, clock) -> None:
    await catalog.register()
    zombie = await catalog.claim(holder="old", ttl=2)
    clock.advance(1.9)
    assert await catalog.claim(holder="new") is None
    clock.advance(0.1)
    build = await catalog.claim(holder="new")
    assert (build.id, build.epoch, build.attempt, build.lease_holder) == (zombie.id, 2, 2, "new")
    with lost:
        await catalog.beat(zombie)
    with lost:
        await catalog.commit(zombie, "stale bytes")
    with lost:
        await catalog.fail(zombie)
    artifact = await catalog.commit(build, "good bytes")
    with lost:
        await catalog.commit(zombie, "stale bytes")
    assert (await catalog.rpc.GetArtifact(pb.GetArtifactRequest(target=build.target))).artifact == artifact
    gone, good = await catalog.attempts(build)
    assert (gone.outcome, good.outcome) == ("lost", "succeeded")
    assert from_status(gone.error).reason == "LEASE_EXPIRED" and "old" in gone.error.message
    assert await catalog.event_types() == [
        "build.registered",
        "build.claimed",
        "build.requeued",
        "build.claimed",
        "artifact.committed",
    ]


async def test_a_late_holder_that_nobody_replaced_may_finish(catalog, clock) -> None:
    await catalog.register()
    build = await catalog.claim(ttl=1)
    clock.advance(100)
    await catalog.beat(build)
    assert (await catalog.commit(build)).attempt == 1


async def test_dead_workers_are_noticed_without_claims_until_attempts_run_out(catalog, context, clock) -> None:
    context.poll = 0.02
    watcher = asyncio.create_task(Leases(context).keep_expiring())
    build = await catalog.register(max_attempts=2)
    for _ in range(2):
        assert await catalog.claim(ttl=1, wait=10)
        clock.advance(1)
    async with asyncio.timeout(10):
        while (await catalog.get(build)).state != FAILED:
            await asyncio.sleep(0.01)
    error = from_status((await catalog.get(build)).error)
    assert error.reason == "ATTEMPTS_EXHAUSTED" and "2 of 2" in error.message
    assert [a.outcome for a in await catalog.attempts(build)] == ["lost", "lost"]
    assert (await catalog.event_types())[-1] == "build.failed"
    watcher.cancel()


async def test_leases_do_not_run_out_while_the_catalog_is_away(catalog, context, clock) -> None:
    await catalog.register()
    build = await catalog.claim(ttl=10)
    clock.advance(60)
    context.since = clock.now  # restarted: the holder could not reach it for a minute
    assert await catalog.claim(holder="new") is None
    clock.advance(9)
    await catalog.beat(build)
    clock.advance(9)
    assert await catalog.claim(holder="new") is None
    clock.advance(1)
    assert await catalog.claim(holder="new")


async def test_retryable_failures_are_tried_again_until_attempts_run_out(catalog) -> None:
    build = await catalog.register()
    for number in (1, 2, 3):
        claimed = await catalog.claim()
        assert claimed.attempt == number and not claimed.HasField("error")
        after = await catalog.fail(claimed, log_tail="Killed\0")
        assert after.state == (FAILED if number == 3 else PENDING)
        assert from_status(after.error).reason == "BROKEN"
    assert from_status(after.error).metadata["attempts"] == "3 of 3"
    assert await catalog.claim() is None and after.HasField("end_time")
    attempts = await catalog.attempts(build)
    assert [a.outcome for a in attempts] == ["failed"] * 3 and attempts[0].log_tail == "Killed\ufffd"


async def test_a_final_failure_is_final_and_registering_again_gives_fresh_attempts(catalog) -> None:
    build = await catalog.register(request_id="r1", max_attempts=1)
    assert (await catalog.fail(await catalog.claim(), retryable=False)).state == FAILED
    assert (await catalog.register(request_id="r1")).state == FAILED  # the same request does not start it anew
    again = await catalog.register(request_id="r2", max_attempts=2)
    assert (again.id, again.state, again.attempt) == (build.id, PENDING, 1) and not again.HasField("error")
    assert (await catalog.fail(await catalog.claim())).state == PENDING
    assert (await catalog.fail(await catalog.claim())).state == FAILED
    assert (await catalog.register(request_id="r2")).state == FAILED
    assert [a.number for a in await catalog.attempts(build)] == [1, 2, 3]


async def test_cancel_pending_running_finished(catalog, clock) -> None:
    pending = await catalog.register("a")
    ended = await catalog.cancel(pending)
    assert ended.state == CANCELLED and "enough" in ended.error.message and await catalog.claim() is None
    assert (await catalog.cancel(pending)).update_time == ended.update_time

    build = await catalog.register("b", "b") and await catalog.claim()
    asked = await catalog.cancel(build, "wrong data")
    assert asked.state == RUNNING and asked.cancel_requested
    assert await catalog.beat(build) is True
    ended = await catalog.fail(build, cancelled=True, error=None)
    assert ended.state == CANCELLED and "wrong data" in ended.error.message and not ended.cancel_requested
    assert [a.outcome for a in await catalog.attempts(build)] == ["cancelled"]

    build = await catalog.register("c", "c") and await catalog.claim(ttl=1)
    await catalog.cancel(build)
    clock.advance(2)
    assert await catalog.claim() is None  # its holder died: cancelled, not tried again
    assert (await catalog.get(build)).state == CANCELLED

    build = await catalog.register("d", "d") and await catalog.claim()
    await catalog.cancel(build)
    await catalog.commit(build)  # finished before it saw the flag
    assert (await catalog.cancel(build)).state == SUCCEEDED
    assert (await catalog.register("a")).state == PENDING


async def test_drift_and_reuse_of_a_committed_address(catalog) -> None:
    made = await catalog.make("a", "a")
    assert (await catalog.register("a", "a")).id == made.build_id
    with refused("ADDRESS_DRIFT", "ALREADY_EXISTS"):
        await catalog.register("a", "b")


async def test_an_address_taken_meanwhile(catalog) -> None:
    first = await catalog.register("a", "a") and await catalog.claim()
    second = await catalog.register("a", "b") and await catalog.claim()
    await catalog.commit(first, "x")
    with refused("ADDRESS_TAKEN", "ALREADY_EXISTS"):
        await catalog.commit(second, "y")
    assert (await catalog.fail(second, retryable=False)).state == FAILED
    third = await catalog.register("t", "c") and await catalog.claim()
    await catalog.rpc.AdoptArtifact(pb.AdoptArtifactRequest(source=first.target, target=third.target))
    kept = await catalog.commit(third, "x")  # the address holds the same bytes already
    assert kept.adopted_from == "a@v1" and (await catalog.get(third)).state == SUCCEEDED
    assert (await catalog.event_types()).count("artifact.committed") == 1


async def test_mutable_versions_are_built_anew(catalog) -> None:
    old = await catalog.make("a", "a", "old", version="dev")
    again = await catalog.register("a", "a", version="dev")
    assert again.id != old.build_id
    assert (await catalog.register("a", "a", version="dev")).id == again.id
    new = await catalog.commit(await catalog.claim(), "new")
    got = (await catalog.rpc.GetArtifact(pb.GetArtifactRequest(target=old.target))).artifact
    assert got == new and new.content_digest != old.content_digest


async def test_inputs_must_be_committed_with_the_planned_digest(catalog) -> None:
    def ref(digest: str) -> InputRef:
        return InputRef(role="documents", address="docs@v1", content_digest=digest)

    with refused("INPUT_MISSING", "FAILED_PRECONDITION"):
        await catalog.register("a", inputs=[ref("sha256:1")])
    docs = await catalog.make("docs", "d", kind="documents")
    with refused("INPUT_CHANGED", "FAILED_PRECONDITION"):
        await catalog.register("a", inputs=[ref("sha256:1")])
    with refused("INPUT_CHANGED", "FAILED_PRECONDITION"):
        await catalog.register("a", inputs=[ref("")])
    build = await catalog.register("a", inputs=[ref(docs.content_digest)])
    assert list(build.inputs) == [ref(docs.content_digest)]


SHA = "0" * 64


@pytest.mark.parametrize(
    ("reason", "files", "fields"),
    (
        ("DIGEST_MISMATCH", [("a", 1, SHA)], {"content_digest": "sha256:" + SHA}),
        ("BAD_MANIFEST", [], {}),
        ("BAD_MANIFEST", [("../a", 1, SHA)], {}),
        ("BAD_MANIFEST", [("/a", 1, SHA)], {}),
        ("BAD_MANIFEST", [("a//b", 1, SHA)], {}),
        ("BAD_MANIFEST", [("a\n", 1, SHA)], {}),
        ("BAD_MANIFEST", [("a", 1, SHA), ("a", 1, SHA)], {}),
        ("BAD_MANIFEST", [("a", -1, SHA)], {}),
        ("BAD_MANIFEST", [("a", 1, "abc")], {}),
        ("BAD_URI", [("a", 1, SHA)], {"uri": ""}),
    ),
)
async def test_a_commit_that_does_not_add_up_is_refused_and_may_be_corrected(catalog, reason, files, fields) -> None:
    build = await catalog.register() and await catalog.claim()
    content = [ManifestFile(path=p, size=s, sha256=h) for p, s, h in files]
    fields = {"manifest": Manifest(content=content), "content_digest": content_digest(content)} | fields
    with refused(reason, "INVALID_ARGUMENT"):
        await catalog.commit(build, **fields)
    assert await catalog.commit(build)


async def test_a_record_file_may_not_leave_the_artifact_either(catalog) -> None:
    build = await catalog.register() and await catalog.claim()
    request = catalog.commit_request(build)
    request.manifest.record.add(path="a/../../b", size=1, sha256=SHA)
    with refused("BAD_MANIFEST", "INVALID_ARGUMENT"):
        await catalog.rpc.CommitArtifact(request)


@pytest.mark.parametrize(
    ("reason", "fields"),
    (
        ("BAD_ADDRESS", {"name": ""}),
        ("BAD_ADDRESS", {"name": "a/../b"}),
        ("BAD_ADDRESS", {"name": "a@b"}),
        ("BAD_ADDRESS", {"version": ""}),
        ("BAD_ADDRESS", {"version": "a b"}),
        ("BAD_ADDRESS", {"inputs": [InputRef(role="r", address="noversion")]}),
        ("BAD_PROJECT", {"project": "a.b"}),
        ("BAD_KIND", {"kind": "A*"}),
        ("BAD_BUILD_KEY", {"build_key": "short"}),
        ("BAD_ATTEMPTS", {"max_attempts": -1}),
    ),
)
async def test_bad_registrations(catalog, reason, fields) -> None:
    with refused(reason, "INVALID_ARGUMENT"):
        await catalog.register(**fields)


async def test_bad_claims_and_leases(catalog) -> None:
    with refused("BAD_CLAIM", "INVALID_ARGUMENT"):
        await catalog.claim(holder="")
    for ttl in (0, -1, 100_000):
        with refused("BAD_TTL", "INVALID_ARGUMENT"):
            await catalog.claim(ttl=ttl)
    build = await catalog.register() and await catalog.claim()
    with refused("BAD_TTL", "INVALID_ARGUMENT"):
        await catalog.beat(build, ttl=0)
    with refused("MISSING_ERROR", "INVALID_ARGUMENT"):
        await catalog.fail(build, error=None)
    with lost:
        await catalog.beat(Build(id=build.id, epoch=2))


async def test_unknown_builds(catalog) -> None:
    nobody = Build(id="nobody", epoch=1)
    for call in (catalog.get, catalog.beat, catalog.commit, catalog.fail, catalog.cancel, catalog.attempts):
        with refused("UNKNOWN_BUILD", "NOT_FOUND"):
            await call(nobody)
    with pytest.raises(Exception, match="there is no build 'nobody'"):
        async for _ in catalog.rpc.stub.WatchBuild(pb.WatchBuildRequest(id="nobody")):
            pass


async def test_every_mutating_call_may_be_repeated(catalog, clock) -> None:
    first = await catalog.register(request_id="r")
    assert await catalog.register(request_id="r") == first
    with refused("REQUEST_ID_REUSED", "INVALID_ARGUMENT"):
        await catalog.register("other", request_id="r")
    claimed = await catalog.claim(request_id="c1")
    await catalog.register("b", "b")
    assert await catalog.claim(request_id="c1") == claimed  # not the other pending build
    clock.advance(1)
    failed = await catalog.fail(claimed)
    assert await catalog.fail(claimed) == failed
    assert await catalog.claim(request_id="c1") is None  # that lease has ended
    claimed = await catalog.claim(request_id="c2")
    assert (await catalog.cancel(claimed)) == (await catalog.cancel(claimed))
    artifact = await catalog.commit(claimed)
    clock.advance(1)
    assert await catalog.commit(claimed) == artifact
    with lost:
        await catalog.commit(claimed, "other bytes")
    assert await catalog.register(request_id="r") == await catalog.get(first)
    types = await catalog.event_types()
    assert types.count("artifact.committed") == 1 and types.count("build.requeued") == 1


async def test_watch_shows_each_state_and_ends(catalog, context) -> None:
    context.poll = 60
    build = await catalog.register()
    states: list[int] = []

    async def watch() -> None:
        async for update in catalog.rpc.stub.WatchBuild(pb.WatchBuildRequest(id=build.id)):
            states.append(update.build.state)

    watching = asyncio.create_task(watch())
    async with asyncio.timeout(10):
        while not states:
            await asyncio.sleep(0.01)
        claimed = await catalog.claim()
        while states[-1] != RUNNING:
            await asyncio.sleep(0.01)
        await catalog.commit(claimed)
        await watching
    assert states == [PENDING, RUNNING, SUCCEEDED]


async def test_lists_are_paged(catalog) -> None:
    ids = [(await catalog.register(f"n{i}", f"{i}")).id for i in range(5)]
    seen, token = [], ""
    while True:
        page = await catalog.rpc.ListBuilds(pb.ListBuildsRequest(page_size=2, page_token=token))
        seen += [b.id for b in page.builds]
        token = page.next_page_token
        if not token:
            break
    assert seen == ids[::-1]
    listed = await catalog.rpc.ListBuilds(pb.ListBuildsRequest(states=[SUCCEEDED]))
    assert not listed.builds
    with refused("BAD_PAGE_TOKEN", "INVALID_ARGUMENT"):
        await catalog.rpc.ListBuilds(pb.ListBuildsRequest(page_token="x"))
    with refused("BAD_PAGE_SIZE", "INVALID_ARGUMENT"):
        await catalog.rpc.ListArtifacts(pb.ListArtifactsRequest(page_size=-1))
    with refused("UNKNOWN_ARTIFACT", "NOT_FOUND"):
        await catalog.rpc.GetArtifact(pb.GetArtifactRequest(target=ArtifactTarget(name="none", version="v1")))
