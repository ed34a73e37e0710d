"""Safetensors files as the engine will read them: what is in them, what must be, and how chunks become one.

The format (https://github.com/huggingface/safetensors#format): the header's length as eight little-endian bytes, a JSON
header that maps names to dtype, shape and data offsets, then the data.
"""

import hashlib
import json
import math
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from marin_chassis.engine import EngineError

# Bytes of an element, and the exponent bits that are all set in infinities and NaNs.
_DTYPES = {
    "F32": (4, np.dtype("<u4"), 0x7F800000),
    "BF16": (2, np.dtype("<u2"), 0x7F80),
    "F16": (2, np.dtype("<u2"), 0x7C00),
}
_BLOCK = 1 << 24


@dataclass(frozen=True)
class Tensor:
    """Element type in safetensors' spelling, and sizes."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * _DTYPES[self.dtype][0]


@dataclass(frozen=True)
class Stored:
    """A tensor in a file."""

    tensor: Tensor
    file: Path
    offset: int


def scan(directory: Path) -> dict[str, Stored]:
    """The tensors of all safetensors files in a directory. Raises EngineError naming what is missing or cut."""
    if not directory.is_dir():
        raise EngineError(
            f"there is no directory {directory}",
            hint="give the path of a directory with safetensors files that this server can read",
            reason="NO_SUCH_DIRECTORY",
            code="NOT_FOUND",
        )
    found: dict[str, Stored] = {}
    for file in sorted(directory.glob("*.safetensors")):
        found |= _scan_file(file)
    if not found:
        raise EngineError(
            f"{directory} holds no safetensors file",
            hint="export the model as safetensors (model.safetensors, or shards with an index)",
            reason="NO_WEIGHTS",
        )
    return found


def _scan_file(file: Path) -> dict[str, Stored]:
    size = file.stat().st_size
    try:
        with open(file, "rb") as f:
            (length,) = struct.unpack("<Q", f.read(8))
            header = json.loads(f.read(length)) if length < size else None
        if header is None:
            raise ValueError("the header is cut")
        found = {}
        for name, entry in header.items():
            if name != "__metadata__":
                tensor = Tensor(entry["dtype"], tuple(entry["shape"]))
                begin, end = entry["data_offsets"]
                if tensor.dtype not in _DTYPES:
                    raise ValueError(f"{name} has element type {tensor.dtype}, and {', '.join(_DTYPES)} are served")
                if end - begin != tensor.nbytes or 8 + length + end > size:
                    raise ValueError(f"the data of {name} is cut")
                found[name] = Stored(tensor, file, 8 + length + begin)
    except (ValueError, KeyError, TypeError, struct.error) as e:
        raise EngineError(
            f"{file} is no complete safetensors file: {e}", hint="write the file again", reason="BAD_WEIGHTS"
        ) from e
    return found


def check_same(expected: Mapping[str, Tensor], offered: Mapping[str, Tensor], source: str) -> None:
    """Raises EngineError unless ``offered`` holds exactly the tensors that the served model has."""
    problems = [f"{n} is missing" for n in expected if n not in offered]
    problems += [f"{n} is unknown" for n in offered if n not in expected]
    for name, want in expected.items():
        got = offered.get(name)
        if got and got != want:
            problems.append(f"{name} is {got.dtype}{list(got.shape)} where {want.dtype}{list(want.shape)} is served")
    if problems:
        shown = "; ".join(problems[:5]) + (f"; and {len(problems) - 5} more" if len(problems) > 5 else "")
        raise EngineError(
            f"{source} does not fit the served model ({len(expected)} tensors): {shown}",
            hint="send every tensor that GetPolicy lists, with its shape and element type, and no other "
            "(a model with tied embeddings has no lm_head)",
            reason="WEIGHTS_MISMATCH",
            problems=str(len(problems)),
        )


def check_finite(tensors: Mapping[str, Stored]) -> None:
    """Raises EngineError naming the first tensor that holds an infinity or a NaN."""
    for name, stored in tensors.items():
        _, view, exponent = _DTYPES[stored.tensor.dtype]
        count = math.prod(stored.tensor.shape)
        if not count:
            continue
        values = np.memmap(stored.file, view, "r", stored.offset, (count,))
        for start in range(0, count, _BLOCK):
            bad = np.flatnonzero((values[start : start + _BLOCK] & exponent) == exponent)
            if bad.size:
                raise EngineError(
                    f"{name} holds a value that is not finite, at flat index {start + int(bad[0])}",
                    hint="check the trainer for overflow or a diverged loss; the version served before serves on",
                    reason="WEIGHTS_NOT_FINITE",
                )


class Incoming:
    """A safetensors file that is filled by chunks. Each tensor's bytes come in order; tensors may be interleaved."""

    def __init__(self, directory: Path, tensors: Mapping[str, Tensor]) -> None:
        directory.mkdir(parents=True)
        header, end = {}, 0
        for name, tensor in tensors.items():
            header[name] = {
                "dtype": tensor.dtype,
                "shape": list(tensor.shape),
                "data_offsets": [end, end + tensor.nbytes],
            }
            end += tensor.nbytes
        raw = json.dumps(header).encode()
        raw += b" " * (-len(raw) % 8)
        self.directory = directory
        self._file = open(directory / "model.safetensors", "wb")  # noqa: SIM115 (closed by finish or abandon)
        self._file.write(struct.pack("<Q", len(raw)) + raw)
        self._begin = {name: 8 + len(raw) + entry["data_offsets"][0] for name, entry in header.items()}
        self._size = {name: tensor.nbytes for name, tensor in tensors.items()}
        self._have = dict.fromkeys(tensors, 0)
        self._hash = hashlib.sha256()
        self._file.truncate(8 + len(raw) + end)

    def add(self, name: str, data: bytes) -> None:
        """Takes the next bytes of a tensor."""
        have = self._have.get(name)
        if have is None or have + len(data) > self._size[name]:
            what = (
                "is not among the tensors of the header"
                if have is None
                else f"is longer than its {self._size[name]} bytes"
            )
            raise EngineError(
                f"a chunk of {name} came that {what}", hint="send what the header announced", reason="BAD_CHUNK"
            )
        self._file.seek(self._begin[name] + have)
        self._file.write(data)
        self._hash.update(data)
        self._have[name] = have + len(data)

    def finish(self, sha256: str) -> None:
        """Closes the file. Raises EngineError if a tensor is short or the bytes are not those that were announced."""
        self._file.close()
        short = [f"{n} has {self._have[n]} of {size} bytes" for n, size in self._size.items() if self._have[n] < size]
        if short:
            raise EngineError(
                f"the stream ended early with {len(short)} tensors short: {'; '.join(short[:5])}",
                hint="send all bytes of all tensors before closing the stream",
                reason="SHORT_STREAM",
            )
        if sha256 and sha256.lower() != self._hash.hexdigest():
            raise EngineError(
                f"the tensors that arrived have sha256 {self._hash.hexdigest()}, and {sha256} was announced",
                hint="send them again; the hash is over the data of all chunks in the order sent",
                reason="CONTENT_MISMATCH",
                code="DATA_LOSS",
            )

    def abandon(self) -> None:
        self._file.close()


def shapes(tensors: Mapping[str, Stored]) -> dict[str, Tensor]:
    return {name: stored.tensor for name, stored in tensors.items()}


def declared(tensors: Iterable[tuple[str, str, Iterable[int]]]) -> dict[str, Tensor]:
    """Tensors of a header given as (name, dtype, shape). Raises EngineError for what cannot be."""
    result: dict[str, Tensor] = {}
    for name, dtype, shape in tensors:
        sizes = tuple(shape)
        if dtype not in _DTYPES or name in result or any(s < 0 for s in sizes):
            raise EngineError(
                f"the header announces {name} as {dtype}{list(sizes)}, doubled or not servable",
                hint=f"announce each tensor once, as one of {', '.join(_DTYPES)}",
                reason="BAD_HEADER",
            )
        result[name] = Tensor(dtype, sizes)
    return result
