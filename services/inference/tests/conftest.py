"""One service process with one engine for the whole run: starting vLLM costs more than all the tests."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from marin.inference.v1 import inference_service_pb2_grpc as rpc

sys.path.insert(0, str(Path(__file__).parent))  # the helpers beside this file

import tiny
from client import Served


@pytest.fixture(scope="session")
def exports(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Exports of the same shape with other weights, by seed."""
    root = tmp_path_factory.mktemp("exports")
    return {seed: tiny.export(root / f"seed-{seed}", seed) for seed in (1, 2, 3)}


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("service")
    ready, log = root / "port", root / "service.log"
    args = ["--port", "0", "--ready-file", str(ready), "--spool", str(root / "spool"), "--max-engines", "1"]
    with open(log, "wb") as out:
        process = subprocess.Popen([sys.executable, "-m", "marin_inference", *args], stdout=out, stderr=out)
    deadline = time.time() + 60
    while not (ready.exists() and ready.read_text()):
        assert process.poll() is None and time.time() < deadline, log.read_text()
        time.sleep(0.05)
    port = int(ready.read_text())
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    yield Served(process, port, channel, rpc.InferenceServiceStub(channel), log)
    engine = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    assert not any(_alive(int(pid)) for pid in engine), "the engine outlived its service"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def fresh(served: Served, exports: dict[int, Path]) -> Served:
    """The service with policy ``p`` at version 1 of the first export."""
    served.load("p", exports[1], "digest-1", version=1)
    return served
