"""Catalog, workflow, stage and worker in one process, all real; only the engines are toys."""

import asyncio
import json
import os
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.descriptor import ServiceDescriptor

from marin.catalog.v1 import catalog_service_pb2_grpc as catalog_rpc
from marin.client.session import Session
from marin.common.v1 import job_service_pb2_grpc as job_rpc
from marin.data.v1 import data_service_pb2 as data
from marin.tokenization.v1 import tokenization_service_pb2 as tokenization
from marin.workflow.v1 import workflow_pb2 as wf, workflow_service_pb2_grpc as workflow_rpc
from marin_catalog.core.context import Context, wall_clock
from marin_catalog.core.leases import Leases
from marin_catalog.servicer import CatalogServicer
from marin_catalog.store.database import open_database
from marin_catalog.store.schema import prepare
from marin_catalog.store.sql import SqlStore
from marin_chassis.client import CatalogClient
from marin_chassis.config import ServiceConfig
from marin_chassis.interceptor import ServiceInterceptor
from marin_chassis.stage import JobKind, Jobs, JobServicer, Stage
from marin_chassis.worker import Worker
from marin_contracts.kinds import KINDS
from marin_workflow.reconciler import Reconciler
from marin_workflow.servicer import WorkflowServicer
from marin_workflow.world import World

STAGES = {
    "data": data.DESCRIPTOR.services_by_name["DataService"],
    "tokenization": tokenization.DESCRIPTOR.services_by_name["TokenizationService"],
}
MADE = ("documents", "conversations", "tokenizer", "tokens")


def graph(version: str = "v1", vocab: int = 512, shards: int = 1, workers: int = 0) -> wf.Graph:
    """docs -> tokenizer -> tokens <- docs, and talk beside them. ``workers`` is no part of any identity."""
    g = wf.Graph(name="toy", project="default")
    docs = g.nodes.add(id="docs", stage="data", kind="documents")
    docs.run_pipeline.shards, docs.run_pipeline.workers = shards, workers
    tokenizer = g.nodes.add(id="tok", stage="tokens", kind="tokenizer")
    tokenizer.train_tokenizer.vocab_size = vocab
    tokenizer.inputs.add(role="documents", node_id="docs")
    tokens = g.nodes.add(id="tokens", stage="tokens", kind="tokens")
    tokens.tokenize.SetInParent()
    tokens.inputs.add(role="documents", node_id="docs")
    tokens.inputs.add(role="tokenizer", node_id="tok")
    talk = g.nodes.add(id="talk", stage="data", kind="conversations")
    talk.convert_conversations.shards = 1
    for node in g.nodes:
        node.target.project, node.target.name, node.target.version = "default", f"n/{node.id}", version
    return g


class Toy:
    """One system on one workspace directory. ``tell`` says what the engines of a kind do."""

    def __init__(self, workspace: Path, lease_seconds: float = 5.0, workers: int = 1) -> None:
        self.workspace = workspace
        self.store = workspace / "store"
        self.toy = workspace.absolute() / "toy"
        self.toy.mkdir(parents=True)
        os.environ["TOY"], os.environ["PYTHONPATH"] = str(self.toy), str(Path(__file__).parent)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.workers: list[Worker] = []
        self.tasks: list[asyncio.Task] = []
        self.do(self._start(lease_seconds, workers))
        self.session = Session(self)

    # What a session needs of a local system.

    def ensure(self, names: list[str]) -> dict[str, str]:
        return self.endpoints

    def endpoint(self, service: str) -> str:
        return self.endpoints[service]

    def keep(self) -> None:
        return None

    def close(self) -> None:
        return None

    def tell(self, kind: str, **what: Any) -> None:
        (self.toy / f"{kind}.json").write_text(json.dumps(what))

    def starts(self) -> list[tuple[str, int]]:
        """Kind and process id of every engine that was started."""
        path = self.toy / "starts.txt"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(line.split()[0], int(line.split()[1])) for line in lines]

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Runs a coroutine where the services are."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def run(self, g: wf.Graph, name: str = "r", options: wf.RunOptions | None = None) -> wf.Run:
        """Runs a graph to its end."""
        self.session.options = options or wf.RunOptions()
        self.session.create_run(name, g)
        return self.wait(name)

    def wait(self, name: str) -> wf.Run:
        """The run at its end."""
        return list(self.session.watch_run(name))[-1]

    async def _start(self, lease_seconds: float, workers: int) -> None:
        database = open_database(f"sqlite:///{self.workspace / 'catalog.db'}")
        await prepare(database)
        self.context = Context(SqlStore(database), since=wall_clock())
        self.servers: list[grpc.aio.Server] = []
        self.endpoints = {"catalog": await self._serve(self._add_catalog)}
        catalog = CatalogClient(self.endpoints["catalog"])
        config = ServiceConfig(
            workspace=str(self.workspace), catalog=self.endpoints["catalog"], lease_seconds=lease_seconds
        )
        for name, service in STAGES.items():
            self.endpoints[name] = await self._serve(
                lambda s, service=service, name=name: _add_stage(s, name, service, catalog, config)
            )
        self.world = World(catalog, self.endpoints)
        self.reconciler = Reconciler(catalog, self.world)
        self.endpoints["workflow"] = await self._serve(
            lambda s: workflow_rpc.add_WorkflowServiceServicer_to_server(
                WorkflowServicer(catalog, self.world, self.reconciler), s
            )
        )
        self._spawn(Leases(self.context).keep_expiring())
        specs = {k: _spec_class(k) for k in MADE}
        for _ in range(workers):
            worker = Worker("toy_engines", specs, config, CatalogClient(self.endpoints["catalog"]))
            self.workers.append(worker)
            self._spawn(worker.run())

    def _add_catalog(self, server: grpc.aio.Server) -> None:
        catalog_rpc.add_CatalogServiceServicer_to_server(CatalogServicer(self.context), server)

    async def _serve(self, add: Callable[[grpc.aio.Server], None]) -> str:
        server = grpc.aio.server(interceptors=[ServiceInterceptor()])
        add(server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        self.servers.append(server)
        return f"127.0.0.1:{port}"

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(self._loop.create_task(work))

    def stop(self) -> None:
        """Ends engines, tasks and servers."""
        self.session.close()
        self.do(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(20)

    async def _stop(self) -> None:
        for worker in self.workers:
            if worker._process and worker._process.returncode is None:
                worker._process.kill()
        self.context.hub.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for server in self.servers:
            await server.stop(0)
        await self.context.store.close()


def _spec_class(kind: str) -> type:
    method = STAGES[KINDS[kind].service].methods_by_name[KINDS[kind].create]
    return method.input_type.fields_by_name["spec"].message_type._concrete_class


def _add_stage(
    server: grpc.aio.Server, name: str, service: ServiceDescriptor, catalog: CatalogClient, config: ServiceConfig
) -> None:
    kinds = tuple(JobKind(k, lambda spec, roles: None) for k in MADE if KINDS[k].service == name)
    jobs = Jobs(Stage(name, 0, "toy_engines", service, kinds, lambda s, j: None), catalog)
    handlers = {}
    for kind in kinds:
        method = service.methods_by_name[KINDS[kind.name].create]
        response = method.output_type._concrete_class

        async def create(request: Any, context: Any, kind: str = kind.name, response: type = response) -> Any:
            return response(job=await jobs.create(kind, request))

        handlers[method.name] = grpc.unary_unary_rpc_method_handler(
            create, method.input_type._concrete_class.FromString, response.SerializeToString
        )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, handlers),))
    job_rpc.add_JobServiceServicer_to_server(JobServicer(jobs, catalog, config), server)
