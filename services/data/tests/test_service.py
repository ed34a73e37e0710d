"""The service's face over real gRPC, and the engine as the process that a worker starts."""

import json
import os
import signal
import subprocess
import sys
import time

import grpc
import pytest

from marin.catalog.v1 import catalog_pb2, catalog_service_pb2
from marin.data.v1 import data_pb2, data_service_pb2, data_service_pb2_grpc
from marin_chassis.interceptor import ServiceInterceptor
from marin_chassis.stage import Jobs
from marin_data.setup import STAGE

SOURCES = [{"sample": {"name": "corpus/folio.jsonl.gz"}}]
PROBLEMS = {
    "train": {"sample": {"name": "problems/train.jsonl"}},
    "validation": {"sample": {"name": "problems/test.jsonl"}},
}


class Register:
    """Stands where the catalog is, which has its own tests: notes what is registered."""

    def __init__(self):
        self.requests = []

    async def RegisterBuild(self, request):
        self.requests.append(request)
        build = catalog_pb2.Build(id=f"b{len(self.requests)}", kind=request.kind, build_key=request.build_key)
        return catalog_service_pb2.RegisterBuildResponse(build=build)


@pytest.fixture
async def service():
    register = Register()
    server = grpc.aio.server(interceptors=[ServiceInterceptor()])
    STAGE.add(server, Jobs(STAGE, register))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield data_service_pb2_grpc.DataServiceStub(channel), register
    await server.stop(0)


def pipeline(**spec):
    target = {"project": "default", "name": "documents/web", "version": "v1"}
    spec = data_pb2.RunPipelineSpec(sources=SOURCES, **spec)
    return data_service_pb2.CreateRunPipelineJobRequest(request_id="r1", target=target, spec=spec)


async def test_each_create_call_registers_its_kind(service):
    stub, register = service
    target = {"project": "default", "name": "a", "version": "v1"}
    job = (await stub.CreateRunPipelineJob(pipeline())).job
    await stub.CreateConvertConversationsJob(
        data_service_pb2.CreateConvertConversationsJobRequest(
            target=target,
            spec=data_pb2.ConvertConversationsSpec(sources=[{"sample": {"name": "conversations/train.jsonl"}}]),
        )
    )
    await stub.CreateConvertProblemsJob(
        data_service_pb2.CreateConvertProblemsJobRequest(target=target, spec=data_pb2.ConvertProblemsSpec(**PROBLEMS))
    )
    assert [r.kind for r in register.requests] == ["documents", "conversations", "problems"]
    assert (job.id, job.kind) == ("b1", "documents")
    assert {k.name for k in STAGE.kinds} == {r.kind for r in register.requests}


async def test_workers_runner_and_samples_are_no_part_of_the_identity(service):
    stub, _ = service
    keys = [
        (await stub.CreateRunPipelineJob(pipeline(**spec))).job.build_key
        for spec in (
            {},
            {"workers": 8, "runner": "RUNNER_PROCESSES", "sample_count": 5},
            {"shards": 2},
            {"dedup": "DEDUP_EXACT"},
        )
    ]
    assert keys[0] == keys[1] and len(set(keys)) == 3


async def test_bad_spec_is_invalid_argument_and_registers_nothing(service):
    stub, register = service
    request = pipeline()
    request.spec.sources[0].sample.name = "corpus/none.jsonl.gz"
    with pytest.raises(grpc.aio.AioRpcError) as e:
        await stub.CreateRunPipelineJob(request)
    assert e.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "sources[0]: there is no sample 'corpus/none.jsonl.gz'" in e.value.details()
    assert not register.requests


def start(run, kind, spec):
    job = run.job(kind, spec)
    (job.out.parent / "job.json").write_text(json.dumps({"kind": kind, "spec": job.spec, "inputs": {}}))
    log = open(job.record / "log.txt", "wb")  # noqa: SIM115
    return job, subprocess.Popen([sys.executable, "-m", "marin_data.engine", job.out.parent], stdout=log, stderr=log)


def test_engine_process_writes_its_result_or_its_error(run, tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(b"\x1f\x8b\x08")
    good, one = start(run, "documents", {"sources": SOURCES, "shards": 2})
    bad, two = start(run, "documents", {"sources": [{"file": {"path": str(tmp_path / "a.jsonl.gz")}}]})
    assert (one.wait(120), two.wait(120)) == (0, 1)
    result = json.loads((good.record / "result.json").read_text())
    assert result["headline"] == "380 documents (0.87 MB), 0 of 380 dropped"
    assert result["summary"]["documents"] == 380
    error = json.loads((bad.record / "error.json").read_text())
    assert (error["code"], error["reason"], error["metadata"]["byte"]) == ("DATA_LOSS", "TRUNCATED_FILE", "3")


def test_stop_request_ends_the_engine_and_its_workers(run, tmp_path):
    line = json.dumps({"text": "words and " * 400}) + "\n"
    for i in range(4):
        (tmp_path / f"w{i}.jsonl").write_text(line * 20_000)
    job, process = start(run, "documents", {"sources": [{"file": {"path": f"{tmp_path}/w*.jsonl"}}], "workers": 2})
    rows = job.scratch / "pipeline" / "rows"
    deadline = time.monotonic() + 90
    while not (rows.is_dir() and any(p.stat().st_size for p in rows.iterdir())):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    workers = [int(p) for p in os.listdir("/proc") if p.isdigit() and _parent(p) == process.pid]
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 8
    assert workers
    while any(os.path.exists(f"/proc/{pid}") and _state(pid) != "Z" for pid in workers):
        assert time.monotonic() < deadline, "Beam's workers outlive the engine"
        time.sleep(0.1)


def _parent(pid) -> int:
    try:
        return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _state(pid) -> str:
    try:
        return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
