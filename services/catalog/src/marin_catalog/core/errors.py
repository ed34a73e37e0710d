"""The errors of the catalog. Each names what was asked, why it cannot be, and the fix."""

from marin_chassis.engine import EngineError


class CatalogError(EngineError):
    """Root of the tree."""


class BadRequest(CatalogError):
    """The request can never succeed as it is."""

    def __init__(self, message: str, *, hint: str, reason: str, **metadata: str) -> None:
        super().__init__(message, hint=hint, reason=reason, code="INVALID_ARGUMENT", **metadata)


class NotFound(CatalogError):
    """Nothing has this identity."""

    def __init__(self, what: str, identity: str, *, hint: str) -> None:
        reason = f"UNKNOWN_{what.upper()}"
        super().__init__(f"there is no {what} '{identity}'", hint=hint, reason=reason, code="NOT_FOUND")


class Precondition(CatalogError):
    """The request does not fit the present state."""

    def __init__(self, message: str, *, hint: str, reason: str, **metadata: str) -> None:
        super().__init__(message, hint=hint, reason=reason, code="FAILED_PRECONDITION", **metadata)


class LeaseLost(Precondition):
    """The caller's lease is not, or no longer, the current one."""

    def __init__(self, build_id: str, epoch: int, why: str) -> None:
        super().__init__(
            f"lease {epoch} of build {build_id} is not valid: {why}",
            hint="stop this work at once and discard what it wrote; claim again for more work",
            reason="LEASE_LOST",
            build_id=build_id,
            epoch=str(epoch),
        )


class AddressConflict(CatalogError):
    """The address is committed with something else."""

    def __init__(self, message: str, *, hint: str, reason: str, **metadata: str) -> None:
        super().__init__(message, hint=hint, reason=reason, code="ALREADY_EXISTS", **metadata)


class RunChanged(CatalogError):
    """A run was written since it was read."""

    def __init__(self, run_id: str, given: int, stored: int) -> None:
        super().__init__(
            f"run {run_id} has revision {stored}, the update was made for {given}",
            hint="read the run again and apply the change to what is there now",
            reason="RUN_CHANGED",
            code="ABORTED",
        )


class StoreError(CatalogError):
    """The database cannot do its work at the moment."""

    def __init__(self, message: str, *, hint: str, reason: str, code: str = "UNAVAILABLE") -> None:
        super().__init__(message, hint=hint, reason=reason, code=code, retryable=code == "UNAVAILABLE")


class Draining(CatalogError):
    """The catalog is about to end; a stream is cut so that its reader knows that more may come."""

    def __init__(self) -> None:
        super().__init__(
            "the catalog is shutting down",
            hint="call again; it goes on where the new process starts",
            reason="DRAINING",
            code="UNAVAILABLE",
            retryable=True,
        )


class Conflict(Exception):
    """A change did not find the state it was made for. Never leaves the core: the use case reads again and retries."""
