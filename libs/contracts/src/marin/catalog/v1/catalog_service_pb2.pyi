import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.rpc import status_pb2 as _status_pb2
from marin.catalog.v1 import catalog_pb2 as _catalog_pb2
from marin.common.v1 import artifact_pb2 as _artifact_pb2
from marin.common.v1 import job_pb2 as _job_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LineageDirection(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LINEAGE_DIRECTION_UNSPECIFIED: _ClassVar[LineageDirection]
    LINEAGE_DIRECTION_UP: _ClassVar[LineageDirection]
    LINEAGE_DIRECTION_DOWN: _ClassVar[LineageDirection]
LINEAGE_DIRECTION_UNSPECIFIED: LineageDirection
LINEAGE_DIRECTION_UP: LineageDirection
LINEAGE_DIRECTION_DOWN: LineageDirection

class RegisterBuildRequest(_message.Message):
    __slots__ = ("request_id", "kind", "target", "build_key", "spec", "inputs", "max_attempts", "retry")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    BUILD_KEY_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    kind: str
    target: _artifact_pb2.ArtifactTarget
    build_key: str
    spec: _struct_pb2.Struct
    inputs: _containers.RepeatedCompositeFieldContainer[_artifact_pb2.InputRef]
    max_attempts: int
    retry: _catalog_pb2.RetryPolicy
    def __init__(self, request_id: _Optional[str] = ..., kind: _Optional[str] = ..., target: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ..., build_key: _Optional[str] = ..., spec: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., inputs: _Optional[_Iterable[_Union[_artifact_pb2.InputRef, _Mapping]]] = ..., max_attempts: _Optional[int] = ..., retry: _Optional[_Union[_catalog_pb2.RetryPolicy, _Mapping]] = ...) -> None: ...

class RegisterBuildResponse(_message.Message):
    __slots__ = ("build",)
    BUILD_FIELD_NUMBER: _ClassVar[int]
    build: _catalog_pb2.Build
    def __init__(self, build: _Optional[_Union[_catalog_pb2.Build, _Mapping]] = ...) -> None: ...

class GetBuildRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class GetBuildResponse(_message.Message):
    __slots__ = ("build",)
    BUILD_FIELD_NUMBER: _ClassVar[int]
    build: _catalog_pb2.Build
    def __init__(self, build: _Optional[_Union[_catalog_pb2.Build, _Mapping]] = ...) -> None: ...

class ListBuildsRequest(_message.Message):
    __slots__ = ("project", "kinds", "states", "page_size", "page_token")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    project: str
    kinds: _containers.RepeatedScalarFieldContainer[str]
    states: _containers.RepeatedScalarFieldContainer[_job_pb2.JobState]
    page_size: int
    page_token: str
    def __init__(self, project: _Optional[str] = ..., kinds: _Optional[_Iterable[str]] = ..., states: _Optional[_Iterable[_Union[_job_pb2.JobState, str]]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListBuildsResponse(_message.Message):
    __slots__ = ("builds", "next_page_token")
    BUILDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    builds: _containers.RepeatedCompositeFieldContainer[_catalog_pb2.Build]
    next_page_token: str
    def __init__(self, builds: _Optional[_Iterable[_Union[_catalog_pb2.Build, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class WatchBuildRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class WatchBuildResponse(_message.Message):
    __slots__ = ("build",)
    BUILD_FIELD_NUMBER: _ClassVar[int]
    build: _catalog_pb2.Build
    def __init__(self, build: _Optional[_Union[_catalog_pb2.Build, _Mapping]] = ...) -> None: ...

class ListAttemptsRequest(_message.Message):
    __slots__ = ("build_id",)
    BUILD_ID_FIELD_NUMBER: _ClassVar[int]
    build_id: str
    def __init__(self, build_id: _Optional[str] = ...) -> None: ...

class ListAttemptsResponse(_message.Message):
    __slots__ = ("attempts",)
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    attempts: _containers.RepeatedCompositeFieldContainer[_catalog_pb2.Attempt]
    def __init__(self, attempts: _Optional[_Iterable[_Union[_catalog_pb2.Attempt, _Mapping]]] = ...) -> None: ...

class ClaimBuildRequest(_message.Message):
    __slots__ = ("kinds", "holder", "host", "ttl", "wait", "request_id")
    KINDS_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    holder: str
    host: str
    ttl: _duration_pb2.Duration
    wait: _duration_pb2.Duration
    request_id: str
    def __init__(self, kinds: _Optional[_Iterable[str]] = ..., holder: _Optional[str] = ..., host: _Optional[str] = ..., ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class ClaimBuildResponse(_message.Message):
    __slots__ = ("build",)
    BUILD_FIELD_NUMBER: _ClassVar[int]
    build: _catalog_pb2.Build
    def __init__(self, build: _Optional[_Union[_catalog_pb2.Build, _Mapping]] = ...) -> None: ...

class HeartbeatRequest(_message.Message):
    __slots__ = ("build_id", "epoch", "ttl", "progress", "command", "uri", "facts")
    class FactsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    BUILD_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    build_id: str
    epoch: int
    ttl: _duration_pb2.Duration
    progress: _job_pb2.Progress
    command: str
    uri: str
    facts: _containers.ScalarMap[str, str]
    def __init__(self, build_id: _Optional[str] = ..., epoch: _Optional[int] = ..., ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., progress: _Optional[_Union[_job_pb2.Progress, _Mapping]] = ..., command: _Optional[str] = ..., uri: _Optional[str] = ..., facts: _Optional[_Mapping[str, str]] = ...) -> None: ...

class HeartbeatResponse(_message.Message):
    __slots__ = ("cancel_requested",)
    CANCEL_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    cancel_requested: bool
    def __init__(self, cancel_requested: _Optional[bool] = ...) -> None: ...

class CommitArtifactRequest(_message.Message):
    __slots__ = ("build_id", "epoch", "content_digest", "manifest", "uri", "summary", "headline")
    BUILD_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    CONTENT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    HEADLINE_FIELD_NUMBER: _ClassVar[int]
    build_id: str
    epoch: int
    content_digest: str
    manifest: _catalog_pb2.Manifest
    uri: str
    summary: _struct_pb2.Struct
    headline: str
    def __init__(self, build_id: _Optional[str] = ..., epoch: _Optional[int] = ..., content_digest: _Optional[str] = ..., manifest: _Optional[_Union[_catalog_pb2.Manifest, _Mapping]] = ..., uri: _Optional[str] = ..., summary: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., headline: _Optional[str] = ...) -> None: ...

class CommitArtifactResponse(_message.Message):
    __slots__ = ("artifact",)
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    artifact: _catalog_pb2.Artifact
    def __init__(self, artifact: _Optional[_Union[_catalog_pb2.Artifact, _Mapping]] = ...) -> None: ...

class FailBuildRequest(_message.Message):
    __slots__ = ("build_id", "epoch", "error", "retryable", "cancelled", "log_tail")
    BUILD_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    RETRYABLE_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    LOG_TAIL_FIELD_NUMBER: _ClassVar[int]
    build_id: str
    epoch: int
    error: _status_pb2.Status
    retryable: bool
    cancelled: bool
    log_tail: str
    def __init__(self, build_id: _Optional[str] = ..., epoch: _Optional[int] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., retryable: _Optional[bool] = ..., cancelled: _Optional[bool] = ..., log_tail: _Optional[str] = ...) -> None: ...

class FailBuildResponse(_message.Message):
    __slots__ = ("build",)
    BUILD_FIELD_NUMBER: _ClassVar[int]
    build: _catalog_pb2.Build
    def __init__(self, build: _Optional[_Union[_catalog_pb2.Build, _Mapping]] = ...) -> None: ...

class CancelBuildRequest(_message.Message):
    __slots__ = ("id", "reason")
    ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    id: str
    reason: str
    def __init__(self, id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class CancelBuildResponse(_message.Message):
    __slots__ = ("build",)
    BUILD_FIELD_NUMBER: _ClassVar[int]
    build: _catalog_pb2.Build
    def __init__(self, build: _Optional[_Union[_catalog_pb2.Build, _Mapping]] = ...) -> None: ...

class GetArtifactRequest(_message.Message):
    __slots__ = ("target",)
    TARGET_FIELD_NUMBER: _ClassVar[int]
    target: _artifact_pb2.ArtifactTarget
    def __init__(self, target: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ...) -> None: ...

class GetArtifactResponse(_message.Message):
    __slots__ = ("artifact",)
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    artifact: _catalog_pb2.Artifact
    def __init__(self, artifact: _Optional[_Union[_catalog_pb2.Artifact, _Mapping]] = ...) -> None: ...

class GetManifestRequest(_message.Message):
    __slots__ = ("target",)
    TARGET_FIELD_NUMBER: _ClassVar[int]
    target: _artifact_pb2.ArtifactTarget
    def __init__(self, target: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ...) -> None: ...

class GetManifestResponse(_message.Message):
    __slots__ = ("manifest",)
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    manifest: _catalog_pb2.Manifest
    def __init__(self, manifest: _Optional[_Union[_catalog_pb2.Manifest, _Mapping]] = ...) -> None: ...

class FindArtifactRequest(_message.Message):
    __slots__ = ("project", "build_key")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    BUILD_KEY_FIELD_NUMBER: _ClassVar[int]
    project: str
    build_key: str
    def __init__(self, project: _Optional[str] = ..., build_key: _Optional[str] = ...) -> None: ...

class FindArtifactResponse(_message.Message):
    __slots__ = ("artifact",)
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    artifact: _catalog_pb2.Artifact
    def __init__(self, artifact: _Optional[_Union[_catalog_pb2.Artifact, _Mapping]] = ...) -> None: ...

class ListArtifactsRequest(_message.Message):
    __slots__ = ("project", "kinds", "page_size", "page_token")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    project: str
    kinds: _containers.RepeatedScalarFieldContainer[str]
    page_size: int
    page_token: str
    def __init__(self, project: _Optional[str] = ..., kinds: _Optional[_Iterable[str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListArtifactsResponse(_message.Message):
    __slots__ = ("artifacts", "next_page_token")
    ARTIFACTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    artifacts: _containers.RepeatedCompositeFieldContainer[_catalog_pb2.Artifact]
    next_page_token: str
    def __init__(self, artifacts: _Optional[_Iterable[_Union[_catalog_pb2.Artifact, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class AdoptArtifactRequest(_message.Message):
    __slots__ = ("source", "target")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    source: _artifact_pb2.ArtifactTarget
    target: _artifact_pb2.ArtifactTarget
    def __init__(self, source: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ..., target: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ...) -> None: ...

class AdoptArtifactResponse(_message.Message):
    __slots__ = ("artifact",)
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    artifact: _catalog_pb2.Artifact
    def __init__(self, artifact: _Optional[_Union[_catalog_pb2.Artifact, _Mapping]] = ...) -> None: ...

class GetLineageRequest(_message.Message):
    __slots__ = ("target", "direction")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    target: _artifact_pb2.ArtifactTarget
    direction: LineageDirection
    def __init__(self, target: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ..., direction: _Optional[_Union[LineageDirection, str]] = ...) -> None: ...

class LineageNode(_message.Message):
    __slots__ = ("artifact", "distance")
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    artifact: _catalog_pb2.Artifact
    distance: int
    def __init__(self, artifact: _Optional[_Union[_catalog_pb2.Artifact, _Mapping]] = ..., distance: _Optional[int] = ...) -> None: ...

class GetLineageResponse(_message.Message):
    __slots__ = ("nodes",)
    NODES_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[LineageNode]
    def __init__(self, nodes: _Optional[_Iterable[_Union[LineageNode, _Mapping]]] = ...) -> None: ...

class ListEventsRequest(_message.Message):
    __slots__ = ("from_sequence", "page_size", "project")
    FROM_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    from_sequence: int
    page_size: int
    project: str
    def __init__(self, from_sequence: _Optional[int] = ..., page_size: _Optional[int] = ..., project: _Optional[str] = ...) -> None: ...

class ListEventsResponse(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_catalog_pb2.Event]
    def __init__(self, events: _Optional[_Iterable[_Union[_catalog_pb2.Event, _Mapping]]] = ...) -> None: ...

class WatchEventsRequest(_message.Message):
    __slots__ = ("from_sequence", "project")
    FROM_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    from_sequence: int
    project: str
    def __init__(self, from_sequence: _Optional[int] = ..., project: _Optional[str] = ...) -> None: ...

class WatchEventsResponse(_message.Message):
    __slots__ = ("event",)
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event: _catalog_pb2.Event
    def __init__(self, event: _Optional[_Union[_catalog_pb2.Event, _Mapping]] = ...) -> None: ...

class CreateRunRequest(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _catalog_pb2.Run
    def __init__(self, run: _Optional[_Union[_catalog_pb2.Run, _Mapping]] = ...) -> None: ...

class CreateRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _catalog_pb2.Run
    def __init__(self, run: _Optional[_Union[_catalog_pb2.Run, _Mapping]] = ...) -> None: ...

class UpdateRunRequest(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _catalog_pb2.Run
    def __init__(self, run: _Optional[_Union[_catalog_pb2.Run, _Mapping]] = ...) -> None: ...

class UpdateRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _catalog_pb2.Run
    def __init__(self, run: _Optional[_Union[_catalog_pb2.Run, _Mapping]] = ...) -> None: ...

class GetRunRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class GetRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _catalog_pb2.Run
    def __init__(self, run: _Optional[_Union[_catalog_pb2.Run, _Mapping]] = ...) -> None: ...

class ListRunsRequest(_message.Message):
    __slots__ = ("project", "states", "page_size")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    project: str
    states: _containers.RepeatedScalarFieldContainer[str]
    page_size: int
    def __init__(self, project: _Optional[str] = ..., states: _Optional[_Iterable[str]] = ..., page_size: _Optional[int] = ...) -> None: ...

class ListRunsResponse(_message.Message):
    __slots__ = ("runs",)
    RUNS_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[_catalog_pb2.Run]
    def __init__(self, runs: _Optional[_Iterable[_Union[_catalog_pb2.Run, _Mapping]]] = ...) -> None: ...

class RebuildStreamRequest(_message.Message):
    __slots__ = ("from_sequence",)
    FROM_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    from_sequence: int
    def __init__(self, from_sequence: _Optional[int] = ...) -> None: ...

class RebuildStreamResponse(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: int
    def __init__(self, events: _Optional[int] = ...) -> None: ...

class ListDeadLettersRequest(_message.Message):
    __slots__ = ("consumer",)
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    def __init__(self, consumer: _Optional[str] = ...) -> None: ...

class ListDeadLettersResponse(_message.Message):
    __slots__ = ("letters",)
    LETTERS_FIELD_NUMBER: _ClassVar[int]
    letters: _containers.RepeatedCompositeFieldContainer[_catalog_pb2.DeadLetter]
    def __init__(self, letters: _Optional[_Iterable[_Union[_catalog_pb2.DeadLetter, _Mapping]]] = ...) -> None: ...

class ReplayDeadLettersRequest(_message.Message):
    __slots__ = ("sequences", "consumer")
    SEQUENCES_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    sequences: _containers.RepeatedScalarFieldContainer[int]
    consumer: str
    def __init__(self, sequences: _Optional[_Iterable[int]] = ..., consumer: _Optional[str] = ...) -> None: ...

class ReplayDeadLettersResponse(_message.Message):
    __slots__ = ("letters",)
    LETTERS_FIELD_NUMBER: _ClassVar[int]
    letters: _containers.RepeatedCompositeFieldContainer[_catalog_pb2.DeadLetter]
    def __init__(self, letters: _Optional[_Iterable[_Union[_catalog_pb2.DeadLetter, _Mapping]]] = ...) -> None: ...

class ListUnreferencedRequest(_message.Message):
    __slots__ = ("project",)
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    project: str
    def __init__(self, project: _Optional[str] = ...) -> None: ...

class ListUnreferencedResponse(_message.Message):
    __slots__ = ("unreferenced",)
    UNREFERENCED_FIELD_NUMBER: _ClassVar[int]
    unreferenced: _containers.RepeatedCompositeFieldContainer[_catalog_pb2.Unreferenced]
    def __init__(self, unreferenced: _Optional[_Iterable[_Union[_catalog_pb2.Unreferenced, _Mapping]]] = ...) -> None: ...
