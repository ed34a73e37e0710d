from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class ArtifactTarget(_message.Message):
    __slots__ = ("project", "name", "version", "supersedes")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDES_FIELD_NUMBER: _ClassVar[int]
    project: str
    name: str
    version: str
    supersedes: str
    def __init__(self, project: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[str] = ..., supersedes: _Optional[str] = ...) -> None: ...

class InputRef(_message.Message):
    __slots__ = ("role", "address", "content_digest")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CONTENT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    role: str
    address: str
    content_digest: str
    def __init__(self, role: _Optional[str] = ..., address: _Optional[str] = ..., content_digest: _Optional[str] = ...) -> None: ...
