"""Looks at the data files that a config names: which there are, what their first row holds, how many rows they have."""

import glob
import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

SUFFIXES = {"jsonl": (".jsonl", ".jsonl.gz"), "parquet": (".parquet",)}
CONVERSATIONS = (*SUFFIXES["jsonl"], *SUFFIXES["parquet"])
_LONGEST_ROW = 64 << 20


class BadFiles(Exception):
    """``args`` are what is wrong and the fix."""


@dataclass(frozen=True)
class Files:
    """``pattern`` is the absolute path or glob for the data service; ``paths`` are what it matches now, sorted."""

    pattern: str
    paths: tuple[Path, ...]


def find(text: str, folder: Path, suffixes: tuple[str, ...]) -> Files:
    """Files behind a path in a config: those of a directory, one file, or those that match a glob. Raises BadFiles."""
    place = Path(text) if Path(text).is_absolute() else folder / text
    kinds = " or ".join(suffixes)
    if glob.has_magic(str(place.parent)) and not place.parent.is_dir():
        raise BadFiles(
            f"{text} has a wildcard before its last part", "name one directory; wildcards may stand in file names"
        )
    if glob.has_magic(str(place.parent)):
        raise BadFiles(f"the directory {place.parent} has one of * ? [ in its name", "rename it: these mean wildcards")
    if place.is_dir():
        return _in_directory(text, place, suffixes, kinds)
    if not place.name.endswith(suffixes):
        what = "is no such kind of file" if place.exists() else "does not exist, and is no such kind of file"
        raise BadFiles(f"{text} {what} ({kinds})", f"name a directory, or files that end in {kinds}")
    paths = tuple(sorted(place.parent.glob(place.name))) if glob.has_magic(place.name) else (place,)
    if not paths or not all(p.is_file() for p in paths):
        raise BadFiles(f"there is no file {place}", "correct the path; relative ones start where the YAML file lies")
    return Files(str(place), paths)


def _in_directory(text: str, place: Path, suffixes: tuple[str, ...], kinds: str) -> Files:
    found = {s: sorted(p for p in place.glob(f"*{s}") if p.is_file()) for s in suffixes}
    kept = {s: tuple(paths) for s, paths in found.items() if paths}
    if not kept:
        below = next((p.parent for s in suffixes for p in place.glob(f"*/*{s}")), None)
        fix = f"name one directory of files, for example {below}" if below else f"put files that end in {kinds} there"
        raise BadFiles(f"the directory {text} holds no {kinds} file", fix)
    if len(kept) > 1:
        raise BadFiles(
            f"the directory {text} holds files of several kinds: {', '.join(kept)}", "keep one kind, or name a glob"
        )
    ((suffix, paths),) = kept.items()
    return Files(f"{place}/*{suffix}", paths)


def check_first_row(files: Files, column: str, kind: type) -> None:
    """Raises BadFiles unless the first row of JSON lines has ``column`` with text (str) or messages (list)."""
    path = files.paths[0]
    if path.name.endswith(".parquet"):
        return
    row = next(_rows(path), None)
    if row is None:
        if len(files.paths) == 1:
            raise BadFiles(f"{path} is empty", "give a file with at least one row")
        return
    number, line = row
    try:
        value = json.loads(line)
    except ValueError as e:
        raise BadFiles(f"{path}, line {number} is no JSON: {e}", "write one JSON object on each line") from None
    wanted = "text" if kind is str else "a list of messages"
    if not isinstance(value, dict) or column not in value:
        has = f"its fields are {', '.join(map(str, value))}" if isinstance(value, dict) else "it is no object"
        raise BadFiles(
            f"{path}, line {number} has no field '{column}': {has}", "set `column` to the field that is meant"
        )
    if not isinstance(value[column], kind):
        raise BadFiles(
            f"{path}, line {number}: the field '{column}' is not {wanted}", "set `column` to the field that is meant"
        )


def count(files: Files) -> int:
    """Rows of JSON lines; blank lines are none. Raises BadFiles for Parquet, whose rows the data service counts."""
    if any(p.name.endswith(".parquet") for p in files.paths):
        raise BadFiles("the rows of Parquet files are not counted here", "give `steps` in place of `epochs`")
    total = 0
    for path in files.paths:
        for _ in _rows(path):
            total += 1
    return total


def _rows(path: Path) -> Iterator[tuple[int, bytes]]:
    with _opened(path) as f:
        number = 0
        while line := f.readline(_LONGEST_ROW):
            number += 1
            if len(line) == _LONGEST_ROW:
                raise BadFiles(f"{path}, line {number} is longer than {_LONGEST_ROW >> 20} MiB", "split the row")
            if line.strip():
                yield number, line


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        with gzip.open(path) if path.name.endswith(".gz") else open(path, "rb") as f:
            yield f
    except (OSError, EOFError, zlib.error) as e:
        raise BadFiles(f"{path} cannot be read: {e}", "replace the file: it is cut off, damaged or not readable") from e
