"""One engine process: started, spoken to over a unix socket, watched, ended."""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import grpc

from marin.inference.v1 import inference_service_pb2_grpc as rpc
from marin_chassis.engine import EngineError
from marin_chassis.errors import from_rpc
from marin_inference.core.exports import Options

log = logging.getLogger("marin.inference")
_TAIL = 4000
# Below this the threads of one operator wait for each other longer than they work: at 0.7 M parameters one thread gives
# 13,700 tokens/s and two give 11,000.
_ONE_THREAD_BELOW = 20_000_000


@dataclass(frozen=True)
class HostSettings:
    """What all engine processes share."""

    spool: Path
    http_host: str
    http_port: int
    advertise_host: str
    start_seconds: float
    threads: int


@dataclass(frozen=True)
class Launch:
    """What an engine process starts with."""

    directory: Path
    options: Options
    parameters: int
    policy_id: str
    version: int
    digest: str


class Host:
    """A running engine process. ``stub`` speaks InferenceService for its one policy."""

    def __init__(self, process: asyncio.subprocess.Process, channel: grpc.aio.Channel, log_file: Path) -> None:
        self.process, self._channel, self._log_file = process, channel, log_file
        self.stub = rpc.InferenceServiceStub(channel)
        self._ending = self._unreachable = False

    @property
    def alive(self) -> bool:
        """An engine that a call could not reach counts as dead before its exit is known."""
        return self.process.returncode is None and not self._ending and not self._unreachable

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Around every use of ``stub``: whatever goes wrong becomes an EngineError."""
        try:
            yield
        except grpc.RpcError as e:
            told = from_rpc(e, "the engine")
            self._unreachable = told.reason == "UNREACHABLE"
            raise (_gone() if self._unreachable else told) from e
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            raise _gone() from None  # the channel was closed under the call

    def watch(self, on_death: Callable[["Host"], Awaitable[None]]) -> asyncio.Task[None]:
        """Calls ``on_death`` with this host if the process ends without being asked to."""

        async def wait() -> None:
            await self.process.wait()
            if not self._ending:
                log.error("engine process %d ended: %s", self.process.pid, self.describe_end())
                await on_death(self)

        return asyncio.create_task(wait())

    def describe_end(self) -> str:
        """How the process ended, with the end of its log."""
        code = self.process.returncode
        how = f"signal {signal.Signals(-code).name}" if code and code < 0 else f"exit status {code}"
        return f"{how}; its log ends with:\n{tail(self._log_file)}"

    async def stop(self) -> None:
        """Ends the process group, by force after five seconds."""
        self._ending = True
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self.process.wait(), 5)
        except TimeoutError:
            log.warning("engine process %d did not end by itself", self.process.pid)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()
        await self._channel.close(grace=1.0)  # calls under way learn by themselves that the engine is gone


def _gone() -> EngineError:
    return EngineError(
        "the engine ended while the call ran",
        hint="repeat the call: the engine is started again at the last good version",
        reason="ENGINE_DIED",
        code="UNAVAILABLE",
        retryable=True,
    )


def tail(path: Path) -> str:
    """The end of a log, from a line start."""
    with suppress(OSError):
        data = path.read_bytes()[-_TAIL:]
        return data.decode(errors="replace").strip()
    return ""


async def start(settings: HostSettings, slot: int, launch: Launch, http_port: int) -> Host:
    """Starts an engine and returns when it answers. Raises EngineError with the cause and the end of the engine's log.

    ``http_port`` keeps the door where clients know it when an engine is started again; 0 for a new one.
    """
    root = settings.spool / f"engine-{slot}"
    root.mkdir(exist_ok=True)
    error, socket, log_file = root / "error.json", root / "grpc.sock", root / "engine.log"
    for file in (error, socket):
        file.unlink(missing_ok=True)
    wanted = http_port or (settings.http_port + slot if settings.http_port else 0)
    config = {
        **asdict(launch.options),
        "directory": str(launch.directory),
        "policy_id": launch.policy_id,
        "version": launch.version,
        "digest": launch.digest,
        "socket": str(socket),
        "http_host": settings.http_host,
        "http_port": wanted,
        "http_port_is_a_wish": not settings.http_port,
        "advertise_host": settings.advertise_host,
        "parent": os.getpid(),
    }
    (root / "config.json").write_text(json.dumps(config))
    with open(log_file, "wb") as out:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "marin_inference.host",
            str(root / "config.json"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            cwd=root,
            env=_environment(settings.threads, launch.parameters),
        )
    log.info("engine process %d starts for %s from %s", process.pid, launch.policy_id, launch.directory)
    channel = grpc.aio.insecure_channel(
        f"unix:{socket}",
        options=(
            ("grpc.max_receive_message_length", -1),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 200),
        ),
    )
    host = Host(process, channel, log_file)
    ready, ended = asyncio.create_task(channel.channel_ready()), asyncio.create_task(process.wait())
    try:
        await asyncio.wait((ready, ended), timeout=settings.start_seconds, return_when=asyncio.FIRST_COMPLETED)
        if ready.done() and not ended.done():
            return host
        raise _start_error(host, error, ended.done(), settings.start_seconds, log_file)
    except BaseException:
        await host.stop()
        raise
    finally:
        ready.cancel()
        ended.cancel()


def _environment(threads: int, parameters: int) -> dict[str, str]:
    """OpenMP reads these when it is loaded. Idle threads sleep and do not spin, and none is tied to a core: on cores
    that are shared with a trainer or a harness, spinning at barriers costs up to ten times the throughput."""
    env = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "VLLM_CPU_OMP_THREADS_BIND": "nobind", **os.environ}
    threads = threads or (1 if parameters < _ONE_THREAD_BELOW else 0)
    return env | ({"OMP_NUM_THREADS": str(threads)} if threads else {})


def _start_error(host: Host, error: Path, ended: bool, seconds: float, log_file: Path) -> EngineError:
    if error.exists():
        told = json.loads(error.read_text())
        return EngineError(
            f"{told['message']}\nThe engine's log ends with:\n{tail(log_file)}",
            hint=told["hint"],
            reason=told["reason"],
            code=told["code"],
        )
    what = (
        host.describe_end() if ended else f"it did not answer for {seconds:.0f} s; its log ends with:\n{tail(log_file)}"
    )
    return EngineError(
        f"the engine process did not start: {what}",
        hint="look at the log above; SIGKILL mostly means that memory ran out: give a smaller kv_cache_bytes",
        reason="ENGINE_START_FAILED",
        code="UNAVAILABLE",
        retryable=True,
    )
