"""gRPC face of the service; the calls only register jobs."""

from marin.training.v1 import training_service_pb2 as pb, training_service_pb2_grpc as rpc


class TrainingServicer(rpc.TrainingServiceServicer):
    def __init__(self, jobs):
        self._jobs = jobs

    async def CreatePretrainJob(self, request, context):
        return pb.CreatePretrainJobResponse(job=await self._jobs.create("checkpoint.pretrain", request))

    async def CreateSftJob(self, request, context):
        return pb.CreateSftJobResponse(job=await self._jobs.create("checkpoint.sft", request))
