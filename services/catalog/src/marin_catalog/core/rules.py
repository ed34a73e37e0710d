"""The life of a build as plain functions: state and request in, :class:`Change` out. No I/O, no clock of their own.

::

    PENDING --claim--> RUNNING --commit--> SUCCEEDED
       ^                  |----fail------> FAILED      (not retryable, or no attempt left)
       |                  |----fail------> CANCELLED   (a cancel was asked for)
       +--fail, expire----+
    PENDING --cancel--> CANCELLED           FAILED, CANCELLED --reset--> PENDING
"""

from dataclasses import replace

from marin_catalog.core.errors import LeaseLost
from marin_catalog.core.events import artifact_event, build_event
from marin_catalog.core.model import (
    SECOND,
    Artifact,
    Attempt,
    Build,
    Change,
    Failure,
    Manifest,
    Outcome,
    Progress,
    Request,
    State,
)

DEFAULT_MAX_ATTEMPTS = 3


def register(build: Build, request: Request | None) -> Change:
    """Stores a new build."""
    return Change(events=(build_event("registered", build, build.create_time),), build=build, request=request)


def remember(request: Request) -> Change:
    """Notes that a request id led to a build that was there already."""
    return Change(request=request)


def reset(build: Build, request: Request | None, max_attempts: int, now: int) -> Change:
    """Sets a failed or cancelled build back to PENDING with fresh attempts. Numbers and epochs go on growing."""
    pending = replace(
        _settled(build, State.PENDING, None, now),
        attempts_used=0,
        max_attempts=max_attempts,
        cancel_reason="",
    )
    return Change(events=(build_event("requeued", pending, now),), build=pending, request=request)


def claim(build: Build, holder: str, host: str, ttl: int, request_id: str, now: int) -> Change:
    """Gives a pending build to ``holder`` with the next epoch."""
    running = replace(
        build,
        state=State.RUNNING,
        attempt=build.attempt + 1,
        attempts_used=build.attempts_used + 1,
        epoch=build.epoch + 1,
        lease_holder=holder,
        lease_ttl=ttl,
        lease_expire=now + ttl,
        error=None,
        progress=None,
        uri="",
        update_time=now,
    )
    attempt = Attempt(build.id, running.attempt, running.epoch, holder, host, now, request_id=request_id)
    return Change(events=(build_event("claimed", running, now),), build=running, new_attempt=attempt)


def check_lease(build: Build, epoch: int) -> None:
    """The fence. Raises LeaseLost unless ``epoch`` is that of the running attempt. The clock has no say in it."""
    if epoch != build.epoch:
        raise LeaseLost(build.id, epoch, f"the newest is {build.epoch}, held by '{build.lease_holder or 'nobody'}'")
    if build.state is not State.RUNNING:
        raise LeaseLost(build.id, epoch, f"the build is {build.state}")


def heartbeat(build: Build, attempt: Attempt | None, ttl: int, progress: Progress | None, now: int) -> Change:
    """Extends the lease. ``attempt`` is given if it has changed."""
    return Change(
        build=replace(
            build,
            lease_ttl=ttl,
            lease_expire=now + ttl,
            progress=progress or build.progress,
            uri=attempt.uri if attempt else build.uri,
            update_time=now,
        ),
        attempt=attempt,
    )


def commit(build: Build, attempt: Attempt, artifact: Artifact, manifest: Manifest, current: Artifact | None) -> Change:
    """Makes the artifact exist, in place of ``current`` if its version is mutable.

    An immutable address that holds the same bytes already (it was adopted meanwhile) is left as it is.
    """
    now = artifact.create_time
    done = replace(
        _settled(build, State.SUCCEEDED, None, now), uri=artifact.uri, content_digest=artifact.content_digest
    )
    ended = replace(attempt, outcome=Outcome.SUCCEEDED, uri=artifact.uri, end_time=now)
    if current and not build.target.mutable:
        return Change(events=(artifact_event("adopted", current, now),), build=done, attempt=ended)
    return Change(
        events=(artifact_event("committed", artifact, now),),
        build=done,
        attempt=ended,
        artifact=artifact,
        replaces=current.sequence if current else None,
        manifest=manifest,
    )


def fail(
    build: Build, attempt: Attempt, failure: Failure, retryable: bool, cancelled: bool, log_tail: str, now: int
) -> Change:
    """Ends an attempt on its holder's word."""
    outcome = Outcome.CANCELLED if cancelled else Outcome.FAILED
    ended = replace(attempt, outcome=outcome, error=failure, log_tail=log_tail, end_time=now)
    if cancelled or (build.cancel_requested and retryable):
        return _ended(build, ended, State.CANCELLED, _cancelled(build), now)
    if not retryable:
        return _ended(build, ended, State.FAILED, failure, now)
    if build.attempts_used >= build.max_attempts:
        used = f"{build.attempts_used} of {build.max_attempts}"
        final = replace(failure, metadata={**failure.metadata, "attempts": used})
        return _ended(build, ended, State.FAILED, final, now)
    return _ended(build, ended, State.PENDING, failure, now)


def expired(build: Build, now: int, since: int) -> bool:
    """Whether a lease has run out. A lease is never older than ``since``, the start of this catalog: while it was away
    no heartbeat could reach it."""
    if build.state is not State.RUNNING or build.lease_expire is None:
        return False
    return now >= max(build.lease_expire, since + build.lease_ttl)


def expire(build: Build, attempt: Attempt, now: int) -> Change:
    """Takes the build from a holder that has gone silent."""
    silent = Failure(
        code="ABORTED",
        reason="LEASE_EXPIRED",
        message=f"attempt {attempt.number}: no heartbeat from {attempt.holder} for {build.lease_ttl / SECOND:g} s",
        hint="the worker or its machine died or hung; the build is tried again",
        metadata={"holder": attempt.holder, "host": attempt.host},
    )
    ended = replace(attempt, outcome=Outcome.LOST, error=silent, end_time=now)
    if build.cancel_requested:
        return _ended(build, ended, State.CANCELLED, _cancelled(build), now)
    if build.attempts_used >= build.max_attempts:
        final = replace(
            silent,
            reason="ATTEMPTS_EXHAUSTED",
            message=f"{silent.message}; {build.attempts_used} of {build.max_attempts} attempts are used",
            hint=f"see why the workers on {attempt.host} died (out of memory?), then run again",
        )
        return _ended(build, ended, State.FAILED, final, now)
    return _ended(build, ended, State.PENDING, silent, now)


def cancel(build: Build, reason: str, now: int) -> Change | None:
    """Ends a pending build, marks a running one; None if there is nothing to do."""
    if build.state.terminal or build.cancel_requested:
        return None
    asked = replace(build, cancel_requested=True, cancel_reason=reason, update_time=now)
    if build.state is State.RUNNING:
        return Change(build=asked)
    ended = _settled(asked, State.CANCELLED, _cancelled(asked), now)
    return Change(events=(build_event("cancelled", ended, now),), build=ended)


def _cancelled(build: Build) -> Failure:
    return Failure(
        code="CANCELLED",
        reason="CANCELLED",
        message=f"cancelled: {build.cancel_reason or 'no reason given'}",
        hint="run it again to start it anew",
    )


def _settled(build: Build, state: State, error: Failure | None, now: int) -> Build:
    """The build without a holder."""
    return replace(
        build,
        state=state,
        error=error,
        lease_holder="",
        lease_ttl=0,
        lease_expire=None,
        cancel_requested=False,
        update_time=now,
        end_time=now if state.terminal else None,
    )


_VERB = {State.PENDING: "requeued", State.FAILED: "failed", State.CANCELLED: "cancelled"}


def _ended(build: Build, attempt: Attempt, state: State, error: Failure, now: int) -> Change:
    settled = _settled(build, state, error, now)
    return Change(events=(build_event(_VERB[state], settled, now),), build=settled, attempt=attempt)
