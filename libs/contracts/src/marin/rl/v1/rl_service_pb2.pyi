from marin.common.v1 import artifact_pb2 as _artifact_pb2
from marin.common.v1 import job_pb2 as _job_pb2
from marin.rl.v1 import rl_pb2 as _rl_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CreateGrpoJobRequest(_message.Message):
    __slots__ = ("request_id", "target", "spec", "inputs")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    target: _artifact_pb2.ArtifactTarget
    spec: _rl_pb2.GrpoSpec
    inputs: _containers.RepeatedCompositeFieldContainer[_artifact_pb2.InputRef]
    def __init__(self, request_id: _Optional[str] = ..., target: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ..., spec: _Optional[_Union[_rl_pb2.GrpoSpec, _Mapping]] = ..., inputs: _Optional[_Iterable[_Union[_artifact_pb2.InputRef, _Mapping]]] = ...) -> None: ...

class CreateGrpoJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ...) -> None: ...
