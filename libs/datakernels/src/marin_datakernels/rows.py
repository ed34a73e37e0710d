"""Reads rows of JSON-lines and Parquet files, each with its number, so that errors can name it."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from marin_datakernels import SUFFIXES
from marin_datakernels.errors import DataError
from marin_datakernels.gzipped import CHUNK, decompressed

Numbered = tuple[int, dict[str, Any]]


def read_rows(path: Path, columns: list[str], limit: int = 0) -> Iterator[Numbered]:
    """Rows of a file with their line (JSON lines, from 1) or row (Parquet, from 0); the first ``limit``, 0 for all.

    Raises DataError for a missing, cut off or damaged file, an unknown suffix, and a line that is not a JSON object.
    """
    if not path.is_file():
        raise DataError(
            f"there is no file {path}",
            hint="check the path; it must lie where the data service's workers can open it",
            reason="MISSING_FILE",
            file=path,
        )
    if path.name.endswith(".parquet"):
        with open(path, "rb") as f:
            yield from read_parquet(f, str(path), columns, limit=limit)
        return
    if not path.name.endswith(SUFFIXES):
        raise DataError(
            f"{path}: no reader for this kind of file",
            hint=f"use one of {', '.join(SUFFIXES)}",
            reason="UNKNOWN_FORMAT",
            file=path,
        )
    yield from islice(_read_json_lines(path), limit or None)


def _read_json_lines(path: Path) -> Iterator[Numbered]:
    pieces = decompressed(path) if path.suffix == ".gz" else _pieces(path)
    for number, line in enumerate(_lines(pieces), start=1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            yield number, _object(line, path, number)


def _pieces(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as f:
        yield from iter(lambda: f.read(CHUNK), b"")


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest: list[bytes] = []
    for piece in pieces:
        head, *lines = piece.split(b"\n")
        rest.append(head)
        if lines:
            yield b"".join(rest)
            yield from lines[:-1]
            rest = [lines[-1]]
    yield b"".join(rest)


def _object(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except UnicodeDecodeError as e:
        raise _bad_row(path, number, f"not UTF-8 at byte {e.start} of the line", "convert the file to UTF-8") from e
    except json.JSONDecodeError as e:
        raise _bad_row(path, number, f"not JSON: {e.msg} at character {e.pos}", "repair or remove the line") from e
    except (RecursionError, ValueError) as e:
        raise _bad_row(path, number, f"JSON that cannot be read: {e}", "repair or remove the line") from e
    if not isinstance(value, dict):
        raise _bad_row(path, number, f"a JSON {type(value).__name__}, not an object", "write one JSON object a line")
    return value


def _bad_row(path: Path, number: int, what: str, hint: str) -> DataError:
    return DataError(f"{path}, line {number}: {what}", hint=hint, reason="BAD_ROW", file=path, line=number)


def read_parquet(source: IO[bytes], where: str, columns: list[str], limit: int = 0) -> Iterator[Numbered]:
    """Rows of an open Parquet file from 0, with only ``columns`` fetched; the first ``limit``, 0 for all.

    Raises DataError when a column is missing or the file cannot be decoded; an OSError of ``source`` passes through.
    """
    try:
        file = pq.ParquetFile(source)
        missing = [c for c in columns if c not in file.schema_arrow.names]
        if missing:
            raise DataError(
                f"{where} has no column '{missing[0]}'",
                hint=f"its columns are: {', '.join(file.schema_arrow.names)}",
                reason="MISSING_COLUMN",
                file=where,
            )
        yield from enumerate(islice(_rows_by_group(file, columns), limit or None))
    except pa.ArrowInvalid as e:
        raise DataError(
            f"{where}: this Parquet file is damaged or cut off ({str(e).splitlines()[0]})",
            hint="fetch or write the file again",
            reason="CORRUPT_FILE",
            file=where,
        ) from e


def _rows_by_group(file: pq.ParquetFile, columns: list[str]) -> Iterator[dict[str, Any]]:
    # One group at a time: iter_batches over all of them would fetch the whole file before the first row.
    for group in range(file.num_row_groups):
        for batch in file.iter_batches(batch_size=1024, row_groups=[group], columns=columns, use_threads=False):
            yield from batch.to_pylist()


def field(row: dict[str, Any], name: str, where: str) -> Any:
    """``row[name]``. Raises DataError that lists the fields of the row."""
    if name not in row:
        raise DataError(
            f"{where}: the row has no field '{name}'",
            hint=f"its fields are: {', '.join(sorted(row)) or 'none'}; set the source's column to the right one",
            reason="MISSING_FIELD",
            where=where,
        )
    return row[name]
