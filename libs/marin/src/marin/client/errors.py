"""The client's one error type: what happened, where, why, and the fix."""

from dataclasses import dataclass, field

import grpc
from google.rpc import code_pb2, error_details_pb2, status_pb2


@dataclass
class MarinError(Exception):
    """A failure that a person can act on. ``reason`` is an UPPER_SNAKE identifier; ``hint`` says the fix."""

    message: str
    hint: str = ""
    reason: str = "ERROR"
    metadata: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.message}\n  fix: {self.hint}" if self.hint else self.message


def from_status(status: status_pb2.Status) -> MarinError:
    """The error that a google.rpc.Status with ErrorInfo and Help stands for."""
    error = MarinError(status.message, reason=code_pb2.Code.Name(status.code))
    for detail in status.details:
        info, help_ = error_details_pb2.ErrorInfo(), error_details_pb2.Help()
        if detail.Unpack(info):
            error.reason, error.metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(help_) and help_.links:
            error.hint = help_.links[0].description
    return error


def from_rpc(error: grpc.RpcError) -> MarinError:
    """The error behind a failed call."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            return from_status(status_pb2.Status.FromString(value))
    if error.code() == grpc.StatusCode.UNAVAILABLE:
        return MarinError(
            f"a service cannot be reached: {error.details()}", "see `marin status` and the logs it names", "UNREACHABLE"
        )
    return MarinError(error.details() or str(error.code()), "", error.code().name)
