from marin.common.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TrainTokenizerSpec(_message.Message):
    __slots__ = ("vocab_size", "min_frequency", "eos_token", "pad_token", "additional_special_tokens", "chat_template", "text_field")
    VOCAB_SIZE_FIELD_NUMBER: _ClassVar[int]
    MIN_FREQUENCY_FIELD_NUMBER: _ClassVar[int]
    EOS_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PAD_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ADDITIONAL_SPECIAL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CHAT_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_FIELD_NUMBER: _ClassVar[int]
    vocab_size: int
    min_frequency: int
    eos_token: str
    pad_token: str
    additional_special_tokens: _containers.RepeatedScalarFieldContainer[str]
    chat_template: str
    text_field: str
    def __init__(self, vocab_size: _Optional[int] = ..., min_frequency: _Optional[int] = ..., eos_token: _Optional[str] = ..., pad_token: _Optional[str] = ..., additional_special_tokens: _Optional[_Iterable[str]] = ..., chat_template: _Optional[str] = ..., text_field: _Optional[str] = ...) -> None: ...

class HubTokenizer(_message.Message):
    __slots__ = ("repo", "revision")
    REPO_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    repo: str
    revision: str
    def __init__(self, repo: _Optional[str] = ..., revision: _Optional[str] = ...) -> None: ...

class TokenizerDirectory(_message.Message):
    __slots__ = ("path", "sha256")
    PATH_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    path: str
    sha256: str
    def __init__(self, path: _Optional[str] = ..., sha256: _Optional[str] = ...) -> None: ...

class ImportTokenizerSpec(_message.Message):
    __slots__ = ("hub", "directory", "chat_template")
    HUB_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    CHAT_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    hub: HubTokenizer
    directory: TokenizerDirectory
    chat_template: str
    def __init__(self, hub: _Optional[_Union[HubTokenizer, _Mapping]] = ..., directory: _Optional[_Union[TokenizerDirectory, _Mapping]] = ..., chat_template: _Optional[str] = ...) -> None: ...

class TokenizeSpec(_message.Message):
    __slots__ = ("text_field", "omit_eos")
    TEXT_FIELD_FIELD_NUMBER: _ClassVar[int]
    OMIT_EOS_FIELD_NUMBER: _ClassVar[int]
    text_field: str
    omit_eos: bool
    def __init__(self, text_field: _Optional[str] = ..., omit_eos: _Optional[bool] = ...) -> None: ...
