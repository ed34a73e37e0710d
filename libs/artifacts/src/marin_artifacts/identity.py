"""Specs as plain data, and the build key that stands on them."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from marin.common.v1 import options_pb2
from marin_contracts.kinds import KINDS


def spec_dict(message: Message) -> dict[str, Any]:
    """The spec as an engine gets it: proto field names, every field present, enums by name, unset messages None."""
    return _to_dict(message, identity_only=False)


def semantic_dict(message: Message) -> dict[str, Any]:
    """The part of a spec that can change bytes: fields marked incidental and fields left at their default are out,
    so that a field added later does not change the key of a spec that does not use it."""
    return _to_dict(message, identity_only=True)


def build_key(kind: str, spec: Message, inputs: Mapping[str, str]) -> str:
    """sha256 in hex over kind, engine, semantic spec and ``inputs`` (role -> content digest)."""
    return hashlib.sha256(
        canonical({"kind": kind, "engine": KINDS[kind].engine, "spec": semantic_dict(spec), "inputs": dict(inputs)})
    ).hexdigest()


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no spaces; refuses NaN and infinities."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _to_dict(message: Message, identity_only: bool) -> dict[str, Any]:
    result: dict[str, Any] = {}
    present = {f.name for f, _ in message.ListFields()}
    for field in message.DESCRIPTOR.fields:
        incidental = field.GetOptions().Extensions[options_pb2.identity] == options_pb2.IDENTITY_INCIDENTAL
        if identity_only and (incidental or field.name not in present):
            continue
        value = getattr(message, field.name)
        if field.message_type and field.message_type.GetOptions().map_entry:
            item = field.message_type.fields_by_name["value"]
            result[field.name] = {str(k): _value(item, value[k], identity_only) for k in sorted(value)}
        elif field.is_repeated:
            result[field.name] = [_value(field, v, identity_only) for v in value]
        elif field.has_presence and field.name not in present:
            result[field.name] = None
        else:
            result[field.name] = _value(field, value, identity_only)
    return result


def _value(field: FieldDescriptor, value: Any, identity_only: bool) -> Any:
    if field.message_type:
        return _to_dict(value, identity_only)
    if field.enum_type:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known else int(value)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return value.hex()
    return value
