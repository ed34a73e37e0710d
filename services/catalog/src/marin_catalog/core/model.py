"""What the catalog keeps. Times are whole microseconds since 1970 (UTC): every store holds them exactly."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

SECOND = 1_000_000


class State(StrEnum):
    """State of a build; the last three are terminal."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def terminal(self) -> bool:
        return self not in (State.PENDING, State.RUNNING)


class Outcome(StrEnum):
    """How an attempt ended. ``PREEMPTED``: its machine was taken away, which does not count. ``LOST``: its lease ran
    out before its holder said anything."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    LOST = "lost"


@dataclass(frozen=True)
class Target:
    """An address: ``name@version`` in a project."""

    project: str
    name: str
    version: str

    @property
    def address(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def mutable(self) -> bool:
        return self.version == "dev" or self.version.endswith("-dev")


@dataclass(frozen=True)
class Input:
    """An artifact that a build reads. ``artifact`` is the sequence number of the very commit it was resolved to."""

    role: str
    address: str
    content_digest: str
    artifact: int = 0


@dataclass(frozen=True)
class Failure:
    """Why an attempt or a build ended badly. ``code`` is a gRPC status name."""

    code: str
    reason: str
    message: str
    hint: str
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Progress:
    """Newest sign of life of a running attempt."""

    phase: str
    step: int
    total: int
    metrics: dict[str, float]
    time: int


@dataclass(frozen=True)
class RetryPolicy:
    """When a build is tried again after a retryable failure. Waits are microseconds."""

    max_attempts: int = 3
    backoff_base: int = SECOND
    backoff_max: int = 60 * SECOND

    def wait(self, failures: int, jitter: float) -> int:
        """Microseconds before the next attempt after ``failures`` (from 1) of them. ``jitter`` from [0, 1) shortens the
        exponential wait by up to a half, so that what failed together does not come back together."""
        full = min(self.backoff_max, self.backoff_base * 2 ** min(failures - 1, 40))
        return int(full * (1 - jitter / 2))


@dataclass(frozen=True)
class Build:
    """One artifact in the making.

    ``revision`` grows with each write; ``attempts_used`` and ``preemptions`` count since the last reset. A pending
    build is not claimed before ``not_before``. ``supersedes`` is the content digest that its immutable address may hold
    and lose.
    """

    id: str
    kind: str
    target: Target
    build_key: str
    spec: dict[str, Any]
    inputs: tuple[Input, ...]
    retry: RetryPolicy
    create_time: int
    update_time: int
    sequence: int = 0
    revision: int = 0
    state: State = State.PENDING
    attempt: int = 0
    attempts_used: int = 0
    epoch: int = 0
    lease_holder: str = ""
    lease_ttl: int = 0
    lease_expire: int | None = None
    cancel_requested: bool = False
    cancel_reason: str = ""
    error: Failure | None = None
    progress: Progress | None = None
    uri: str = ""
    content_digest: str = ""
    end_time: int | None = None
    not_before: int = 0
    preemptions: int = 0
    supersedes: str = ""

    @property
    def slot(self) -> str | None:
        """What at most one build may have: its key at its target. A finished build of a mutable version gives it up."""
        if self.target.mutable and self.state is State.SUCCEEDED:
            return None
        return slot_of(self.target, self.build_key)


def slot_of(target: Target, build_key: str) -> str:
    """The unique name of a build key at a target."""
    return f"{target.project}/{target.address}#{build_key}"


@dataclass(frozen=True)
class Attempt:
    """One try at a build, kept for ever."""

    build_id: str
    number: int
    epoch: int
    holder: str
    host: str
    start_time: int
    request_id: str = ""
    command: str = ""
    uri: str = ""
    outcome: Outcome = Outcome.RUNNING
    error: Failure | None = None
    log_tail: str = ""
    end_time: int | None = None
    facts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FileEntry:
    """One file of an artifact: path below it, size in bytes, sha256 in hex."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """All files of an artifact. Only ``content`` counts for the content digest."""

    content: tuple[FileEntry, ...]
    record: tuple[FileEntry, ...]


@dataclass(frozen=True)
class Artifact:
    """A committed artifact. ``sequence`` is that of its event, and its identity in lineage."""

    target: Target
    kind: str
    content_digest: str
    build_key: str
    build_id: str
    attempt: int
    uri: str
    bytes: int
    files: int
    summary: dict[str, Any]
    headline: str
    inputs: tuple[Input, ...]
    create_time: int
    seconds: float
    adopted_from: str = ""
    sequence: int = 0


@dataclass(frozen=True)
class Unreferenced:
    """The directory of an ended attempt that nothing refers to. ``overwritten``: it was committed, and a newer commit
    of its address took over before anything was made from it."""

    attempt: Attempt
    kind: str
    target: Target
    overwritten: bool

    @property
    def reason(self) -> str:
        if self.overwritten:
            return f"{self.target.address} holds a newer commit and nothing was made from this one"
        if self.attempt.outcome is Outcome.SUCCEEDED:
            return f"{self.target.address} held the same bytes already"
        return f"the attempt made nothing: {self.attempt.outcome}"


@dataclass(frozen=True)
class Event:
    """One entry of the log. ``payload`` is the part that depends on the type; see :func:`events.envelope`."""

    id: str
    type: str
    subject: str
    project: str
    payload: dict[str, Any]
    time: int
    sequence: int = 0


@dataclass(frozen=True)
class Run:
    """A run of a graph as the workflow service wrote it."""

    id: str
    project: str
    name: str
    state: str
    body: bytes
    create_time: int = 0
    update_time: int = 0
    revision: int = 0
    sequence: int = 0


@dataclass(frozen=True)
class Request:
    """What a request id was used for; ``fingerprint`` tells a repetition from a mistake."""

    id: str
    build_id: str
    fingerprint: str


@dataclass(frozen=True)
class Change:
    """Everything that one use case writes, in one transaction or not at all.

    A record with revision 0 must not exist yet; any other must be stored with exactly that revision, and is stored with
    the next one. New records take the sequence number of the first event. ``replaces`` is the sequence of the artifact
    that must hold the address now; without it the address must be free.
    """

    events: tuple[Event, ...] = ()
    build: Build | None = None
    new_attempt: Attempt | None = None
    attempt: Attempt | None = None
    request: Request | None = None
    artifact: Artifact | None = None
    replaces: int | None = None
    manifest: Manifest | None = None
    run: Run | None = None
