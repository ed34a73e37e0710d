"""Calls to other services: channels with keepalive and trace context, retries while a peer restarts, typed errors."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from marin_chassis import telemetry
from marin_chassis.engine import EngineError
from marin_chassis.errors import from_rpc

log = logging.getLogger("marin.client")
_OPTIONS = (
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.max_send_message_length", 64 << 20),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)


def channel(endpoint: str) -> grpc.aio.Channel:
    """A plain-text channel to ``host:port``."""
    return grpc.aio.insecure_channel(endpoint, options=_OPTIONS)


async def call[T](
    method: Callable[..., Awaitable[T]],
    request: Any,
    *,
    peer: str,
    patience: float = 30.0,
    timeout: float = 60.0,
) -> T:
    """Calls a unary RPC, trying again for ``patience`` seconds while the peer is unavailable.

    Only for calls that may be repeated. Raises EngineError with the peer's own reason and hint.
    """
    deadline, delay = time.monotonic() + patience, 0.05
    while True:
        try:
            return await method(request, timeout=timeout, metadata=telemetry.outgoing_metadata())
        except grpc.RpcError as e:
            error = from_rpc(e, peer)
            if error.code != "UNAVAILABLE" or time.monotonic() > deadline:
                raise error from e
        await asyncio.sleep(delay * random.uniform(0.5, 1.5))
        delay = min(delay * 2, 1.0)


class CatalogClient:
    """The catalog's RPCs as coroutine methods: ``await catalog.GetBuild(GetBuildRequest(id=...))``."""

    def __init__(self, endpoint: str) -> None:
        from marin.catalog.v1 import catalog_service_pb2_grpc

        self.endpoint = endpoint
        self._channel = channel(endpoint)
        self.stub = catalog_service_pb2_grpc.CatalogServiceStub(self._channel)

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self.stub, name)

        async def bound(request: Any, *, patience: float = 30.0, timeout: float = 60.0) -> Any:
            return await call(
                method, request, peer=f"the catalog at {self.endpoint}", patience=patience, timeout=timeout
            )

        return bound

    async def close(self) -> None:
        await self._channel.close()


def is_lost_lease(error: BaseException) -> bool:
    """Whether the catalog refused a write because its lease belongs to somebody else now."""
    return isinstance(error, EngineError) and error.reason == "LEASE_LOST"
