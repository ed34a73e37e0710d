"""Wires the catalog: database, use cases, servicer, and the tasks that run beside the RPCs."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

import grpc

from marin.catalog.v1 import catalog_service_pb2_grpc as rpc
from marin_catalog.core.context import Context, wall_clock
from marin_catalog.core.leases import Leases
from marin_catalog.servicer import CatalogServicer
from marin_catalog.store.database import open_database
from marin_catalog.store.schema import prepare
from marin_catalog.store.sql import SqlStore
from marin_chassis.config import ServiceConfig
from marin_chassis.server import ServiceContext

NAME, PORT = "catalog", 7001
SERVICES = ("marin.catalog.v1.CatalogService",)


@dataclass(frozen=True)
class CatalogConfig(ServiceConfig):
    """``catalog_url``: SQLAlchemy URL of the database; by default SQLite in ``catalog.db`` below the workspace."""

    catalog_url: str = ""

    @property
    def database_url(self) -> str:
        return self.catalog_url or f"sqlite:///{Path(self.workspace).resolve() / 'catalog.db'}"


async def setup(server: grpc.aio.Server, service: ServiceContext) -> None:
    """Registers the servicer on ``server``. Raises StoreError if the database cannot be used."""
    config = service.config
    assert isinstance(config, CatalogConfig)
    database = open_database(config.database_url)
    await prepare(database)
    context = Context(SqlStore(database), since=wall_clock(), monotonic=time.monotonic)
    letters = None
    if config.nats_url:
        from marin_catalog.relay import BusLetters, relay_events  # loads the NATS client

        letters = BusLetters(config.nats_url)
    rpc.add_CatalogServiceServicer_to_server(CatalogServicer(context, letters), server)

    async def beside() -> None:
        """Outlives the RPCs, which :func:`drain` ends first."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(Leases(context).keep_expiring())
                if letters:
                    tasks.create_task(relay_events(context, config.nats_url, letters))
            await asyncio.get_running_loop().create_future()  # until cancelled: RPCs may still use the store
        finally:
            await context.store.close()

    async def drain() -> None:
        context.hub.close()
        await server.stop(config.drain_seconds)

    service.spawn(beside(), "catalog")
    service.on_close(drain)
