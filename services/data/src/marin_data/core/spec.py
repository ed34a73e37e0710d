"""Refuses specs that cannot work, before a job exists."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import marin_samples
from marin_chassis.engine import EngineError
from marin_datakernels import SUFFIXES

ORIGINS = ("sample", "file", "hub")
FRACTIONS = ("max_repetition", "max_top_trigram", "min_alphabetic_words")


def check_pipeline(spec: Mapping[str, Any], roles: Mapping[str, str]) -> None:
    """Raises EngineError INVALID_ARGUMENT that names the field."""
    _check_sources(spec, roles)
    filters = spec["filters"] or {}
    for name in ("min_text_length", "max_text_length"):
        if filters.get(name, 0) < 0:
            raise _bad(f"filters.{name} is {filters[name]}", "give a number of characters, or 0 for no bound")
    for name in FRACTIONS:
        if not 0 <= filters.get(name, 0) <= 1:
            raise _bad(f"filters.{name} is {filters[name]}", "give a fraction from 0 (off) to 1")
    longest = filters.get("max_text_length", 0)
    if longest and longest < filters.get("min_text_length", 0):
        raise _bad(
            f"filters.max_text_length {longest} is below min_text_length {filters['min_text_length']}: nothing "
            "can pass",
            "swap the bounds",
        )


def check_conversations(spec: Mapping[str, Any], roles: Mapping[str, str]) -> None:
    """Raises EngineError INVALID_ARGUMENT that names the field."""
    _check_sources(spec, roles)


def check_problems(spec: Mapping[str, Any], roles: Mapping[str, str]) -> None:
    """Raises EngineError INVALID_ARGUMENT that names the field."""
    _check_no_inputs(roles)
    for name in ("train", "validation"):
        if spec[name] is None:
            raise _bad(f"{name} is not set", f"say where the rows of {name}.parquet come from")
        _check_source(spec[name], name)
    named = spec["train"]["name"] or "train", spec["validation"]["name"] or "validation"
    if named[0] == named[1]:
        raise _bad(f"train and validation are both named '{named[0]}'", "give them different names")


def _check_sources(spec: Mapping[str, Any], roles: Mapping[str, str]) -> None:
    _check_no_inputs(roles)
    if not spec["sources"]:
        raise _bad("no source is given", "name at least one sample, file or hub data set to read")
    for i, source in enumerate(spec["sources"]):
        _check_source(source, f"sources[{i}]")
    twice = [name for name, n in Counter(map(source_name, spec["sources"])).items() if n > 1]
    if twice:
        raise _bad(f"more than one source is named '{twice[0]}'", "give each source its own name")
    for name in ("shards", "workers", "sample_count"):
        if spec[name] < 0:
            raise _bad(f"{name} is {spec[name]}", "give a number from 0 on")


def _check_no_inputs(roles: Mapping[str, str]) -> None:
    if roles:
        raise _bad(
            f"this job reads no artifact, and got the input '{min(roles)}'", "remove the input; sources are in the spec"
        )


def _check_source(source: Mapping[str, Any], where: str) -> None:
    origins = [o for o in ORIGINS if source[o] is not None]
    if len(origins) != 1:
        raise _bad(f"{where} has no origin", f"set one of {', '.join(ORIGINS)}")
    if source["limit"] < 0:
        raise _bad(f"{where}.limit is {source['limit']}", "give a number of rows, or 0 for all")
    if source["sha256"] and not re.fullmatch("[0-9a-f]{64}", source["sha256"]):
        raise _bad(
            f"{where}.sha256 is not a digest: '{source['sha256']}'", "give 64 hex digits in lower case, or leave it out"
        )
    {"sample": _check_sample, "file": _check_file, "hub": _check_hub}[origins[0]](source, where)


def _check_sample(source: Mapping[str, Any], where: str) -> None:
    name = source["sample"]["name"]
    if name not in marin_samples.names():
        raise _bad(f"{where}: there is no sample '{name}'", f"choose one of {', '.join(marin_samples.names())}")


def _check_file(source: Mapping[str, Any], where: str) -> None:
    path = source["file"]["path"]
    if not PurePosixPath(path).is_absolute():
        raise _bad(
            f"{where}.file.path '{path}' is relative",
            "give an absolute path: the service has its own working directory",
        )
    if not path.endswith(SUFFIXES):
        raise _bad(f"{where}.file.path '{path}': no reader for this kind of file", f"use one of {', '.join(SUFFIXES)}")


def _check_hub(source: Mapping[str, Any], where: str) -> None:
    for name in ("dataset", "revision", "path"):
        if not source["hub"][name]:
            raise _bad(f"{where}.hub.{name} is empty", "say which files of which revision of which data set are read")
    if not source["hub"]["path"].endswith(".parquet"):
        raise _bad(
            f"{where}.hub.path '{source['hub']['path']}' names no Parquet file", "choose the data set's .parquet files"
        )
    if source["sha256"]:
        raise _bad(
            f"{where}.sha256 is set for a hub source", "leave it out: a commit as revision already names the bytes"
        )


def source_name(source: Mapping[str, Any]) -> str:
    """The name of a source; without one, the data set, the file name without suffix, or a glob's directory."""
    if source["name"] or source["hub"]:
        return source["name"] or source["hub"]["dataset"]
    path = PurePosixPath((source["sample"] or {}).get("name") or source["file"]["path"])
    return (
        path.parent.name if re.search(r"[*?\[]", path.name) else path.name.split(".jsonl")[0].removesuffix(".parquet")
    )


def _bad(message: str, hint: str) -> EngineError:
    return EngineError(message, hint=hint, reason="BAD_SPEC")
