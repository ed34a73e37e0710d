"""The service's face over real gRPC, and the engine as the process that a worker starts."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import grpc
import pytest
from endpoint import Endpoint
from jobs import AIME, Door, make_job, oracle, spec

from marin.catalog.v1 import catalog_pb2, catalog_service_pb2
from marin.evaluation.v1 import evaluation_pb2, evaluation_service_pb2, evaluation_service_pb2_grpc
from marin_chassis.interceptor import ServiceInterceptor
from marin_chassis.stage import Jobs
from marin_evaluation.setup import STAGE


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
        yield evaluation_service_pb2_grpc.EvaluationServiceStub(channel), register
    await server.stop(0)


def request(task=None, **fields):
    return evaluation_service_pb2.CreateEvaluateJobRequest(
        request_id="r1",
        target={"project": "default", "name": "evals/test", "version": "v1"},
        spec=evaluation_pb2.EvaluateSpec(tasks=[{**AIME, **(task or {})}], **fields),
        inputs=[{"role": "policy", "address": "policies/test@v1", "content_digest": "sha256:abc"}],
    )


async def test_create_registers_the_job(service):
    stub, register = service
    job = (await stub.CreateEvaluateJob(request())).job
    assert (job.id, job.kind) == ("b1", "evaluation")
    assert [r.kind for r in register.requests] == [k.name for k in STAGE.kinds]


async def test_what_changes_no_answer_is_no_part_of_the_identity(service):
    stub, _ = service
    asked = (
        request(),
        request(num_concurrent=2, min_coverage=0.9, task_timeout_s=9, endpoint_patience_s=9),
        request(max_model_len=512),
        request({"temperature": 0.5}),
    )
    keys = [(await stub.CreateEvaluateJob(r)).job.build_key for r in asked]
    assert keys[0] == keys[1] and len(set(keys)) == 3


async def test_a_bad_spec_is_invalid_argument_and_registers_nothing(service):
    stub, register = service
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await stub.CreateEvaluateJob(request({"task_set": "mmlu"}))
    assert failed.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "tasks[0].task_set is 'mmlu'" in failed.value.details()
    assert not register.requests


def test_a_killed_engine_leaves_no_harness_behind(tmp_path):
    """SIGKILL gives the engine no chance to clean up; the driver must end by itself, and its sandboxes with it."""
    asked, release = threading.Event(), threading.Event()

    def slow(prompt: str) -> str:
        asked.set()
        release.wait(60)
        return oracle(prompt)

    with Endpoint(slow) as url, Door([url]) as inference:
        job = make_job(tmp_path, spec(AIME), inference)
        attempt = str(job.out.parent)
        with open(tmp_path / "log.txt", "wb") as log:
            engine = subprocess.Popen(
                [sys.executable, "-m", "marin_evaluation.engine", attempt], stdout=log, stderr=log
            )
        assert asked.wait(60), (tmp_path / "log.txt").read_text()
        drivers = [p for p in _processes() if attempt in _command(p) and p != engine.pid]
        engine.send_signal(signal.SIGKILL)
        assert engine.wait(10) == -signal.SIGKILL
        assert drivers
        deadline = time.monotonic() + 10
        while any(attempt in _command(p) for p in drivers):
            assert time.monotonic() < deadline, "the driver outlives the engine"
            time.sleep(0.05)
        release.set()
    assert not (job.record / "result.json").exists()


def test_the_engine_process_writes_its_result_or_its_error(tmp_path):
    with Endpoint(oracle) as url, Door([url]) as inference:
        codes = []
        for name, given in (("good", spec({**AIME, "limit": 1})), ("bad", spec({**AIME, "num_fewshot": 1}))):
            job = make_job(tmp_path / name, given, inference)
            with open(job.record / "log.txt", "wb") as log:
                command = [sys.executable, "-m", "marin_evaluation.engine", str(job.out.parent)]
                codes.append(subprocess.run(command, stdout=log, stderr=log, timeout=60).returncode)
    assert codes == [0, 1]
    result = json.loads((tmp_path / "good" / "attempt-1" / "record" / "result.json").read_text())
    assert result["headline"] == "aime-smoke 100.0% (1/1 scored)"
    error = json.loads((tmp_path / "bad" / "attempt-1" / "record" / "error.json").read_text())
    assert (error["code"], error["reason"]) == ("INVALID_ARGUMENT", "TOO_MANY_EXAMPLES")


def _processes() -> list[int]:
    return [int(p) for p in os.listdir("/proc") if p.isdigit()]


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().replace(b"\0", b" ").decode()
    except OSError:
        return ""
