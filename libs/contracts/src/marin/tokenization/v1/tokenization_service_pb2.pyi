from marin.common.v1 import artifact_pb2 as _artifact_pb2
from marin.common.v1 import job_pb2 as _job_pb2
from marin.tokenization.v1 import tokenization_pb2 as _tokenization_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CreateTrainTokenizerJobRequest(_message.Message):
    __slots__ = ("request_id", "target", "spec", "inputs")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    target: _artifact_pb2.ArtifactTarget
    spec: _tokenization_pb2.TrainTokenizerSpec
    inputs: _containers.RepeatedCompositeFieldContainer[_artifact_pb2.InputRef]
    def __init__(self, request_id: _Optional[str] = ..., target: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ..., spec: _Optional[_Union[_tokenization_pb2.TrainTokenizerSpec, _Mapping]] = ..., inputs: _Optional[_Iterable[_Union[_artifact_pb2.InputRef, _Mapping]]] = ...) -> None: ...

class CreateTrainTokenizerJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ...) -> None: ...

class CreateImportTokenizerJobRequest(_message.Message):
    __slots__ = ("request_id", "target", "spec", "inputs")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    target: _artifact_pb2.ArtifactTarget
    spec: _tokenization_pb2.ImportTokenizerSpec
    inputs: _containers.RepeatedCompositeFieldContainer[_artifact_pb2.InputRef]
    def __init__(self, request_id: _Optional[str] = ..., target: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ..., spec: _Optional[_Union[_tokenization_pb2.ImportTokenizerSpec, _Mapping]] = ..., inputs: _Optional[_Iterable[_Union[_artifact_pb2.InputRef, _Mapping]]] = ...) -> None: ...

class CreateImportTokenizerJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ...) -> None: ...

class CreateTokenizeJobRequest(_message.Message):
    __slots__ = ("request_id", "target", "spec", "inputs")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    target: _artifact_pb2.ArtifactTarget
    spec: _tokenization_pb2.TokenizeSpec
    inputs: _containers.RepeatedCompositeFieldContainer[_artifact_pb2.InputRef]
    def __init__(self, request_id: _Optional[str] = ..., target: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ..., spec: _Optional[_Union[_tokenization_pb2.TokenizeSpec, _Mapping]] = ..., inputs: _Optional[_Iterable[_Union[_artifact_pb2.InputRef, _Mapping]]] = ...) -> None: ...

class CreateTokenizeJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ...) -> None: ...
