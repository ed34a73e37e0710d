"""What the chassis needs to know about this service."""

from marin.tokenization.v1 import tokenization_service_pb2 as pb, tokenization_service_pb2_grpc as rpc
from marin_chassis.stage import JobKind, Stage
from marin_tokenization.core.spec import check_import_tokenizer, check_tokenize, check_train_tokenizer
from marin_tokenization.servicer import TokenizationServicer

STAGE = Stage(
    name="tokenization",
    port=7004,
    package="marin_tokenization",
    service=pb.DESCRIPTOR.services_by_name["TokenizationService"],
    kinds=(
        JobKind("tokenizer", check=check_train_tokenizer),
        JobKind("tokenizer.import", check=check_import_tokenizer),
        JobKind("tokens", check=check_tokenize),
    ),
    add=lambda server, jobs: rpc.add_TokenizationServiceServicer_to_server(TokenizationServicer(jobs), server),
)
