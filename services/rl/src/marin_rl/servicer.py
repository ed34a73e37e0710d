"""RlService over the chassis: registers jobs; the engine process does the work."""

from typing import Any

from marin.rl.v1 import rl_service_pb2 as pb, rl_service_pb2_grpc
from marin_chassis.stage import Jobs


class RlServicer(rl_service_pb2_grpc.RlServiceServicer):
    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def CreateGrpoJob(self, request: pb.CreateGrpoJobRequest, context: Any) -> pb.CreateGrpoJobResponse:
        return pb.CreateGrpoJobResponse(job=await self._jobs.create("policy", request))
