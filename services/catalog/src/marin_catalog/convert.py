"""Messages to records of the core and back."""

from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc import status_pb2

from marin.catalog.v1 import catalog_pb2 as pb
from marin.common.v1 import artifact_pb2, job_pb2
from marin_catalog.core import events
from marin_catalog.core.letters import Letter
from marin_catalog.core.model import (
    Artifact,
    Attempt,
    Build,
    Event,
    Failure,
    FileEntry,
    Input,
    Manifest,
    Progress,
    RetryPolicy,
    Run,
    State,
    Target,
    Unreferenced,
)
from marin_chassis.errors import from_status, to_status

_STATE = {s: job_pb2.JobState.Value(f"JOB_STATE_{s.value}") for s in State}
_STATE_OF = {v: k for k, v in _STATE.items()}


def target_of(m: artifact_pb2.ArtifactTarget) -> Target:
    return Target(m.project, m.name, m.version)


def target(t: Target) -> artifact_pb2.ArtifactTarget:
    return artifact_pb2.ArtifactTarget(project=t.project, name=t.name, version=t.version)


def inputs_of(refs: Any) -> tuple[Input, ...]:
    return tuple(Input(r.role, r.address, r.content_digest) for r in refs)


def inputs(records: tuple[Input, ...]) -> list[artifact_pb2.InputRef]:
    return [artifact_pb2.InputRef(role=i.role, address=i.address, content_digest=i.content_digest) for i in records]


def states_of(values: Any) -> list[State]:
    """Unknown numbers, of newer clients, match nothing here and are left out."""
    return [_STATE_OF[v] for v in values if v in _STATE_OF]


def micros(m: Duration | Timestamp) -> int:
    return m.seconds * 1_000_000 + m.nanos // 1000


def text(value: str) -> str:
    """Text for people, as any database can hold it."""
    return value.replace("\0", "\ufffd")


def plain(value: Any) -> Any:
    """A Struct, ListValue or Value as Python data. Whole numbers are ints; NaN and infinities are kept."""
    if isinstance(value, Struct):
        return {k: plain(v) for k, v in value.fields.items()}
    if not isinstance(value, Value):
        return [plain(v) for v in value.values]
    kind = value.WhichOneof("kind")
    if kind in ("struct_value", "list_value"):
        return plain(getattr(value, kind))
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return None if kind in (None, "null_value") else getattr(value, kind)


def failure_of(m: status_pb2.Status) -> Failure:
    e = from_status(m)
    return Failure(e.code, e.reason, text(e.message), text(e.hint), {k: text(str(v)) for k, v in e.metadata.items()})


def status(f: Failure) -> status_pb2.Status:
    return to_status({"code": f.code, "reason": f.reason, "message": f.message, "hint": f.hint, "metadata": f.metadata})


def retry_of(m: pb.RetryPolicy, max_attempts: int) -> RetryPolicy:
    """``max_attempts`` is that of the request, which goes first."""
    default = RetryPolicy()
    base = micros(m.backoff_base) if m.HasField("backoff_base") else default.backoff_base
    longest = micros(m.backoff_max) if m.HasField("backoff_max") else max(base, default.backoff_max)
    return RetryPolicy(max_attempts or m.max_attempts or default.max_attempts, base, longest)


def retry(r: RetryPolicy) -> pb.RetryPolicy:
    return pb.RetryPolicy(
        max_attempts=r.max_attempts, backoff_base=_duration(r.backoff_base), backoff_max=_duration(r.backoff_max)
    )


def progress_of(m: job_pb2.Progress) -> Progress:
    return Progress(m.phase, m.step, m.total, dict(m.metrics), micros(m.time))


def manifest_of(m: pb.Manifest) -> Manifest:
    content, record = (tuple(FileEntry(f.path, f.size, f.sha256) for f in part) for part in (m.content, m.record))
    return Manifest(content, record)


def manifest(m: Manifest) -> pb.Manifest:
    content, record = (
        [pb.ManifestFile(path=f.path, size=f.size, sha256=f.sha256) for f in part] for part in (m.content, m.record)
    )
    return pb.Manifest(content=content, record=record)


def build(b: Build) -> pb.Build:
    m = pb.Build(
        id=b.id,
        kind=b.kind,
        target=target(b.target),
        build_key=b.build_key,
        spec=_struct(b.spec),
        inputs=inputs(b.inputs),
        state=_STATE[b.state],
        attempt=b.attempt,
        epoch=b.epoch,
        lease_holder=b.lease_holder,
        cancel_requested=b.cancel_requested,
        error=status(b.error) if b.error else None,
        uri=b.uri,
        content_digest=b.content_digest,
        max_attempts=b.retry.max_attempts,
        retry=retry(b.retry),
        preemptions=b.preemptions,
        **_times(
            not_before_time=b.not_before or None,
            lease_expire_time=b.lease_expire,
            create_time=b.create_time,
            update_time=b.update_time,
            end_time=b.end_time,
        ),
    )
    if p := b.progress:
        m.progress.CopyFrom(
            job_pb2.Progress(phase=p.phase, step=p.step, total=p.total, metrics=p.metrics, **_times(time=p.time))
        )
    return m


def attempt(a: Attempt) -> pb.Attempt:
    return pb.Attempt(
        build_id=a.build_id,
        number=a.number,
        epoch=a.epoch,
        holder=a.holder,
        host=a.host,
        command=a.command,
        uri=a.uri,
        outcome=a.outcome.value,
        error=status(a.error) if a.error else None,
        log_tail=a.log_tail,
        facts=a.facts,
        **_times(start_time=a.start_time, end_time=a.end_time),
    )


def artifact(a: Artifact) -> pb.Artifact:
    return pb.Artifact(
        target=target(a.target),
        kind=a.kind,
        content_digest=a.content_digest,
        build_key=a.build_key,
        build_id=a.build_id,
        attempt=a.attempt,
        uri=a.uri,
        bytes=a.bytes,
        files=a.files,
        summary=_struct(a.summary),
        headline=a.headline,
        inputs=inputs(a.inputs),
        seconds=a.seconds,
        adopted_from=a.adopted_from,
        **_times(create_time=a.create_time),
    )


def unreferenced(u: Unreferenced) -> pb.Unreferenced:
    return pb.Unreferenced(
        uri=u.attempt.uri,
        build_id=u.attempt.build_id,
        attempt=u.attempt.number,
        kind=u.kind,
        target=target(u.target),
        reason=u.reason,
        **_times(end_time=u.attempt.end_time),
    )


def letter(x: Letter) -> pb.DeadLetter:
    return pb.DeadLetter(
        sequence=x.sequence,
        consumer=x.consumer,
        subject=x.subject,
        event_id=x.event_id,
        error=x.error,
        deliveries=x.deliveries,
        **_times(time=x.time),
    )


def event(e: Event) -> pb.Event:
    return pb.Event(
        sequence=e.sequence,
        id=e.id,
        type=e.type,
        subject=e.subject,
        project=e.project,
        payload=_struct(events.envelope(e)),
        **_times(time=e.time),
    )


def run_of(m: pb.Run) -> Run:
    return Run(m.id, m.project, text(m.name), m.state, m.body, revision=m.revision)


def run(r: Run) -> pb.Run:
    return pb.Run(
        id=r.id,
        project=r.project,
        name=r.name,
        state=r.state,
        body=r.body,
        revision=r.revision,
        **_times(create_time=r.create_time, update_time=r.update_time),
    )


def _struct(value: dict[str, Any]) -> Struct:
    struct = Struct()
    struct.update(value)
    return struct


def _duration(value: int) -> Duration:
    return Duration(seconds=value // 1_000_000, nanos=value % 1_000_000 * 1000)


def _times(**micros_by_name: int | None) -> dict[str, Timestamp]:
    return {
        name: Timestamp(seconds=value // 1_000_000, nanos=value % 1_000_000 * 1000)
        for name, value in micros_by_name.items()
        if value is not None
    }
