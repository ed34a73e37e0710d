from marin.common.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Dedup(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DEDUP_UNSPECIFIED: _ClassVar[Dedup]
    DEDUP_NONE: _ClassVar[Dedup]
    DEDUP_EXACT: _ClassVar[Dedup]

class Runner(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUNNER_UNSPECIFIED: _ClassVar[Runner]
    RUNNER_IN_PROCESS: _ClassVar[Runner]
    RUNNER_PROCESSES: _ClassVar[Runner]
DEDUP_UNSPECIFIED: Dedup
DEDUP_NONE: Dedup
DEDUP_EXACT: Dedup
RUNNER_UNSPECIFIED: Runner
RUNNER_IN_PROCESS: Runner
RUNNER_PROCESSES: Runner

class SampleSource(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class FileSource(_message.Message):
    __slots__ = ("path",)
    PATH_FIELD_NUMBER: _ClassVar[int]
    path: str
    def __init__(self, path: _Optional[str] = ...) -> None: ...

class HubSource(_message.Message):
    __slots__ = ("dataset", "revision", "path")
    DATASET_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    dataset: str
    revision: str
    path: str
    def __init__(self, dataset: _Optional[str] = ..., revision: _Optional[str] = ..., path: _Optional[str] = ...) -> None: ...

class Source(_message.Message):
    __slots__ = ("name", "sample", "file", "hub", "column", "limit", "sha256")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    HUB_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    name: str
    sample: SampleSource
    file: FileSource
    hub: HubSource
    column: str
    limit: int
    sha256: str
    def __init__(self, name: _Optional[str] = ..., sample: _Optional[_Union[SampleSource, _Mapping]] = ..., file: _Optional[_Union[FileSource, _Mapping]] = ..., hub: _Optional[_Union[HubSource, _Mapping]] = ..., column: _Optional[str] = ..., limit: _Optional[int] = ..., sha256: _Optional[str] = ...) -> None: ...

class Filters(_message.Message):
    __slots__ = ("min_text_length", "max_text_length", "max_repetition", "max_top_trigram", "min_alphabetic_words")
    MIN_TEXT_LENGTH_FIELD_NUMBER: _ClassVar[int]
    MAX_TEXT_LENGTH_FIELD_NUMBER: _ClassVar[int]
    MAX_REPETITION_FIELD_NUMBER: _ClassVar[int]
    MAX_TOP_TRIGRAM_FIELD_NUMBER: _ClassVar[int]
    MIN_ALPHABETIC_WORDS_FIELD_NUMBER: _ClassVar[int]
    min_text_length: int
    max_text_length: int
    max_repetition: float
    max_top_trigram: float
    min_alphabetic_words: float
    def __init__(self, min_text_length: _Optional[int] = ..., max_text_length: _Optional[int] = ..., max_repetition: _Optional[float] = ..., max_top_trigram: _Optional[float] = ..., min_alphabetic_words: _Optional[float] = ...) -> None: ...

class RunPipelineSpec(_message.Message):
    __slots__ = ("sources", "filters", "dedup", "shards", "workers", "runner", "sample_count")
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    FILTERS_FIELD_NUMBER: _ClassVar[int]
    DEDUP_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    RUNNER_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_COUNT_FIELD_NUMBER: _ClassVar[int]
    sources: _containers.RepeatedCompositeFieldContainer[Source]
    filters: Filters
    dedup: Dedup
    shards: int
    workers: int
    runner: Runner
    sample_count: int
    def __init__(self, sources: _Optional[_Iterable[_Union[Source, _Mapping]]] = ..., filters: _Optional[_Union[Filters, _Mapping]] = ..., dedup: _Optional[_Union[Dedup, str]] = ..., shards: _Optional[int] = ..., workers: _Optional[int] = ..., runner: _Optional[_Union[Runner, str]] = ..., sample_count: _Optional[int] = ...) -> None: ...

class ConvertConversationsSpec(_message.Message):
    __slots__ = ("sources", "dedup", "shards", "workers", "runner", "sample_count")
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    DEDUP_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    RUNNER_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_COUNT_FIELD_NUMBER: _ClassVar[int]
    sources: _containers.RepeatedCompositeFieldContainer[Source]
    dedup: Dedup
    shards: int
    workers: int
    runner: Runner
    sample_count: int
    def __init__(self, sources: _Optional[_Iterable[_Union[Source, _Mapping]]] = ..., dedup: _Optional[_Union[Dedup, str]] = ..., shards: _Optional[int] = ..., workers: _Optional[int] = ..., runner: _Optional[_Union[Runner, str]] = ..., sample_count: _Optional[int] = ...) -> None: ...

class ConvertProblemsSpec(_message.Message):
    __slots__ = ("train", "validation", "data_source", "env_class", "instruction")
    TRAIN_FIELD_NUMBER: _ClassVar[int]
    VALIDATION_FIELD_NUMBER: _ClassVar[int]
    DATA_SOURCE_FIELD_NUMBER: _ClassVar[int]
    ENV_CLASS_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTION_FIELD_NUMBER: _ClassVar[int]
    train: Source
    validation: Source
    data_source: str
    env_class: str
    instruction: str
    def __init__(self, train: _Optional[_Union[Source, _Mapping]] = ..., validation: _Optional[_Union[Source, _Mapping]] = ..., data_source: _Optional[str] = ..., env_class: _Optional[str] = ..., instruction: _Optional[str] = ...) -> None: ...
