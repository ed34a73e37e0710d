"""What the chassis needs to know about this service."""

from marin.data.v1 import data_service_pb2 as pb, data_service_pb2_grpc as rpc
from marin_chassis.stage import JobKind, Stage
from marin_data.core.spec import check_conversations, check_pipeline, check_problems
from marin_data.servicer import DataServicer

STAGE = Stage(
    name="data",
    port=7003,
    package="marin_data",
    service=pb.DESCRIPTOR.services_by_name["DataService"],
    kinds=(
        JobKind("documents", check=check_pipeline),
        JobKind("conversations", check=check_conversations),
        JobKind("problems", check=check_problems),
    ),
    add=lambda server, jobs: rpc.add_DataServiceServicer_to_server(DataServicer(jobs), server),
)
