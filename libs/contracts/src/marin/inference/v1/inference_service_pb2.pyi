from marin.inference.v1 import inference_pb2 as _inference_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LoadPolicyRequest(_message.Message):
    __slots__ = ("policy_id", "uri", "digest", "version", "options")
    POLICY_ID_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    policy_id: str
    uri: str
    digest: str
    version: int
    options: _inference_pb2.EngineOptions
    def __init__(self, policy_id: _Optional[str] = ..., uri: _Optional[str] = ..., digest: _Optional[str] = ..., version: _Optional[int] = ..., options: _Optional[_Union[_inference_pb2.EngineOptions, _Mapping]] = ...) -> None: ...

class LoadPolicyResponse(_message.Message):
    __slots__ = ("policy", "action")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    policy: _inference_pb2.Policy
    action: str
    def __init__(self, policy: _Optional[_Union[_inference_pb2.Policy, _Mapping]] = ..., action: _Optional[str] = ...) -> None: ...

class UnloadPolicyRequest(_message.Message):
    __slots__ = ("policy_id", "stop_engine")
    POLICY_ID_FIELD_NUMBER: _ClassVar[int]
    STOP_ENGINE_FIELD_NUMBER: _ClassVar[int]
    policy_id: str
    stop_engine: bool
    def __init__(self, policy_id: _Optional[str] = ..., stop_engine: _Optional[bool] = ...) -> None: ...

class UnloadPolicyResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetPolicyRequest(_message.Message):
    __slots__ = ("policy_id",)
    POLICY_ID_FIELD_NUMBER: _ClassVar[int]
    policy_id: str
    def __init__(self, policy_id: _Optional[str] = ...) -> None: ...

class GetPolicyResponse(_message.Message):
    __slots__ = ("policy", "tensors")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    TENSORS_FIELD_NUMBER: _ClassVar[int]
    policy: _inference_pb2.Policy
    tensors: _containers.RepeatedCompositeFieldContainer[_inference_pb2.TensorInfo]
    def __init__(self, policy: _Optional[_Union[_inference_pb2.Policy, _Mapping]] = ..., tensors: _Optional[_Iterable[_Union[_inference_pb2.TensorInfo, _Mapping]]] = ...) -> None: ...

class ListPoliciesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListPoliciesResponse(_message.Message):
    __slots__ = ("policies",)
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    policies: _containers.RepeatedCompositeFieldContainer[_inference_pb2.Policy]
    def __init__(self, policies: _Optional[_Iterable[_Union[_inference_pb2.Policy, _Mapping]]] = ...) -> None: ...

class WatchPolicyRequest(_message.Message):
    __slots__ = ("policy_id",)
    POLICY_ID_FIELD_NUMBER: _ClassVar[int]
    policy_id: str
    def __init__(self, policy_id: _Optional[str] = ...) -> None: ...

class WatchPolicyResponse(_message.Message):
    __slots__ = ("policy",)
    POLICY_FIELD_NUMBER: _ClassVar[int]
    policy: _inference_pb2.Policy
    def __init__(self, policy: _Optional[_Union[_inference_pb2.Policy, _Mapping]] = ...) -> None: ...

class GenerateRequest(_message.Message):
    __slots__ = ("policy_id", "prompts", "n", "sampling", "exact_version", "min_version")
    POLICY_ID_FIELD_NUMBER: _ClassVar[int]
    PROMPTS_FIELD_NUMBER: _ClassVar[int]
    N_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_FIELD_NUMBER: _ClassVar[int]
    EXACT_VERSION_FIELD_NUMBER: _ClassVar[int]
    MIN_VERSION_FIELD_NUMBER: _ClassVar[int]
    policy_id: str
    prompts: _containers.RepeatedCompositeFieldContainer[_inference_pb2.Prompt]
    n: int
    sampling: _inference_pb2.SamplingParams
    exact_version: int
    min_version: int
    def __init__(self, policy_id: _Optional[str] = ..., prompts: _Optional[_Iterable[_Union[_inference_pb2.Prompt, _Mapping]]] = ..., n: _Optional[int] = ..., sampling: _Optional[_Union[_inference_pb2.SamplingParams, _Mapping]] = ..., exact_version: _Optional[int] = ..., min_version: _Optional[int] = ...) -> None: ...

class GenerateResponse(_message.Message):
    __slots__ = ("sample", "usage")
    SAMPLE_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    sample: _inference_pb2.Sample
    usage: _inference_pb2.Usage
    def __init__(self, sample: _Optional[_Union[_inference_pb2.Sample, _Mapping]] = ..., usage: _Optional[_Union[_inference_pb2.Usage, _Mapping]] = ...) -> None: ...

class UpdateWeightsHeader(_message.Message):
    __slots__ = ("policy_id", "version", "digest", "uri", "tensors", "content_sha256", "probe")
    POLICY_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    TENSORS_FIELD_NUMBER: _ClassVar[int]
    CONTENT_SHA256_FIELD_NUMBER: _ClassVar[int]
    PROBE_FIELD_NUMBER: _ClassVar[int]
    policy_id: str
    version: int
    digest: str
    uri: str
    tensors: _containers.RepeatedCompositeFieldContainer[_inference_pb2.TensorInfo]
    content_sha256: str
    probe: _inference_pb2.Probe
    def __init__(self, policy_id: _Optional[str] = ..., version: _Optional[int] = ..., digest: _Optional[str] = ..., uri: _Optional[str] = ..., tensors: _Optional[_Iterable[_Union[_inference_pb2.TensorInfo, _Mapping]]] = ..., content_sha256: _Optional[str] = ..., probe: _Optional[_Union[_inference_pb2.Probe, _Mapping]] = ...) -> None: ...

class TensorChunk(_message.Message):
    __slots__ = ("name", "data")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    name: str
    data: bytes
    def __init__(self, name: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class UpdateWeightsRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: UpdateWeightsHeader
    chunk: TensorChunk
    def __init__(self, header: _Optional[_Union[UpdateWeightsHeader, _Mapping]] = ..., chunk: _Optional[_Union[TensorChunk, _Mapping]] = ...) -> None: ...

class UpdateWeightsResponse(_message.Message):
    __slots__ = ("policy", "probe", "pause_seconds")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    PROBE_FIELD_NUMBER: _ClassVar[int]
    PAUSE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    policy: _inference_pb2.Policy
    probe: _inference_pb2.ProbeResult
    pause_seconds: float
    def __init__(self, policy: _Optional[_Union[_inference_pb2.Policy, _Mapping]] = ..., probe: _Optional[_Union[_inference_pb2.ProbeResult, _Mapping]] = ..., pause_seconds: _Optional[float] = ...) -> None: ...
