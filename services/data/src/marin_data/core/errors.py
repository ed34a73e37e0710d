"""Maps errors of the kernels to the error that the worker understands."""

from collections.abc import Iterator
from contextlib import contextmanager

from marin_chassis.engine import EngineError
from marin_datakernels.errors import DataError

CODES = {
    "MISSING_FILE": "NOT_FOUND",
    "HUB_NOT_FOUND": "NOT_FOUND",
    "TRUNCATED_FILE": "DATA_LOSS",
    "CORRUPT_FILE": "DATA_LOSS",
    "DIGEST_MISMATCH": "FAILED_PRECONDITION",
    "EMPTY_CORPUS": "FAILED_PRECONDITION",
    "SHORT_SOURCE": "FAILED_PRECONDITION",
    "HUB_OFFLINE": "FAILED_PRECONDITION",
    "HUB_DENIED": "PERMISSION_DENIED",
    "HUB_UNAVAILABLE": "UNAVAILABLE",
    "COUNT_MISMATCH": "INTERNAL",
}
RETRYABLE = {"HUB_UNAVAILABLE"}


def to_engine_error(error: DataError) -> EngineError:
    """Reasons that CODES does not name are INVALID_ARGUMENT."""
    return EngineError(
        error.message,
        hint=error.hint,
        reason=error.reason,
        code=CODES.get(error.reason, "INVALID_ARGUMENT"),
        retryable=error.reason in RETRYABLE,
        **error.where,
    )


@contextmanager
def engine_errors() -> Iterator[None]:
    """Lets DataError leave the block as EngineError."""
    try:
        yield
    except DataError as e:
        raise to_engine_error(e) from None
