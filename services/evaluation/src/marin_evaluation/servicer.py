"""gRPC face of the service; the call only registers a job."""

import grpc

from marin.evaluation.v1 import evaluation_service_pb2 as pb, evaluation_service_pb2_grpc as rpc
from marin_chassis.stage import Jobs


class EvaluationServicer(rpc.EvaluationServiceServicer):
    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def CreateEvaluateJob(
        self, request: pb.CreateEvaluateJobRequest, context: grpc.aio.ServicerContext
    ) -> pb.CreateEvaluateJobResponse:
        return pb.CreateEvaluateJobResponse(job=await self._jobs.create("evaluation", request))
