"""Reads one YAML file into plain values that remember their lines.

The subset is strict, so that a value means what it looks like: no anchors, aliases, merge keys, tags, repeated keys or
second documents, and scalars do not follow YAML 1.1: ``3e-4`` is a number, ``010`` and ``yes`` are text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from marin.config.problems import ConfigError, Problem

MAX_BYTES = 256 * 1024
MAX_DEPTH = 16
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][-+]?[0-9]+)?")
_WORDS = {"": None, "~": None, "null": None, "Null": None, "true": True, "True": True, "false": False, "False": False}
Key = str | int


@dataclass
class Document:
    """``lines`` maps the path of each key and list item to its line, from 1. ``shown`` names the file in messages."""

    path: Path
    shown: str
    value: Any = None
    lines: dict[tuple[Key, ...], int] = field(default_factory=dict)


def read(path: Path, shown: str) -> Document:
    """Reads a file. Raises ConfigError naming file and line."""
    text = _text(path, shown)
    document = Document(path, shown)
    events = _events(text, shown)
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            document.value = _node(next(events), events, (), document)
        elif isinstance(event, yaml.DocumentEndEvent):
            break
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            raise _error(shown, event, "a second document starts here ('---')", "keep one document in a file")
    if not isinstance(document.value, dict):
        what = "the file is empty" if document.value is None else "the file holds no blocks"
        raise ConfigError([Problem(f"{shown}:1", what, "write blocks such as `data:` at the left margin")])
    return document


def number_or_text(text: str) -> Any:
    """What a plain scalar stands for: YAML's core schema without octal, hexadecimal and special floats."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text) if len(text) < 20 else float(text)
    if _FLOAT.fullmatch(text) and any(c.isdigit() for c in text.lower().partition("e")[0]):
        return float(text)
    return text


def _text(path: Path, shown: str) -> str:
    try:
        if path.is_dir() or (path.exists() and not path.is_file()):
            raise ConfigError([Problem(f"{shown}:1", "this is no regular file", "name a .yaml file")])
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise ConfigError(
                [
                    Problem(
                        f"{shown}:1",
                        f"the file has {size / 2**20:.1f} MiB, and a config may have {MAX_BYTES // 1024} KiB",
                        "keep data in files of its own and name them by path",
                    )
                ]
            )
        raw = path.read_bytes()
    except FileNotFoundError:
        raise ConfigError([Problem(f"{shown}:1", "there is no such file", "check the path")]) from None
    except OSError as e:
        raise ConfigError([Problem(f"{shown}:1", f"the file cannot be read: {e.strerror}", "check the path")]) from e
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = raw[: e.start].count(b"\n") + 1
        raise ConfigError([Problem(f"{shown}:{line}", "the text is not UTF-8", "save the file as UTF-8")]) from None
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line[: len(line) - len(line.lstrip())]:
            raise ConfigError([Problem(f"{shown}:{number}", "the line is indented with a tab", "indent with spaces")])
    return text


def _events(text: str, shown: str) -> Iterator[Any]:
    try:
        yield from yaml.parse(text, Loader=_Loader)
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        line = min(mark.line, text.count("\n", 0, len(text.rstrip()))) + 1
        what = ", ".join(x for x in (e.context, e.problem) if x)
        fix = "check indentation, colons and quotes at this line and the one above"
        raise ConfigError([Problem(f"{shown}:{line}", f"this is no YAML: {what}", fix)]) from None
    except yaml.YAMLError as e:
        line = text.count("\n", 0, getattr(e, "position", 0) or 0) + 1
        fix = "remove the control character"
        raise ConfigError([Problem(f"{shown}:{line}", f"this is no YAML: {getattr(e, 'reason', e)}", fix)]) from None


def _node(event: Any, events: Iterator[Any], path: tuple[Key, ...], document: Document) -> Any:
    _check(event, path, document)
    if isinstance(event, yaml.ScalarEvent):
        return number_or_text(event.value) if event.implicit[0] else event.value
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Any] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            place = (*path, len(items))
            document.lines[place] = _line(event)
            items.append(_node(event, events, place, document))
        return items
    mapping: dict[str, Any] = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        key = _key(event, path, document)
        place = (*path, key)
        if key in mapping:
            first = document.lines[place]
            what = f"'{key}' is given twice, first in line {first}"
            raise _error(document.shown, event, what, "keep one of them")
        document.lines[place] = _line(event)
        mapping[key] = _node(next(events), events, place, document)
    return mapping


def _key(event: Any, path: tuple[Key, ...], document: Document) -> str:
    _check(event, path, document)
    if not isinstance(event, yaml.ScalarEvent):
        raise _error(document.shown, event, "a key is a list or a block", "write keys as plain words")
    if event.value == "<<":
        raise _error(document.shown, event, "merge keys ('<<') are not supported", "write the values out")
    return event.value


def _check(event: Any, path: tuple[Key, ...], document: Document) -> None:
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
        sign = "*" if isinstance(event, yaml.AliasEvent) else "&"
        what = f"anchors and aliases are not supported ('{sign}{event.anchor[:40]}')"
        raise _error(document.shown, event, what, "write the value out, or move a block to a file and include it")
    if getattr(event, "tag", None):
        raise _error(document.shown, event, f"tags are not supported ('{event.tag[:60]}')", "write the plain value")
    if len(path) > MAX_DEPTH:
        raise _error(document.shown, event, f"more than {MAX_DEPTH} levels of nesting", "no block is that deep")


def _line(event: Any) -> int:
    return event.start_mark.line + 1


def _error(shown: str, event: Any, what: str, fix: str) -> ConfigError:
    return ConfigError([Problem(f"{shown}:{_line(event)}", what, fix)])
