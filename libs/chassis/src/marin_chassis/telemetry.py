"""Logs as JSON lines, traces by OpenTelemetry, metrics for Prometheus.

The tracing SDK is loaded only where ``OTEL_EXPORTER_OTLP_ENDPOINT`` names a collector: without one the API's no-op tracer
is used, which still passes an incoming trace context on.
"""

import json
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import propagate, trace

TRACER = trace.get_tracer("marin")


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, trace id, exception."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        span = trace.get_current_span().get_span_context()
        if span.is_valid:
            entry["trace_id"] = trace.format_trace_id(span.trace_id)
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def setup(service: str) -> None:
    """Configures logging to stderr and, if a collector is named in the environment, trace export."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=os.environ.get("MARIN_LOG_LEVEL", "INFO").upper(), handlers=[handler], force=True)
    if os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        provider = TracerProvider(resource=Resource.create({"service.name": f"marin-{service}"}))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(provider)


@contextmanager
def server_span(method: str, metadata: Mapping[str, str]) -> Iterator[None]:
    """A span for one incoming RPC, child of the caller's span if the metadata carries one."""
    with TRACER.start_as_current_span(
        method.lstrip("/"), context=propagate.extract(metadata), kind=trace.SpanKind.SERVER
    ):
        yield


def outgoing_metadata() -> list[tuple[str, str]]:
    """The current trace context as gRPC metadata."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return list(carrier.items())
