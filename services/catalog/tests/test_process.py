"""The catalog as a process: start, end, kill -9."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from marin.catalog.v1 import catalog_service_pb2 as pb

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def address(tmp_path: Path) -> str:
    """Port on which this test's catalogs listen, one after the other."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{s.getsockname()[1]}"


@pytest.fixture
def start(tmp_path: Path, address: str) -> Iterator[Start]:
    """Starts a catalog on the test's workspace; returns when it serves."""
    started: list[subprocess.Popen[bytes]] = []

    def run(nats_url: str = "") -> subprocess.Popen[bytes]:
        ready = tmp_path / "ready"
        ready.unlink(missing_ok=True)
        command = [
            sys.executable,
            "-m",
            "marin_catalog",
            "--workspace",
            str(tmp_path / "w"),
            "--ready-file",
            str(ready),
        ]
        env = os.environ | {"MARIN_CATALOG_PORT": address.rpartition(":")[2], "MARIN_NATS_URL": nats_url}
        process = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)
        started.append(process)
        deadline = time.monotonic() + 60
        while not (ready.exists() and ready.read_text()):
            assert process.poll() is None, f"the catalog ended with {process.returncode}"
            assert time.monotonic() < deadline, "the catalog does not start"
            time.sleep(0.02)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()


async def test_what_was_committed_before_kill_9_is_there_and_is_announced_afterwards(
    start: Start, address, api, nats, until
) -> None:
    nats.kill()  # so that nothing is published before the crash
    process = start(nats.url)
    client = api(address)
    made = await client.make("a", "a")
    running = await client.register("b", "b") and await client.claim()
    process.kill()
    process.wait()

    nats.start()
    process = start(nats.url)
    got = await client.rpc.GetArtifact(pb.GetArtifactRequest(target=made.target))
    assert got.artifact == made
    assert await client.beat(running) is False  # the lease lives on
    after = await client.commit(running)

    async def all_announced() -> bool:
        try:
            return len(await nats.messages()) == 6
        except Exception:
            return False  # no stream yet

    await until(all_announced)
    log = (await client.rpc.ListEvents(pb.ListEventsRequest())).events
    messages = await nats.messages()
    assert [i for i, _, _ in messages] == [e.id for e in log]
    announced = [p["artifact"]["content_digest"] for _, subject, p in messages if subject.endswith("committed")]
    assert announced == [made.content_digest, after.content_digest]
    await client.rpc.close()


async def test_sigterm_ends_waiting_calls_and_the_process(start: Start, address, api) -> None:
    process = start()
    client = api(address)
    build = await client.register()
    claimed = await client.claim()
    watch = client.rpc.stub.WatchBuild(pb.WatchBuildRequest(id=build.id))
    assert (await watch.read()).build.id == build.id
    process.send_signal(signal.SIGTERM)
    with pytest.raises(grpc.RpcError) as cut:
        while await watch.read() is not grpc.aio.EOF:
            pass
    assert cut.value.code() is grpc.StatusCode.UNAVAILABLE
    assert process.wait(20) == 0
    start()
    assert (await client.commit(claimed)).build_id == build.id
    await client.rpc.close()


@pytest.mark.parametrize(
    ("flags", "said"),
    (
        (["--workspace", "{tmp}/file/w"], "--workspace"),
        (["--catalog-url", "postgresql://u:geheim@127.0.0.1:1/d"], "127.0.0.1:1"),
    ),
)
def test_a_start_that_cannot_work_is_one_paragraph_with_the_fix(tmp_path: Path, flags: list[str], said: str) -> None:
    (tmp_path / "file").touch()
    flags = [f.format(tmp=tmp_path) for f in flags]
    command = [sys.executable, "-m", "marin_catalog", "--port", "0", "--workspace", str(tmp_path), *flags]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert "fix:" in ended.stderr and said in ended.stderr
    assert "Traceback" not in ended.stderr and "geheim" not in ended.stderr
