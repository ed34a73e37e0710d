"""Adoption, lineage, the event log and runs, over real gRPC."""

import asyncio

import pytest
from google.protobuf.json_format import MessageToDict

from marin.catalog.v1 import catalog_service_pb2 as pb
from marin.catalog.v1.catalog_pb2 import Run
from marin.common.v1.artifact_pb2 import ArtifactTarget, InputRef
from marin_chassis.engine import EngineError


def target(name: str, version: str = "v1", project: str = "") -> ArtifactTarget:
    return ArtifactTarget(name=name, version=version, project=project)


def refs(*artifacts) -> list[InputRef]:
    return [
        InputRef(role=f"r{i}", address=f"{a.target.name}@{a.target.version}", content_digest=a.content_digest)
        for i, a in enumerate(artifacts)
    ]


async def adopt(catalog, source: ArtifactTarget, to: ArtifactTarget):
    return (await catalog.rpc.AdoptArtifact(pb.AdoptArtifactRequest(source=source, target=to))).artifact


async def lineage(catalog, name: str, direction: int) -> list[tuple[str, int]]:
    request = pb.GetLineageRequest(target=target(name), direction=direction)
    return [(n.artifact.target.name, n.distance) for n in (await catalog.rpc.GetLineage(request)).nodes]


async def test_adoption_gives_a_second_address_to_the_same_bytes(catalog) -> None:
    docs = await catalog.make("docs", "d", kind="documents")
    made = await catalog.make("a", "a", inputs=refs(docs))
    adopted = await adopt(catalog, target("a"), target("b", "v2"))
    assert (adopted.content_digest, adopted.uri, adopted.adopted_from) == (made.content_digest, made.uri, "a@v1")
    assert await adopt(catalog, target("a"), target("b", "v2")) == adopted
    assert (await catalog.register("b", "a", version="v2")).id == made.build_id  # nothing to do at this address
    manifest = (await catalog.rpc.GetManifest(pb.GetManifestRequest(target=target("b", "v2")))).manifest
    assert manifest.content[0].path == "data.txt"
    assert await lineage(catalog, "docs", pb.LINEAGE_DIRECTION_DOWN) == [("a", 1), ("b", 1)]
    found = await catalog.rpc.FindArtifact(pb.FindArtifactRequest(build_key="a".ljust(64, "0")))
    assert found.artifact.target.name == "a"
    listed = await catalog.rpc.ListArtifacts(pb.ListArtifactsRequest(kinds=["tokens"]))
    assert [a.target.name for a in listed.artifacts] == ["b", "a"]
    assert (await catalog.event_types())[-1] == "artifact.adopted"


async def test_adoption_refuses_drift_and_unknown_sources_and_moves_mutable_versions(catalog) -> None:
    await catalog.make("a", "a", "1")
    await catalog.make("b", "b", "2")
    for reason, source, to in (
        ("ADDRESS_DRIFT", target("a"), target("b")),
        ("UNKNOWN_ARTIFACT", target("c"), target("d")),
        ("OTHER_PROJECT", target("a"), target("a", project="other")),
    ):
        with pytest.raises(EngineError, check=lambda e, r=reason: e.reason == r):
            await adopt(catalog, source, to)
    first = await adopt(catalog, target("a"), target("x", "dev"))
    second = await adopt(catalog, target("b"), target("x", "dev"))
    assert first.content_digest != second.content_digest
    assert (await catalog.rpc.GetArtifact(pb.GetArtifactRequest(target=target("x", "dev")))).artifact == second


async def test_lineage_in_both_directions(catalog) -> None:
    docs = await catalog.make("docs", "1", "1", kind="documents")
    tokenizer = await catalog.make("tokenizer", "2", "2", kind="tokenizer", inputs=refs(docs))
    tokens = await catalog.make("tokens", "3", "3", inputs=refs(docs, tokenizer))
    await catalog.make("policy", "4", "4", kind="policy", inputs=refs(tokens))
    up = await lineage(catalog, "policy", pb.LINEAGE_DIRECTION_UP)
    assert up == [("tokens", 1), ("docs", 2), ("tokenizer", 2)]
    assert up == await lineage(catalog, "policy", pb.LINEAGE_DIRECTION_UNSPECIFIED)
    down = await lineage(catalog, "docs", pb.LINEAGE_DIRECTION_DOWN)
    assert down == [("tokenizer", 1), ("tokens", 1), ("policy", 2)]


async def test_lineage_names_the_very_commit_of_a_mutable_version(catalog) -> None:
    old = await catalog.make("docs", "1", "old", version="dev", kind="documents")
    tokens = await catalog.make("tokens", "2", inputs=refs(old))
    new = await catalog.make("docs", "1", "new", version="dev", kind="documents")
    (node,) = (await catalog.rpc.GetLineage(pb.GetLineageRequest(target=tokens.target))).nodes
    assert node.artifact.content_digest == old.content_digest != new.content_digest


async def test_events_are_a_dense_log_that_can_be_followed_from_anywhere(catalog, context) -> None:
    context.poll = 60
    await catalog.make("a", "a")
    seen: list[pb.WatchEventsResponse] = []

    async def follow() -> None:
        async for response in catalog.rpc.stub.WatchEvents(pb.WatchEventsRequest(from_sequence=2)):
            seen.append(response)

    following = asyncio.create_task(follow())
    async with asyncio.timeout(10):
        while len(seen) < 2:
            await asyncio.sleep(0.01)
        await catalog.make("b", "b", project="other")
        while len(seen) < 5:
            await asyncio.sleep(0.01)
    following.cancel()
    assert [r.event.sequence for r in seen] == [2, 3, 4, 5, 6]
    log = (await catalog.rpc.ListEvents(pb.ListEventsRequest(from_sequence=2, page_size=3))).events
    assert list(log) == [r.event for r in seen[:3]]
    other = (await catalog.rpc.ListEvents(pb.ListEventsRequest(project="other"))).events
    assert [e.sequence for e in other] == [4, 5, 6]
    committed = log[1]
    assert committed.subject == "marin.artifacts.v1.default.tokens.committed"
    payload = MessageToDict(committed.payload)
    assert payload["id"] == committed.id and payload["sequence"] == 3 and payload["type"] == "artifact.committed"
    assert payload["artifact"]["address"] == "a@v1" and payload["artifact"]["content_digest"].startswith("sha256:")


async def test_runs_change_by_compare_and_set(catalog) -> None:
    async def create(**fields):
        fields = {"id": "r-1", "name": "micro", "state": "running", "body": b"1"} | fields
        return (await catalog.rpc.CreateRun(pb.CreateRunRequest(run=Run(**fields)))).run

    async def update(run: Run, **fields):
        for name, value in fields.items():
            setattr(run, name, value)
        return (await catalog.rpc.UpdateRun(pb.UpdateRunRequest(run=run))).run

    run = await create()
    assert (run.revision, run.project) == (1, "default") and await create(body=b"other") == run
    second = await update(await create(), body=b"2")
    assert second.revision == 2 and second.body == b"2"
    assert await update(await create(body=b"x") and Run(id="r-1", state="running", body=b"2", revision=1)) == second
    with pytest.raises(EngineError, check=lambda e: (e.reason, e.code) == ("RUN_CHANGED", "ABORTED")):
        await update(run, body=b"3")
    done = await update(second, state="succeeded")
    assert (done.state, done.revision, done.create_time) == ("succeeded", 3, run.create_time)
    await create(id="r-2", state="failed")

    async def get(run_id: str) -> Run:
        return (await catalog.rpc.GetRun(pb.GetRunRequest(id=run_id))).run

    assert (await get("r-2")).id == "r-2" and (await get("r-1")) == done
    for run_id, reason in (("r-", "AMBIGUOUS_RUN"), ("x", "UNKNOWN_RUN"), ("", "UNKNOWN_RUN")):
        with pytest.raises(EngineError, check=lambda e, r=reason: e.reason == r):
            await get(run_id)
    for bad in ({"id": ""}, {"id": "r-3", "state": "odd"}):
        with pytest.raises(EngineError, check=lambda e: e.reason == "BAD_RUN"):
            await create(**bad)
    listed = await catalog.rpc.ListRuns(pb.ListRunsRequest(states=["failed"]))
    assert [r.id for r in listed.runs] == ["r-2"]
    events = (await catalog.rpc.ListEvents(pb.ListEventsRequest())).events
    assert [e.subject for e in events] == [
        f"marin.runs.v1.default.{s}" for s in ("running", "running", "succeeded", "failed")
    ]
    assert [MessageToDict(e.payload)["run"]["revision"] for e in events] == [1, 2, 3, 1]


async def test_racing_updates_of_a_run_have_one_winner(catalog) -> None:
    run = (await catalog.rpc.CreateRun(pb.CreateRunRequest(run=Run(id="r", state="running")))).run

    async def write(i: int) -> bool:
        mine = Run(id="r", state="running", body=bytes([i]), revision=run.revision)
        try:
            await catalog.rpc.UpdateRun(pb.UpdateRunRequest(run=mine))
        except EngineError as e:
            assert e.reason == "RUN_CHANGED"
            return False
        return True

    assert (await asyncio.gather(*(write(i) for i in range(6)))).count(True) == 1
