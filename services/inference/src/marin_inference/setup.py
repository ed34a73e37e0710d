"""Settings of the inference service and how its parts are put together. Only engines load torch and vLLM."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import grpc

from marin.inference.v1 import inference_service_pb2_grpc as rpc
from marin_chassis.config import ServiceConfig
from marin_chassis.server import ServiceContext
from marin_inference.child import HostSettings
from marin_inference.pool import Pool
from marin_inference.servicer import InferenceServicer


@dataclass(frozen=True)
class InferenceConfig(ServiceConfig):
    """``MARIN_INFERENCE_<FIELD>`` in the environment.

    ``kv_cache_gib`` and ``dtype`` are for policies that are loaded without such options. ``http_port`` is the door of
    the first engine, the next ones count up (0: any free port), and ``advertise_host`` its host as clients see it.
    ``spool`` holds pushed weights and the engines' logs (the system's temporary directory if empty). After
    ``idle_seconds`` without a request another policy may take an engine. ``threads`` are those of an engine on CPU
    (0: one for very small models, else every core).
    """

    kv_cache_gib: float = 0.25
    dtype: str = ""
    max_engines: int = 2
    http_host: str = "127.0.0.1"
    http_port: int = 0
    advertise_host: str = ""
    spool: str = ""
    idle_seconds: float = 120.0
    start_seconds: float = 600.0
    threads: int = 0


async def add(server: grpc.aio.Server, context: ServiceContext) -> None:
    """Registers the servicer and makes the service's end also the engines' end."""
    config: InferenceConfig = context.config
    spool = make_spool(config.spool)
    settings = HostSettings(
        spool=spool,
        http_host=config.http_host,
        http_port=config.http_port,
        advertise_host=config.advertise_host or config.http_host,
        start_seconds=config.start_seconds,
        threads=config.threads,
    )
    pool = Pool(
        settings,
        max_engines=config.max_engines,
        idle_seconds=config.idle_seconds,
        dtype=config.dtype,
        kv_cache_bytes=int(config.kv_cache_gib * (1 << 30)),
        set_serving=context.set_serving,
    )
    rpc.add_InferenceServiceServicer_to_server(InferenceServicer(pool), server)

    async def close() -> None:
        await pool.close()
        shutil.rmtree(spool, ignore_errors=True)

    context.on_close(close)


def make_spool(root: str) -> Path:
    """A fresh directory named after this process; those of processes that are gone are removed."""
    base = Path(root or tempfile.gettempdir())
    base.mkdir(parents=True, exist_ok=True)
    for old in base.glob("marin-inference-*"):
        pid = old.name.split("-")[2]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"marin-inference-{os.getpid()}-", dir=base))
