"""What the chassis needs to know about this service."""

from marin.training.v1 import training_service_pb2 as pb, training_service_pb2_grpc as rpc
from marin_chassis.stage import JobKind, Stage
from marin_training.core.spec import check_pretrain, check_sft
from marin_training.servicer import TrainingServicer

STAGE = Stage(
    name="training",
    port=7005,
    package="marin_training",
    service=pb.DESCRIPTOR.services_by_name["TrainingService"],
    kinds=(JobKind("checkpoint.pretrain", check=check_pretrain), JobKind("checkpoint.sft", check=check_sft)),
    add=lambda server, jobs: rpc.add_TrainingServiceServicer_to_server(TrainingServicer(jobs), server),
)
