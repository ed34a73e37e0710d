"""gRPC face of the service; the calls only register jobs."""

from marin.data.v1 import data_service_pb2 as pb, data_service_pb2_grpc as rpc


class DataServicer(rpc.DataServiceServicer):
    def __init__(self, jobs):
        self._jobs = jobs

    async def CreateRunPipelineJob(self, request, context):
        return pb.CreateRunPipelineJobResponse(job=await self._jobs.create("documents", request))

    async def CreateConvertConversationsJob(self, request, context):
        return pb.CreateConvertConversationsJobResponse(job=await self._jobs.create("conversations", request))

    async def CreateConvertProblemsJob(self, request, context):
        return pb.CreateConvertProblemsJobResponse(job=await self._jobs.create("problems", request))
