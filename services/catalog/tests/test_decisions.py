"""What a person decides about an address: another meaning for it, a name for the newest; and what nobody needs."""

import pytest

from marin.catalog.v1 import catalog_service_pb2 as pb
from marin.common.v1.artifact_pb2 import ArtifactTarget, InputRef
from marin_chassis.engine import EngineError


def target(version: str, supersedes: str = "", name: str = "a") -> ArtifactTarget:
    return ArtifactTarget(name=name, version=version, supersedes=supersedes)


def refused(reason: str):
    return pytest.raises(EngineError, check=lambda e: e.reason == reason and bool(e.hint))


async def get(catalog, version: str = "v1"):
    return (await catalog.rpc.GetArtifact(pb.GetArtifactRequest(target=target(version)))).artifact


async def replaced(catalog, key: str, data: str, supersedes: str):
    """Registers for a@v1 with leave to take the place of ``supersedes``, and commits."""
    request = pb.RegisterBuildRequest(kind="tokens", target=target("v1", supersedes), build_key=key.ljust(64, "0"))
    build = (await catalog.rpc.RegisterBuild(request)).build
    claimed = await catalog.claim()
    assert claimed and claimed.id == build.id
    return await catalog.commit(claimed, data)


async def test_an_address_changes_its_meaning_only_by_name_of_what_it_held(catalog) -> None:
    old = await catalog.make("a", "1", "old")
    user = await catalog.make(
        "user", "2", inputs=[InputRef(role="r", address="a@v1", content_digest=old.content_digest)]
    )
    with refused("ADDRESS_DRIFT"):
        await catalog.register("a", "3")
    request = pb.RegisterBuildRequest(kind="tokens", target=target("v1", "sha256:other"), build_key="3".ljust(64, "0"))
    with refused("ADDRESS_DRIFT"):
        await catalog.rpc.RegisterBuild(request)
    new = await replaced(catalog, "3", "new", old.content_digest)
    assert await get(catalog) == new and new.content_digest != old.content_digest
    lineage = await catalog.rpc.GetLineage(pb.GetLineageRequest(target=target("v1", name="user")))
    assert [n.artifact.content_digest for n in lineage.nodes] == [old.content_digest] and user
    back = await replaced(catalog, "1", "old", new.content_digest)  # the first key again
    assert (back.content_digest, back.attempt) == (old.content_digest, 2)


async def test_the_same_bytes_by_another_key_take_the_address_too(catalog) -> None:
    old = await catalog.make("a", "1", "same")
    new = await replaced(catalog, "3", "same", old.content_digest)
    assert new.content_digest == old.content_digest and (await get(catalog)).build_key == "3".ljust(64, "0")


async def test_leave_to_replace_is_lost_when_the_address_changed_meanwhile(catalog) -> None:
    old = await catalog.make("a", "1", "old")
    request = pb.RegisterBuildRequest(
        kind="tokens", target=target("v1", old.content_digest), build_key="3".ljust(64, "0")
    )
    await catalog.rpc.RegisterBuild(request)
    slow = await catalog.claim()
    await replaced(catalog, "4", "other", old.content_digest)
    with refused("ADDRESS_TAKEN"):
        await catalog.commit(slow, "late")


async def test_adoption_may_replace_by_name_too(catalog) -> None:
    old, other = await catalog.make("a", "1", "old"), await catalog.make("b", "2", "other")
    request = pb.AdoptArtifactRequest(source=other.target, target=target("v1"))
    with refused("ADDRESS_DRIFT"):
        await catalog.rpc.AdoptArtifact(request)
    request.target.supersedes = old.content_digest
    adopted = (await catalog.rpc.AdoptArtifact(request)).artifact
    assert await get(catalog) == adopted and adopted.content_digest == other.content_digest
    assert (await catalog.rpc.AdoptArtifact(request)).artifact == adopted


async def test_latest_and_final_find_the_newest_and_say_what_it_is(catalog) -> None:
    for key, version in (("1", "v1"), ("2", "v2"), ("3", "dev")):
        await catalog.make("a", key, key, version=version)
    assert ((await get(catalog, "latest")).target.version, (await get(catalog, "final")).target.version) == (
        "dev",
        "v2",
    )
    manifest = await catalog.rpc.GetManifest(pb.GetManifestRequest(target=target("final")))
    assert manifest.manifest.content
    with refused("UNKNOWN_ARTIFACT"):
        await catalog.rpc.GetArtifact(pb.GetArtifactRequest(target=target("latest", name="none")))
    for alias in ("latest", "final"):
        with refused("ALIAS_TARGET"):
            await catalog.register("a", "9", version=alias)


async def test_failed_attempts_and_overwritten_commits_are_unreferenced(catalog, clock) -> None:
    docs = await catalog.make("docs", "1", "one", version="dev")
    used = [InputRef(role="r", address="docs@dev", content_digest=docs.content_digest)]
    await catalog.make("user", "2", inputs=used)
    idle = await catalog.make("docs", "3", "two", version="dev")
    await catalog.make("docs", "4", "three", version="dev")
    clock.advance(1)
    failed = await catalog.register("x", "5") and await catalog.claim()
    await catalog.beat(failed, uri="file:///store/failed")
    await catalog.fail(failed)
    running = await catalog.claim()
    await catalog.beat(running, uri="file:///store/running")
    found = (await catalog.rpc.ListUnreferenced(pb.ListUnreferencedRequest())).unreferenced
    assert [(u.uri, u.target.name) for u in found] == [(idle.uri, "docs"), ("file:///store/failed", "x")]
    assert "newer commit" in found[0].reason and "failed" in found[1].reason


async def test_facts_of_an_attempt_are_kept(catalog) -> None:
    build = await catalog.register() and await catalog.claim()
    await catalog.beat(build, facts={"python": "3.12.1", "git_revision": "abc"})
    await catalog.beat(build, facts={"git_dirty": "true"})
    await catalog.fail(build, retryable=False)
    (attempt,) = await catalog.attempts(build)
    assert dict(attempt.facts) == {"python": "3.12.1", "git_revision": "abc", "git_dirty": "true"}
