"""Readers refuse what is missing, cut off or damaged, and say where."""

import gzip
import json
import pickle
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from marin_datakernels.errors import DataError
from marin_datakernels.gzipped import CHUNK
from marin_datakernels.rows import field, read_parquet, read_rows

ROWS = [{"text": f"row {i} " + "é" * (i % 50)} for i in range(5000)]
LINES = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in ROWS).encode()


def read(path, columns=("text",), limit=0):
    return list(read_rows(path, list(columns), limit))


def failure(path) -> DataError:
    with pytest.raises(DataError) as e:
        read(path)
    assert e.value.hint
    return e.value


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", LINES),
        ("a.jsonl", LINES.removesuffix(b"\n")),
        ("a.jsonl", b"\xef\xbb\xbf" + LINES),
        ("a.jsonl", LINES.replace(b"\n", b"\r\n")),
        ("a.jsonl.gz", gzip.compress(LINES)),
        ("a.jsonl.gz", gzip.compress(LINES[:70_001]) + gzip.compress(LINES[70_001:])),
        ("a.jsonl.gz", b"".join(gzip.compress(line + b"\n") for line in LINES.splitlines())),
    ],
    ids=["plain", "no last line end", "byte order mark", "CRLF", "gzip", "two members", "a member for each line"],
)
def test_reads_every_row_with_its_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    found = read(tmp_path / name)
    assert [number for number, _ in found] == list(range(1, 5001))
    assert [row for _, row in found] == ROWS


def test_blank_lines_keep_their_numbers(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "a"}\n\n  \n{"text": "b"}\n')
    assert [number for number, _ in read(tmp_path / "a.jsonl")] == [1, 4]


@pytest.mark.parametrize(("name", "content"), [("a.jsonl", b""), ("a.jsonl.gz", gzip.compress(b""))])
def test_file_without_rows_gives_none(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert read(tmp_path / name) == []


@pytest.mark.parametrize("keep", [0, 1, 9, 20, 1000, -9, -1])
def test_gzip_cut_off_anywhere_is_an_error_with_the_offset(tmp_path, keep):
    packed = gzip.compress(LINES)[:keep] if keep else b""
    (tmp_path / "a.jsonl.gz").write_bytes(packed)
    error = failure(tmp_path / "a.jsonl.gz")
    assert error.reason == "TRUNCATED_FILE"
    assert f"a.jsonl.gz: the gzip stream is cut off at byte {len(packed)}" in error.message


def test_second_member_cut_off_is_an_error(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(LINES) + gzip.compress(LINES)[:500])
    assert failure(tmp_path / "a.jsonl.gz").reason == "TRUNCATED_FILE"


def test_flipped_byte_is_an_error_at_or_after_it(tmp_path):
    noise = random.Random(5)
    rows = [json.dumps({"text": noise.randbytes(40).hex()}) for _ in range(8000)]
    packed = bytearray(gzip.compress("\n".join(rows).encode(), mtime=0))
    bad = 2 * CHUNK + 77
    packed[bad] ^= 0xFF
    (tmp_path / "a.jsonl.gz").write_bytes(packed)
    error = failure(tmp_path / "a.jsonl.gz")
    assert error.reason in ("CORRUPT_FILE", "BAD_ROW")
    if error.reason == "CORRUPT_FILE":
        assert bad <= int(error.where["byte"]) < len(packed)


def test_wrong_checksum_is_an_error_at_the_end(tmp_path):
    packed = bytearray(gzip.compress(LINES))
    packed[-7] ^= 1
    (tmp_path / "a.jsonl.gz").write_bytes(packed)
    error = failure(tmp_path / "a.jsonl.gz")
    assert (error.reason, "incorrect data check" in error.message) == ("CORRUPT_FILE", True)
    assert len(packed) - 8 <= int(error.where["byte"]) < len(packed)


def test_plain_text_named_gz_is_an_error(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(LINES)
    assert "is not gzip at byte" in failure(tmp_path / "a.jsonl.gz").message


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"text": "a"', "line 3: not JSON: Expecting ',' delimiter at character 12"),
        (b'["a"]', "line 3: a JSON list, not an object"),
        (b'{"text": "caf\xe9"}', "line 3: not UTF-8 at byte 13 of the line"),
        (b"[" * 200_000, "line 3: JSON that cannot be read"),
        (b'{"text": ' + b"1" * 5000 + b"}", "line 3: JSON that cannot be read"),
    ],
)
def test_bad_row_is_named_by_file_and_line(tmp_path, line, says):
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "a"}\n\n' + line + b'\n{"text": "b"}\n')
    error = failure(tmp_path / "a.jsonl")
    assert error.reason == "BAD_ROW"
    assert f"a.jsonl, {says}" in error.message


def test_missing_file_and_unknown_suffix(tmp_path):
    assert failure(tmp_path / "none.jsonl").reason == "MISSING_FILE"
    (tmp_path / "a.csv").write_text("x")
    assert failure(tmp_path / "a.csv").reason == "UNKNOWN_FORMAT"


def test_parquet_rows_limit_and_damage(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist([{**r, "other": 1} for r in ROWS]), path, row_group_size=1000)
    assert read(path) == list(enumerate(ROWS))
    assert read(path, limit=1001) == list(enumerate(ROWS[:1001]))
    with pytest.raises(DataError, match=r"a\.parquet has no column 'body'") as e:
        read(path, ["body"])
    assert e.value.hint == "its columns are: text, other"
    path.write_bytes(path.read_bytes()[:-100])
    assert failure(path).reason == "CORRUPT_FILE"


def test_parquet_reads_only_the_row_groups_that_the_limit_needs(tmp_path):
    path = tmp_path / "a.parquet"
    noise = [{"text": random.Random(i).randbytes(400).hex()} for i in range(5000)]
    pq.write_table(pa.Table.from_pylist(noise), path, row_group_size=500)

    class Counting:
        def __init__(self, file):
            self.file, self.bytes = file, 0

        def read(self, n=-1):
            data = self.file.read(n)
            self.bytes += len(data)
            return data

        def __getattr__(self, name):
            return getattr(self.file, name)

    with open(path, "rb") as f:
        counting = Counting(f)
        assert len(list(read_parquet(counting, "a", ["text"], limit=100))) == 100
        assert counting.bytes < path.stat().st_size / 2


def test_missing_field_lists_the_fields():
    with pytest.raises(DataError) as e:
        field({"body": 1, "id": 2}, "text", "a.jsonl, line 7")
    assert "a.jsonl, line 7: the row has no field 'text'" in e.value.message
    assert "body, id" in e.value.hint


def test_error_survives_pickling():
    error = pickle.loads(pickle.dumps(DataError("m", hint="h", reason="R", file="f", line=3)))
    assert (str(error), error.hint, error.reason, error.where) == ("m", "h", "R", {"file": "f", "line": "3"})
