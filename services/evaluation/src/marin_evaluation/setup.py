"""What the chassis needs to know about this service."""

from marin.evaluation.v1 import evaluation_service_pb2 as pb, evaluation_service_pb2_grpc as rpc
from marin_chassis.stage import JobKind, Stage
from marin_evaluation.core.spec import check_evaluate
from marin_evaluation.servicer import EvaluationServicer

STAGE = Stage(
    name="evaluation",
    port=7008,
    package="marin_evaluation",
    service=pb.DESCRIPTOR.services_by_name["EvaluationService"],
    kinds=(JobKind("evaluation", check=check_evaluate),),
    add=lambda server, jobs: rpc.add_EvaluationServiceServicer_to_server(EvaluationServicer(jobs), server),
)
