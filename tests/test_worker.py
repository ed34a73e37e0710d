"""The worker loop against a real catalog, with a toy engine: commit, crash, failure, cancel, a dead holder, logs."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from whole_system import ROOT

from marin.catalog.v1 import catalog_service_pb2 as pb
from marin.common.v1 import artifact_pb2, job_pb2, job_service_pb2 as job_pb
from marin.data.v1 import data_pb2, data_service_pb2
from marin_chassis.client import CatalogClient
from marin_chassis.config import ServiceConfig
from marin_chassis.engine import EngineError
from marin_chassis.stage import JobKind, Jobs, JobServicer, Stage
from marin_chassis.worker import Worker

STAGE = Stage(
    "data",
    0,
    "toy_stage",
    data_service_pb2.DESCRIPTOR.services_by_name["DataService"],
    (JobKind("documents", lambda spec, roles: None),),
    lambda server, jobs: None,
)


@pytest.fixture
async def world(tmp_path, monkeypatch):
    """A catalog process, a worker in this process, and the calls of a client."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    ready = tmp_path / "ready"
    env = {**os.environ, "MARIN_READY_FILE": str(ready), "MARIN_WORKSPACE": str(tmp_path)}
    catalog = subprocess.Popen(
        [sys.executable, "-m", "marin_catalog", "--port", "0"], env=env, stderr=subprocess.DEVNULL
    )
    while not (ready.exists() and ready.read_text()):
        await asyncio.sleep(0.02)
        assert catalog.poll() is None
    yield World(tmp_path, f"127.0.0.1:{ready.read_text()}")
    catalog.terminate()
    catalog.wait()


class World:
    def __init__(self, root: Path, endpoint: str) -> None:
        self.config = ServiceConfig(workspace=str(root), catalog=endpoint, lease_seconds=1.0)
        self.catalog = CatalogClient(endpoint)
        self.jobs = Jobs(STAGE, self.catalog)
        self.service = JobServicer(self.jobs, self.catalog, self.config)

    def worker(self) -> asyncio.Task:
        return asyncio.create_task(
            Worker("toy_stage", {"documents": data_pb2.RunPipelineSpec}, self.config, self.catalog).run()
        )

    async def create(self, act: str) -> job_pb2.Job:
        request = data_service_pb2.CreateRunPipelineJobRequest(
            target=artifact_pb2.ArtifactTarget(name=f"documents/{act}", version="v1"),
            spec=data_pb2.RunPipelineSpec(sources=[data_pb2.Source(name=act)]),
        )
        return await self.jobs.create("documents", request)

    async def until(self, job_id: str, *states: int) -> job_pb2.Job:
        async with asyncio.timeout(30):
            while True:
                job = (await self.service.GetJob(job_pb.GetJobRequest(id=job_id), None)).job
                if job.state in states:
                    return job
                await asyncio.sleep(0.02)

    async def artifact(self, job: job_pb2.Job):
        return (await self.catalog.GetArtifact(pb.GetArtifactRequest(target=job.target))).artifact

    async def log(self, job_id: str, attempt: int = 0) -> str:
        pieces = [p.data async for p in self.service.TailLogs(job_pb.TailLogsRequest(id=job_id, attempt=attempt), None)]
        return b"".join(pieces).decode()


DONE, FAILED, CANCELLED = job_pb2.JOB_STATE_SUCCEEDED, job_pb2.JOB_STATE_FAILED, job_pb2.JOB_STATE_CANCELLED


async def test_success_is_one_committed_artifact_with_its_facts(world):
    task = world.worker()
    job = await world.until((await world.create("ok")).id, DONE, FAILED)
    artifact = await world.artifact(job)
    assert artifact.content_digest == job.content_digest and artifact.headline == "the answer" and artifact.files == 1
    assert artifact.summary["answer"] == 42
    assert (Path(artifact.uri.removeprefix("file://")) / "out/answer.txt").read_text() == "42\n"
    assert "acting ok" in await world.log(job.id)
    assert (await world.create("ok")).id == job.id, "the same again is the same job"
    task.cancel()


async def test_a_killed_engine_is_tried_again_with_its_scratch(world):
    task = world.worker()
    job = await world.until((await world.create("crash-once")).id, DONE, FAILED)
    assert job.state == DONE and job.attempt == 2
    attempts = (await world.catalog.ListAttempts(pb.ListAttemptsRequest(build_id=job.id))).attempts
    assert [a.outcome for a in attempts] == ["failed", "succeeded"]
    assert "signal 9" in attempts[0].error.message and "acting crash-once" in attempts[0].log_tail
    assert "acting" in await world.log(job.id, 1)
    task.cancel()


async def test_a_typed_failure_is_final_and_keeps_reason_place_and_fix(world):
    from marin_chassis.errors import from_status

    task = world.worker()
    job = await world.until((await world.create("fail")).id, DONE, FAILED)
    error = from_status(job.error)
    assert (job.state, job.attempt, error.reason, error.hint) == (FAILED, 1, "BAD_ROW", "mend the line")
    assert "engine.py:" in error.metadata["where"]
    with pytest.raises(EngineError, match="documents/fail"):
        await world.artifact(job)
    task.cancel()


async def test_an_engine_that_writes_nothing_is_a_failure(world):
    task = world.worker()
    job = await world.until((await world.create("empty")).id, DONE, FAILED)
    assert job.state == FAILED and "without writing a file" in job.error.message
    task.cancel()


async def test_cancel_reaches_the_engine_process(world):
    task = world.worker()
    job = await world.create("hang")
    await world.until(job.id, job_pb2.JOB_STATE_RUNNING)
    async with asyncio.timeout(20):
        while not _engines(world):
            await asyncio.sleep(0.05)
    await world.service.CancelJob(job_pb.CancelJobRequest(id=job.id, reason="test"), None)
    assert (await world.until(job.id, DONE, FAILED, CANCELLED)).state == CANCELLED
    assert not _engines(world)
    task.cancel()


async def test_the_build_of_a_dead_worker_is_taken_over_and_its_own_write_is_refused(world):
    """The first holder never beats again; when it comes back, the epoch refuses it."""
    from google.protobuf.duration_pb2 import Duration

    job = await world.create("ok")
    ttl = Duration(nanos=300_000_000)
    zombie = (
        await world.catalog.ClaimBuild(pb.ClaimBuildRequest(kinds=["documents"], holder="zombie", host="x", ttl=ttl))
    ).build
    task = world.worker()
    done = await world.until(job.id, DONE, FAILED)
    assert done.state == DONE and done.attempt == 2
    with pytest.raises(EngineError) as e:
        await world.catalog.Heartbeat(pb.HeartbeatRequest(build_id=job.id, epoch=zombie.epoch, ttl=ttl), patience=0)
    assert e.value.reason == "LEASE_LOST"
    task.cancel()


def _engines(world) -> list[str]:
    found = []
    for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = cmdline.read_bytes().decode()
        except OSError:
            continue
        if "toy_stage.engine" in command and world.config.workspace in command:
            found.append(command)
    return found
