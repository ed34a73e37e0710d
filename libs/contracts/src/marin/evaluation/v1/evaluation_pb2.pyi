from marin.common.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Harness(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HARNESS_UNSPECIFIED: _ClassVar[Harness]
    HARNESS_LM_EVAL: _ClassVar[Harness]
    HARNESS_HARBOR: _ClassVar[Harness]
HARNESS_UNSPECIFIED: Harness
HARNESS_LM_EVAL: Harness
HARNESS_HARBOR: Harness

class EvaluationTask(_message.Message):
    __slots__ = ("name", "harness", "task_set", "limit", "num_fewshot", "max_gen_tokens", "seed", "temperature")
    NAME_FIELD_NUMBER: _ClassVar[int]
    HARNESS_FIELD_NUMBER: _ClassVar[int]
    TASK_SET_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    NUM_FEWSHOT_FIELD_NUMBER: _ClassVar[int]
    MAX_GEN_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    name: str
    harness: Harness
    task_set: str
    limit: int
    num_fewshot: int
    max_gen_tokens: int
    seed: int
    temperature: float
    def __init__(self, name: _Optional[str] = ..., harness: _Optional[_Union[Harness, str]] = ..., task_set: _Optional[str] = ..., limit: _Optional[int] = ..., num_fewshot: _Optional[int] = ..., max_gen_tokens: _Optional[int] = ..., seed: _Optional[int] = ..., temperature: _Optional[float] = ...) -> None: ...

class EvaluateSpec(_message.Message):
    __slots__ = ("tasks", "max_model_len", "apply_chat_template", "num_concurrent", "min_coverage", "task_timeout_s", "endpoint_patience_s")
    TASKS_FIELD_NUMBER: _ClassVar[int]
    MAX_MODEL_LEN_FIELD_NUMBER: _ClassVar[int]
    APPLY_CHAT_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    NUM_CONCURRENT_FIELD_NUMBER: _ClassVar[int]
    MIN_COVERAGE_FIELD_NUMBER: _ClassVar[int]
    TASK_TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_PATIENCE_S_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[EvaluationTask]
    max_model_len: int
    apply_chat_template: bool
    num_concurrent: int
    min_coverage: float
    task_timeout_s: int
    endpoint_patience_s: int
    def __init__(self, tasks: _Optional[_Iterable[_Union[EvaluationTask, _Mapping]]] = ..., max_model_len: _Optional[int] = ..., apply_chat_template: _Optional[bool] = ..., num_concurrent: _Optional[int] = ..., min_coverage: _Optional[float] = ..., task_timeout_s: _Optional[int] = ..., endpoint_patience_s: _Optional[int] = ...) -> None: ...
