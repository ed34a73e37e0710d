"""What happens around every RPC of every service: errors become typed statuses, calls are traced, counted and timed."""

import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
from grpc_status import rpc_status
from prometheus_client import Counter, Histogram

from marin_chassis import telemetry
from marin_chassis.engine import EngineError
from marin_chassis.errors import from_rpc, to_status

log = logging.getLogger("marin.rpc")
CALLS = Counter("marin_rpc_calls_total", "Finished RPCs", ["method", "code"])
SECONDS = Histogram("marin_rpc_seconds", "RPC duration", ["method"])


class ServiceInterceptor(grpc.aio.ServerInterceptor):
    """Wraps unary and streaming handlers alike."""

    async def intercept_service(self, continuation: Callable, details: grpc.HandlerCallDetails) -> Any:
        handler = await continuation(details)
        if handler is None or details.method.startswith("/grpc."):
            return handler
        method = details.method
        metadata = dict(details.invocation_metadata or ())
        if handler.response_streaming:
            inner = handler.unary_stream or handler.stream_stream

            async def stream(request: Any, context: grpc.aio.ServicerContext) -> AsyncIterator[Any]:
                with telemetry.server_span(method, metadata):
                    start = time.perf_counter()
                    try:
                        async for response in inner(request, context):
                            yield response
                        _count(method, "OK", start)
                    except Exception as e:
                        await _abort(context, method, e, start)

            make = (
                grpc.stream_stream_rpc_method_handler
                if handler.request_streaming
                else grpc.unary_stream_rpc_method_handler
            )
            return make(stream, handler.request_deserializer, handler.response_serializer)
        inner = handler.unary_unary or handler.stream_unary

        async def unary(request: Any, context: grpc.aio.ServicerContext) -> Any:
            with telemetry.server_span(method, metadata):
                start = time.perf_counter()
                try:
                    response = await inner(request, context)
                    _count(method, "OK", start)
                    return response
                except Exception as e:
                    await _abort(context, method, e, start)

        make = (
            grpc.stream_unary_rpc_method_handler if handler.request_streaming else grpc.unary_unary_rpc_method_handler
        )
        return make(unary, handler.request_deserializer, handler.response_serializer)


def _count(method: str, code: str, start: float) -> None:
    CALLS.labels(method, code).inc()
    SECONDS.labels(method).observe(time.perf_counter() - start)


async def _abort(context: grpc.aio.ServicerContext, method: str, error: Exception, start: float) -> None:
    if isinstance(error, grpc.aio.AbortError):
        raise error
    if isinstance(error, grpc.RpcError):
        error = from_rpc(error)
    if not isinstance(error, EngineError):
        log.exception("unexpected error in %s", method)
        error = EngineError(
            f"{type(error).__name__}: {error}",
            hint="this is unexpected: the service's log holds the trace",
            reason="INTERNAL",
            code="INTERNAL",
        )
    _count(method, error.code, start)
    await context.abort_with_status(rpc_status.to_status(to_status(error)))
