"""The recipe of a step: all that decides its bytes as far as a client can know it. Versions come from it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from marin.common.v1 import options_pb2
from marin.execution.lazy import ArtifactStep
from marin_contracts.kinds import KINDS


def versioned(step: ArtifactStep, version: str | None) -> ArtifactStep:
    """The step under ``version``, or, without one, under ``r`` and 12 hex digits made from its recipe.

    So an edit of a config gives new addresses to exactly the artifacts that it concerns, and leaves the others alone.
    """
    return replace(step, version=version or f"r{recipe_digest(step)[:12]}")


def recipe_digest(step: ArtifactStep) -> str:
    """sha256 in hex over kind, engine, semantic spec, and name and version of each input."""
    inputs = {role: s.address if isinstance(s, ArtifactStep) else s for role, s in step.inputs.items()}
    recipe = {"kind": step.kind, "engine": KINDS[step.kind].engine, "spec": semantic(step.spec), "inputs": inputs}
    return hashlib.sha256(json.dumps(recipe, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def semantic(message: Message) -> dict[str, Any]:
    """The fields of a spec that are set and can change bytes, enums by name."""
    result: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.GetOptions().Extensions[options_pb2.identity] == options_pb2.IDENTITY_INCIDENTAL:
            continue
        if isinstance(value, Mapping):
            result[field.name] = {
                str(k): _plain(field.message_type.fields_by_name["value"], value[k]) for k in sorted(value)
            }
        elif field.is_repeated:
            result[field.name] = [_plain(field, v) for v in value]
        else:
            result[field.name] = _plain(field, value)
    return result


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """``field: old -> new`` for each field that differs, nested fields with dots."""
    before, after = _flat(old), _flat(new)
    return [
        f"{key}: {before.get(key, '(default)')} -> {after.get(key, '(default)')}"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]


def _plain(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type:
        return semantic(value)
    if field.enum_type:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known else int(value)
    return value.hex() if isinstance(value, bytes) else value


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    if not isinstance(value, Mapping | list):
        return {prefix: str(value)}
    items = value.items() if isinstance(value, Mapping) else enumerate(value)
    flat: dict[str, str] = {}
    for key, inner in items:
        flat |= _flat(inner, f"{prefix}.{key}" if prefix else str(key))
    return flat
