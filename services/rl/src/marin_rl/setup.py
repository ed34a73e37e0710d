"""What the rl service is: its port, its contract and its one kind of job."""

from marin.rl.v1 import rl_service_pb2, rl_service_pb2_grpc
from marin_chassis.stage import JobKind, Stage
from marin_rl.core.spec import check_grpo
from marin_rl.servicer import RlServicer

STAGE = Stage(
    name="rl",
    port=7007,
    package="marin_rl",
    service=rl_service_pb2.DESCRIPTOR.services_by_name["RlService"],
    kinds=(JobKind("policy", check=check_grpo),),
    add=lambda server, jobs: rl_service_pb2_grpc.add_RlServiceServicer_to_server(RlServicer(jobs), server),
)
