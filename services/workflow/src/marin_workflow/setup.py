"""Wires the workflow service."""

import grpc

from marin.workflow.v1 import workflow_service_pb2_grpc as rpc
from marin_chassis.client import CatalogClient
from marin_chassis.server import ServiceContext, run_service
from marin_chassis.worker import endpoints
from marin_workflow.reconciler import Reconciler
from marin_workflow.servicer import WorkflowServicer
from marin_workflow.world import World


def add(server: grpc.aio.Server, context: ServiceContext) -> None:
    """Registers the servicer; resumes runs in the background: a late catalog does not hold up health."""
    catalog = CatalogClient(context.config.catalog)
    world = World(catalog, endpoints(context.config))
    reconciler = Reconciler(catalog, world)
    rpc.add_WorkflowServiceServicer_to_server(WorkflowServicer(catalog, world, reconciler), server)
    context.spawn(reconciler.resume(), "resume")
    if context.config.nats_url:
        context.spawn(_listen(context.config.nats_url, reconciler), "bus")


async def _listen(url: str, reconciler: Reconciler) -> None:
    """Looks at the runs as soon as a build or artifact changes, instead of at the next tick."""
    from marin_chassis.bus import Bus, Message

    async def wake(message: Message) -> None:
        reconciler.wake()

    bus = await Bus.connect(url, "workflow")
    try:
        await bus.subscribe("marin.>", wake)
    finally:
        await bus.close()


def main() -> None:
    """Entry point of the process."""
    run_service("workflow", 7002, ("marin.workflow.v1.WorkflowService",), add)
