"""WorkflowService: thin calls over plan and reconciler."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

from marin.catalog.v1 import catalog_service_pb2 as catalog_pb
from marin.workflow.v1 import workflow_pb2 as wf, workflow_service_pb2 as pb, workflow_service_pb2_grpc as rpc
from marin_chassis.client import CatalogClient
from marin_workflow.core.aliases import resolve
from marin_workflow.core.plan import plan
from marin_workflow.core.reconcile import drift_error, new_run
from marin_workflow.reconciler import Reconciler
from marin_workflow.world import World


class WorkflowServicer(rpc.WorkflowServiceServicer):
    """The contract is in the proto file."""

    def __init__(self, catalog: CatalogClient, world: World, reconciler: Reconciler) -> None:
        self._catalog, self._world, self._reconciler = catalog, world, reconciler

    async def PlanGraph(self, request: pb.PlanGraphRequest, context: Any) -> pb.PlanGraphResponse:
        graph = _with_project(request.graph)
        resolutions = await resolve(graph, self._world)
        nodes = await plan(graph, self._world, request.options)
        return pb.PlanGraphResponse(nodes=nodes, graph=graph, resolutions=resolutions)

    async def CreateRun(self, request: pb.CreateRunRequest, context: Any) -> pb.CreateRunResponse:
        graph = _with_project(request.graph)
        if request.request_id and (known := await self._reconciler.find(request.request_id)):
            return pb.CreateRunResponse(run=known)
        resolutions = await resolve(graph, self._world)
        planned = await plan(graph, self._world, request.options)
        if drifted := [n for n in planned if n.action == wf.PLAN_ACTION_DRIFT]:
            raise drift_error(drifted)
        run = new_run(request.request_id or uuid.uuid4().hex, graph, request.options)
        run.resolutions.extend(resolutions)
        if request.HasField("provenance"):
            run.provenance.CopyFrom(request.provenance)
        return pb.CreateRunResponse(run=await self._reconciler.create(run))

    async def GetRun(self, request: pb.GetRunRequest, context: Any) -> pb.GetRunResponse:
        return pb.GetRunResponse(run=await self._reconciler.get(request.id))

    async def ListRuns(self, request: pb.ListRunsRequest, context: Any) -> pb.ListRunsResponse:
        listed = await self._catalog.ListRuns(
            catalog_pb.ListRunsRequest(project=request.project, page_size=request.page_size)
        )
        return pb.ListRunsResponse(runs=[wf.Run.FromString(r.body) for r in listed.runs])

    async def WatchRun(self, request: pb.WatchRunRequest, context: Any) -> AsyncIterator[pb.WatchRunResponse]:
        async for run in self._reconciler.watch(request.id):
            yield pb.WatchRunResponse(run=run)

    async def CancelRun(self, request: pb.CancelRunRequest, context: Any) -> pb.CancelRunResponse:
        return pb.CancelRunResponse(run=await self._reconciler.cancel(request.id, request.reason))


def _with_project(graph: wf.Graph) -> wf.Graph:
    graph.project = graph.project or "default"
    for node in graph.nodes:
        node.target.project = graph.project
    return graph
