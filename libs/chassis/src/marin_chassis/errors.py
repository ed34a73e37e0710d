"""One error type inside (:class:`EngineError`), google.rpc.Status with details outside, and the way between them."""

from typing import Any

import grpc
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from marin_chassis.engine import EngineError

DOMAIN = "marin"


def to_status(error: EngineError | dict[str, Any]) -> status_pb2.Status:
    """Status with ErrorInfo (reason, metadata) and Help (the fix). Takes an error or its ``as_dict`` form."""
    e = error.as_dict() if isinstance(error, EngineError) else error
    status = status_pb2.Status(code=code_pb2.Code.Value(e["code"]), message=e["message"])
    metadata = {k: str(v) for k, v in e.get("metadata", {}).items() if v}
    if e.get("where"):
        metadata["where"] = e["where"]
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason=e["reason"], domain=DOMAIN, metadata=metadata))
    status.details.add().Pack(error_details_pb2.Help(links=[{"description": e["hint"]}]))
    return status


def from_status(status: status_pb2.Status) -> EngineError:
    """The error that a status stands for; one of another server gets reason and hint by its code."""
    reason, metadata = code_pb2.Code.Name(status.code), {}
    hint = "see the server's log"
    for detail in status.details:
        info, help_ = error_details_pb2.ErrorInfo(), error_details_pb2.Help()
        if detail.Unpack(info):
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(help_) and help_.links:
            hint = help_.links[0].description
    metadata = {k: v for k, v in metadata.items() if k not in ("message", "hint", "reason", "code", "retryable")}
    return EngineError(status.message, hint=hint, reason=reason, code=code_pb2.Code.Name(status.code), **metadata)


def from_rpc(error: grpc.RpcError, peer: str = "") -> EngineError:
    """The error behind a failed call; a server that cannot be reached is named by ``peer``."""
    status = rpc_status.from_call(error) if error.trailing_metadata() else None
    if status is not None:
        return from_status(status)
    code = error.code().name
    if code == "UNAVAILABLE":
        return EngineError(
            f"{peer or 'the service'} cannot be reached: {error.details()}",
            hint="look at its log, or start it again with `marin up`",
            reason="UNREACHABLE",
            code=code,
            retryable=True,
        )
    return EngineError(error.details() or code, hint="see the server's log", reason=code, code=code)
