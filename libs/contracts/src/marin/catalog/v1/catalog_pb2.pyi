import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.rpc import status_pb2 as _status_pb2
from marin.common.v1 import artifact_pb2 as _artifact_pb2
from marin.common.v1 import job_pb2 as _job_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RetryPolicy(_message.Message):
    __slots__ = ("max_attempts", "backoff_base", "backoff_max")
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_BASE_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_MAX_FIELD_NUMBER: _ClassVar[int]
    max_attempts: int
    backoff_base: _duration_pb2.Duration
    backoff_max: _duration_pb2.Duration
    def __init__(self, max_attempts: _Optional[int] = ..., backoff_base: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., backoff_max: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Build(_message.Message):
    __slots__ = ("id", "kind", "target", "build_key", "spec", "inputs", "state", "attempt", "epoch", "lease_holder", "lease_expire_time", "cancel_requested", "error", "progress", "uri", "content_digest", "create_time", "update_time", "end_time", "max_attempts", "retry", "not_before_time", "preemptions")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    BUILD_KEY_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    LEASE_HOLDER_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    CANCEL_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    CONTENT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_TIME_FIELD_NUMBER: _ClassVar[int]
    PREEMPTIONS_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: str
    target: _artifact_pb2.ArtifactTarget
    build_key: str
    spec: _struct_pb2.Struct
    inputs: _containers.RepeatedCompositeFieldContainer[_artifact_pb2.InputRef]
    state: _job_pb2.JobState
    attempt: int
    epoch: int
    lease_holder: str
    lease_expire_time: _timestamp_pb2.Timestamp
    cancel_requested: bool
    error: _status_pb2.Status
    progress: _job_pb2.Progress
    uri: str
    content_digest: str
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    max_attempts: int
    retry: RetryPolicy
    not_before_time: _timestamp_pb2.Timestamp
    preemptions: int
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[str] = ..., target: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ..., build_key: _Optional[str] = ..., spec: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., inputs: _Optional[_Iterable[_Union[_artifact_pb2.InputRef, _Mapping]]] = ..., state: _Optional[_Union[_job_pb2.JobState, str]] = ..., attempt: _Optional[int] = ..., epoch: _Optional[int] = ..., lease_holder: _Optional[str] = ..., lease_expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., cancel_requested: _Optional[bool] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., progress: _Optional[_Union[_job_pb2.Progress, _Mapping]] = ..., uri: _Optional[str] = ..., content_digest: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., max_attempts: _Optional[int] = ..., retry: _Optional[_Union[RetryPolicy, _Mapping]] = ..., not_before_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., preemptions: _Optional[int] = ...) -> None: ...

class Attempt(_message.Message):
    __slots__ = ("build_id", "number", "epoch", "holder", "host", "command", "uri", "outcome", "error", "log_tail", "start_time", "end_time", "facts")
    class FactsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    BUILD_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    LOG_TAIL_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    build_id: str
    number: int
    epoch: int
    holder: str
    host: str
    command: str
    uri: str
    outcome: str
    error: _status_pb2.Status
    log_tail: str
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    facts: _containers.ScalarMap[str, str]
    def __init__(self, build_id: _Optional[str] = ..., number: _Optional[int] = ..., epoch: _Optional[int] = ..., holder: _Optional[str] = ..., host: _Optional[str] = ..., command: _Optional[str] = ..., uri: _Optional[str] = ..., outcome: _Optional[str] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., log_tail: _Optional[str] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., facts: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Unreferenced(_message.Message):
    __slots__ = ("uri", "build_id", "attempt", "kind", "target", "reason", "end_time")
    URI_FIELD_NUMBER: _ClassVar[int]
    BUILD_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    uri: str
    build_id: str
    attempt: int
    kind: str
    target: _artifact_pb2.ArtifactTarget
    reason: str
    end_time: _timestamp_pb2.Timestamp
    def __init__(self, uri: _Optional[str] = ..., build_id: _Optional[str] = ..., attempt: _Optional[int] = ..., kind: _Optional[str] = ..., target: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ..., reason: _Optional[str] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class DeadLetter(_message.Message):
    __slots__ = ("sequence", "consumer", "subject", "event_id", "error", "deliveries", "time")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    consumer: str
    subject: str
    event_id: str
    error: str
    deliveries: int
    time: _timestamp_pb2.Timestamp
    def __init__(self, sequence: _Optional[int] = ..., consumer: _Optional[str] = ..., subject: _Optional[str] = ..., event_id: _Optional[str] = ..., error: _Optional[str] = ..., deliveries: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ManifestFile(_message.Message):
    __slots__ = ("path", "size", "sha256")
    PATH_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    path: str
    size: int
    sha256: str
    def __init__(self, path: _Optional[str] = ..., size: _Optional[int] = ..., sha256: _Optional[str] = ...) -> None: ...

class Manifest(_message.Message):
    __slots__ = ("content", "record")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    content: _containers.RepeatedCompositeFieldContainer[ManifestFile]
    record: _containers.RepeatedCompositeFieldContainer[ManifestFile]
    def __init__(self, content: _Optional[_Iterable[_Union[ManifestFile, _Mapping]]] = ..., record: _Optional[_Iterable[_Union[ManifestFile, _Mapping]]] = ...) -> None: ...

class Artifact(_message.Message):
    __slots__ = ("target", "kind", "content_digest", "build_key", "build_id", "attempt", "uri", "bytes", "files", "summary", "headline", "inputs", "create_time", "seconds", "adopted_from")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CONTENT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    BUILD_KEY_FIELD_NUMBER: _ClassVar[int]
    BUILD_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    HEADLINE_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    ADOPTED_FROM_FIELD_NUMBER: _ClassVar[int]
    target: _artifact_pb2.ArtifactTarget
    kind: str
    content_digest: str
    build_key: str
    build_id: str
    attempt: int
    uri: str
    bytes: int
    files: int
    summary: _struct_pb2.Struct
    headline: str
    inputs: _containers.RepeatedCompositeFieldContainer[_artifact_pb2.InputRef]
    create_time: _timestamp_pb2.Timestamp
    seconds: float
    adopted_from: str
    def __init__(self, target: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ..., kind: _Optional[str] = ..., content_digest: _Optional[str] = ..., build_key: _Optional[str] = ..., build_id: _Optional[str] = ..., attempt: _Optional[int] = ..., uri: _Optional[str] = ..., bytes: _Optional[int] = ..., files: _Optional[int] = ..., summary: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., headline: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[_artifact_pb2.InputRef, _Mapping]]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., seconds: _Optional[float] = ..., adopted_from: _Optional[str] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("sequence", "id", "type", "subject", "project", "payload", "time")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    id: str
    type: str
    subject: str
    project: str
    payload: _struct_pb2.Struct
    time: _timestamp_pb2.Timestamp
    def __init__(self, sequence: _Optional[int] = ..., id: _Optional[str] = ..., type: _Optional[str] = ..., subject: _Optional[str] = ..., project: _Optional[str] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Run(_message.Message):
    __slots__ = ("id", "project", "name", "state", "body", "revision", "create_time", "update_time")
    ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    id: str
    project: str
    name: str
    state: str
    body: bytes
    revision: int
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., project: _Optional[str] = ..., name: _Optional[str] = ..., state: _Optional[str] = ..., body: _Optional[bytes] = ..., revision: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
