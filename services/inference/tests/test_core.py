"""Rules and files without an engine."""

import json
import math
import struct
from pathlib import Path

import numpy as np
import pytest

from marin_chassis.engine import EngineError
from marin_inference.core import weights
from marin_inference.core.exports import local_path
from marin_inference.core.sampling import derive_seed
from marin_inference.core.versions import is_repeat
from marin_inference.core.weights import Incoming, Tensor


def reason(call, *args) -> str:
    with pytest.raises(EngineError) as caught:
        call(*args)
    return caught.value.reason


def test_chunks_of_interleaved_tensors_become_one_file(tmp_path: Path):
    tensors = {"a": Tensor("F32", (3, 5)), "b": Tensor("BF16", (7,)), "scalar": Tensor("F32", ())}
    data = {n: np.arange(t.nbytes, dtype=np.uint8).tobytes() for n, t in tensors.items()}
    incoming = Incoming(tmp_path / "w", tensors)
    for start in range(0, 60, 4):
        for name in tensors:
            if data[name][start : start + 4]:
                incoming.add(name, data[name][start : start + 4])
    incoming.finish("")
    stored = weights.scan(tmp_path / "w")
    assert weights.shapes(stored) == tensors
    for name, at in stored.items():
        assert at.file.read_bytes()[at.offset : at.offset + at.tensor.nbytes] == data[name]


def test_chunks_that_were_not_announced_are_refused(tmp_path: Path):
    incoming = Incoming(tmp_path / "w", {"a": Tensor("F32", (2,))})
    assert reason(incoming.add, "b", b"1234") == "BAD_CHUNK"
    incoming.add("a", b"12345678")
    assert reason(incoming.add, "a", b"9") == "BAD_CHUNK"
    for header in ([("a", "F64", (2,))], [("a", "F32", (2,)), ("a", "F32", (2,))], [("a", "F32", (-1,))]):
        assert reason(weights.declared, header) == "BAD_HEADER"


@pytest.mark.parametrize(
    ("dtype", "raw"),
    [
        ("F32", struct.pack("<4f", 1, 2, math.inf, 3)),
        ("F32", struct.pack("<4f", 1, 2, math.nan, 3)),
        ("F16", struct.pack("<4e", 1, 2, -math.inf, 65504)),
        ("BF16", struct.pack("<4H", 0x3F80, 0x7F7F, 0xFF80, 0)),
    ],
)
def test_the_first_value_that_is_not_finite_is_named(tmp_path: Path, dtype: str, raw: bytes):
    incoming = Incoming(tmp_path / "w", {"odd": Tensor(dtype, (4,))})
    incoming.add("odd", raw)
    incoming.finish("")
    with pytest.raises(EngineError, match=r"odd .* index 2"):
        weights.check_finite(weights.scan(tmp_path / "w"))


def test_a_cut_file_is_named(tmp_path: Path):
    header = json.dumps({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    whole = struct.pack("<Q", len(header)) + header + bytes(16)
    for length in (4, 20, len(whole) - 1):
        (tmp_path / "model.safetensors").write_bytes(whole[:length])
        assert reason(weights.scan, tmp_path) == "BAD_WEIGHTS"
    (tmp_path / "model.safetensors").write_bytes(whole)
    assert weights.scan(tmp_path)["a"].tensor == Tensor("F32", (4,))


def test_versions_rise_strictly():
    assert is_repeat("p", (3, "x"), (3, "x"))
    assert not is_repeat("p", (3, "x"), (4, "x"))
    assert reason(is_repeat, "p", (3, "x"), (3, "y")) == "VERSION_TAKEN"
    assert reason(is_repeat, "p", (3, "x"), (2, "x")) == "VERSION_TOO_LOW"


def test_neighbouring_seeds_share_no_stream():
    seeds = {derive_seed(s, p, i) for s in range(8) for p in range(8) for i in range(8)}
    assert len(seeds) == 512 and all(0 <= s < 1 << 56 for s in seeds)


def test_only_local_absolute_paths_are_read():
    assert local_path("file:///a%20b/c") == Path("/a b/c")
    for uri in ("relative/dir", "s3://bucket/x", ""):
        assert reason(local_path, uri) == "BAD_URI"
