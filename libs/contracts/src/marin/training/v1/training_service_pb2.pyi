from marin.common.v1 import artifact_pb2 as _artifact_pb2
from marin.common.v1 import job_pb2 as _job_pb2
from marin.training.v1 import training_pb2 as _training_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CreatePretrainJobRequest(_message.Message):
    __slots__ = ("request_id", "target", "spec", "inputs")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    target: _artifact_pb2.ArtifactTarget
    spec: _training_pb2.PretrainSpec
    inputs: _containers.RepeatedCompositeFieldContainer[_artifact_pb2.InputRef]
    def __init__(self, request_id: _Optional[str] = ..., target: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ..., spec: _Optional[_Union[_training_pb2.PretrainSpec, _Mapping]] = ..., inputs: _Optional[_Iterable[_Union[_artifact_pb2.InputRef, _Mapping]]] = ...) -> None: ...

class CreatePretrainJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ...) -> None: ...

class CreateSftJobRequest(_message.Message):
    __slots__ = ("request_id", "target", "spec", "inputs")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    target: _artifact_pb2.ArtifactTarget
    spec: _training_pb2.SftSpec
    inputs: _containers.RepeatedCompositeFieldContainer[_artifact_pb2.InputRef]
    def __init__(self, request_id: _Optional[str] = ..., target: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ..., spec: _Optional[_Union[_training_pb2.SftSpec, _Mapping]] = ..., inputs: _Optional[_Iterable[_Union[_artifact_pb2.InputRef, _Mapping]]] = ...) -> None: ...

class CreateSftJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ...) -> None: ...
