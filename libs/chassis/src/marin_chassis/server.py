"""The one way to run a service: gRPC with health, reflection and channelz, metrics, background tasks, graceful drain."""

import asyncio
import inspect
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")

import grpc
from grpc_channelz.v1 import channelz
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from marin_chassis import telemetry
from marin_chassis.config import ServiceConfig
from marin_chassis.engine import EngineError
from marin_chassis.interceptor import ServiceInterceptor

log = logging.getLogger("marin.server")
MAX_MESSAGE = 64 << 20
OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", MAX_MESSAGE),
    ("grpc.max_send_message_length", MAX_MESSAGE),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
)


@dataclass
class ServiceContext:
    """What a service is wired with."""

    name: str
    config: ServiceConfig
    health: health.aio.HealthServicer
    services: Sequence[str]
    tasks: list[asyncio.Task] = field(default_factory=list)
    closers: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    failure: BaseException | None = None

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Runs a background task for the life of the service. A task that dies ends the service with its error."""

        def done(task: asyncio.Task) -> None:
            if not task.cancelled() and task.exception():
                self.failure = task.exception()
                log.error("background task %s died", name, exc_info=task.exception())
                self.stopping.set()

        task = asyncio.create_task(work, name=name)
        task.add_done_callback(done)
        self.tasks.append(task)

    def on_close(self, closer: Callable[[], Awaitable[None]]) -> None:
        """Registers a coroutine function that runs at shutdown, before the background tasks are cancelled; last first."""
        self.closers.append(closer)

    async def set_serving(self, serving: bool) -> None:
        """Reports health for the server and each of its services."""
        status = health_pb2.HealthCheckResponse.SERVING if serving else health_pb2.HealthCheckResponse.NOT_SERVING
        for service in ("", *self.services):
            await self.health.set(service, status)


Add = Callable[[grpc.aio.Server, ServiceContext], Awaitable[None] | None]


async def serve(name: str, config: ServiceConfig, services: Sequence[str], add: Add) -> None:
    """Serves until SIGTERM or SIGINT. ``add(server, context)`` registers servicers and may be a coroutine function."""
    server = grpc.aio.server(interceptors=[ServiceInterceptor()], options=OPTIONS)
    context = ServiceContext(name, config, health.aio.HealthServicer(), services)
    health_pb2_grpc.add_HealthServicer_to_server(context.health, server)
    channelz.add_channelz_servicer(server)
    if config.reflection:
        reflection.enable_server_reflection((*services, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    port = _bind(server, name, config)
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, context.stopping.set)
    added = add(server, context)
    if inspect.isawaitable(added):
        await added
    await server.start()
    await context.set_serving(True)
    if config.metrics_port:
        from prometheus_client import start_http_server

        start_http_server(config.metrics_port, config.host)
    if config.ready_file:
        Path(config.ready_file).write_text(str(port))
    log.info("%s serves on %s:%d with %s", name, config.host, port, config.redacted())
    await context.stopping.wait()
    log.info("%s drains", name)
    await context.set_serving(False)
    for closer in reversed(context.closers):
        await closer()
    for task in context.tasks:
        task.cancel()
    await asyncio.gather(*context.tasks, return_exceptions=True)
    await server.stop(config.drain_seconds)
    if context.failure:
        raise context.failure


def _bind(server: grpc.aio.Server, name: str, config: ServiceConfig) -> int:
    try:
        port = server.add_insecure_port(f"{config.host}:{config.port}")
    except RuntimeError as e:
        port = 0
        cause: Exception | None = e
    else:
        cause = None
    if not port:
        raise EngineError(
            f"{name} cannot listen on {config.host}:{config.port}: the port is in use or not allowed",
            hint=f"stop the process that holds port {config.port}, or choose another with --port or "
            f"MARIN_{name.upper()}_PORT",
            reason="PORT_IN_USE",
            code="UNAVAILABLE",
        ) from cause
    return port


def run_service(
    name: str, port: int, services: Sequence[str], add: Add, config_class: type[ServiceConfig] = ServiceConfig
) -> None:
    """Entry point of a service process: reads the configuration, serves, and exits 2 with one paragraph on a bad start."""
    try:
        config = config_class.load(name, port)
        telemetry.setup(name)
        asyncio.run(serve(name, config, services, add))
    except EngineError as e:
        print(f"{e.message}\n  fix: {e.hint}", file=sys.stderr)
        raise SystemExit(2) from None
