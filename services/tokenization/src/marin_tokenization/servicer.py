"""gRPC face of the service; the calls only register jobs."""

from marin.tokenization.v1 import tokenization_service_pb2 as pb, tokenization_service_pb2_grpc as rpc


class TokenizationServicer(rpc.TokenizationServiceServicer):
    def __init__(self, jobs):
        self._jobs = jobs

    async def CreateTrainTokenizerJob(self, request, context):
        return pb.CreateTrainTokenizerJobResponse(job=await self._jobs.create("tokenizer", request))

    async def CreateImportTokenizerJob(self, request, context):
        return pb.CreateImportTokenizerJobResponse(job=await self._jobs.create("tokenizer.import", request))

    async def CreateTokenizeJob(self, request, context):
        return pb.CreateTokenizeJobResponse(job=await self._jobs.create("tokens", request))
