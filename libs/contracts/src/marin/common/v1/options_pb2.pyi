from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class Identity(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IDENTITY_UNSPECIFIED: _ClassVar[Identity]
    IDENTITY_SEMANTIC: _ClassVar[Identity]
    IDENTITY_INCIDENTAL: _ClassVar[Identity]
IDENTITY_UNSPECIFIED: Identity
IDENTITY_SEMANTIC: Identity
IDENTITY_INCIDENTAL: Identity
IDENTITY_FIELD_NUMBER: _ClassVar[int]
identity: _descriptor.FieldDescriptor
