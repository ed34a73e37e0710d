"""The life of a build as plain functions: state and request in, :class:`Change` out. No I/O, no clock of their own.

::

    PENDING --claim--> RUNNING --commit--> SUCCEEDED
       ^                  |----fail------> FAILED      (not retryable, or no attempt left)
       |                  |----fail------> CANCELLED   (a cancel was asked for)
       +--fail, expire----+
    PENDING --cancel--> CANCELLED           FAILED, CANCELLED --reset--> PENDING
"""

from dataclasses import dataclass, replace

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
    RetryPolicy,
    State,
)

PREEMPTED = "PREEMPTED"


def register(build: Build, request: Request | None) -> Change:
    """Stores a new build."""
    return Change(events=(build_event("registered", build, build.create_time),), build=build, request=request)


def remember(request: Request) -> Change:
    """Notes that a request id led to a build that was there already."""
    return Change(request=request)


def reset(build: Build, request: Request | None, retry: RetryPolicy, now: int) -> Change:
    """Sets an ended build back to PENDING with fresh attempts. Numbers and epochs go on growing."""
    pending = replace(
        _settled(build, State.PENDING, None, now),
        attempts_used=0,
        preemptions=0,
        retry=retry,
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
        not_before=0,
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


def may_replace(build: Build, current: Artifact) -> bool:
    """Whether the build's artifact may take the address from ``current``: a mutable version, or somebody said so."""
    return build.target.mutable or build.supersedes == current.content_digest


def commit(build: Build, attempt: Attempt, artifact: Artifact, manifest: Manifest, current: Artifact | None) -> Change:
    """Makes the artifact exist, in place of ``current`` if it may be replaced.

    An immutable address that holds the same bytes already (it was adopted meanwhile) is left as it is.
    """
    now = artifact.create_time
    done = replace(
        _settled(build, State.SUCCEEDED, None, now), uri=artifact.uri, content_digest=artifact.content_digest
    )
    ended = replace(attempt, outcome=Outcome.SUCCEEDED, uri=artifact.uri, end_time=now)
    if current and not may_replace(build, current):
        return Change(events=(build_event("succeeded", done, now),), build=done, attempt=ended)
    return Change(
        events=(artifact_event("committed", artifact, now),),
        build=done,
        attempt=ended,
        artifact=artifact,
        replaces=current.sequence if current else None,
        manifest=manifest,
    )


@dataclass(frozen=True)
class Ending:
    """What the holder of a lease says about an attempt that made nothing."""

    failure: Failure
    retryable: bool
    cancelled: bool = False
    log_tail: str = ""

    @property
    def outcome(self) -> Outcome:
        if self.cancelled:
            return Outcome.CANCELLED
        return Outcome.PREEMPTED if self.retryable and self.failure.reason == PREEMPTED else Outcome.FAILED


def fail(build: Build, attempt: Attempt, ending: Ending, jitter: float, now: int) -> Change:
    """Ends an attempt on its holder's word. ``jitter`` from [0, 1) goes into the wait before the next one."""
    failure, retryable, cancelled = ending.failure, ending.retryable, ending.cancelled
    ended = replace(attempt, outcome=ending.outcome, error=failure, log_tail=ending.log_tail, end_time=now)
    if cancelled or (build.cancel_requested and retryable):
        return _ended(build, ended, State.CANCELLED, _cancelled(build), now)
    if not retryable:
        return _ended(build, ended, State.FAILED, failure, now)
    if ending.outcome is Outcome.PREEMPTED:
        spared = replace(build, attempts_used=build.attempts_used - 1, preemptions=build.preemptions + 1)
        wait = build.retry.wait(spared.preemptions, jitter)
        return _ended(spared, ended, State.PENDING, failure, now, wait)
    if build.attempts_used >= build.retry.max_attempts:
        used = f"{build.attempts_used} of {build.retry.max_attempts}"
        final = replace(failure, metadata={**failure.metadata, "attempts": used})
        return _ended(build, ended, State.FAILED, final, now)
    return _ended(build, ended, State.PENDING, failure, now, build.retry.wait(build.attempts_used, jitter))


def expired(build: Build, now: int, since: int) -> bool:
    """Whether a lease has run out. A lease is never older than ``since``, the start of this catalog: while it was away
    no heartbeat could reach it."""
    if build.state is not State.RUNNING or build.lease_expire is None:
        return False
    return now >= max(build.lease_expire, since + build.lease_ttl)


def shorten(build: Build, now: int) -> Change | None:
    """A lease that ends later than its TTL from now was given before the clock was put back: it gets one TTL from now.
    None if the lease is as it should be."""
    if build.lease_expire is None or build.lease_expire <= now + build.lease_ttl:
        return None
    return Change(build=replace(build, lease_expire=now + build.lease_ttl))


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
    if build.attempts_used >= build.retry.max_attempts:
        final = replace(
            silent,
            reason="ATTEMPTS_EXHAUSTED",
            message=f"{silent.message}; {build.attempts_used} of {build.retry.max_attempts} attempts are used",
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
        not_before=0,
        cancel_requested=False,
        update_time=now,
        end_time=now if state.terminal else None,
    )


_VERB = {State.PENDING: "requeued", State.FAILED: "failed", State.CANCELLED: "cancelled"}


def _ended(build: Build, attempt: Attempt, state: State, error: Failure, now: int, wait: int = 0) -> Change:
    """``wait``: microseconds before a build that is pending again may be claimed."""
    settled = replace(_settled(build, state, error, now), not_before=now + wait if wait else 0)
    return Change(events=(build_event(_VERB[state], settled, now),), build=settled, attempt=attempt)
