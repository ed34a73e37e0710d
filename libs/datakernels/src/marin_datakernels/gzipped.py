"""Reads gzip strictly: a file that is cut off or damaged is an error with its byte offset, never a short read."""

import zlib
from collections.abc import Iterator
from pathlib import Path

from marin_datakernels.errors import DataError

CHUNK = 1 << 16
GZIP = 16 + zlib.MAX_WBITS


def decompressed(path: Path) -> Iterator[bytes]:
    """Pieces of the content of ``path``, all members of it (RFC 1952).

    Raises DataError TRUNCATED_FILE when the last member has no end, CORRUPT_FILE for anything else that is not gzip.
    """
    size = path.stat().st_size
    with open(path, "rb") as f:
        state, pending, start = zlib.decompressobj(GZIP), b"", 0
        ended = False
        while chunk := pending or f.read(CHUNK):
            if ended:
                state, ended = zlib.decompressobj(GZIP), False
            before = state.copy()
            try:
                data = state.decompress(chunk)
            except zlib.error as e:
                raise _corrupt(path, start + _first_bad(before, chunk), size, e) from e
            pending = state.unused_data
            start += len(chunk) - len(pending)
            ended = state.eof
            yield data
    if not ended:
        raise DataError(
            f"{path}: the gzip stream is cut off at byte {size}, the end of the file",
            hint="fetch or write the file again: whatever followed is lost",
            reason="TRUNCATED_FILE",
            file=path,
            byte=size,
        )


def _corrupt(path: Path, byte: int, size: int, error: zlib.error) -> DataError:
    what = "is not gzip" if byte < 2 else "is damaged"
    return DataError(
        f"{path}: the gzip stream {what} at byte {byte} of {size} ({str(error).split(': ')[-1]})",
        hint="fetch or write the file again; a file that is not compressed must not end in .gz",
        reason="CORRUPT_FILE",
        file=path,
        byte=byte,
    )


def _first_bad(state: "zlib._Decompress", chunk: bytes) -> int:
    for i in range(len(chunk)):
        try:
            state.decompress(chunk[i : i + 1])
        except zlib.error:
            return i
    return len(chunk)
