"""Keys, shards, counts, the plain loop, and problems."""

import gzip
import json
import random

import numpy as np
import pyarrow.parquet as pq
import pytest
import xxhash

from marin_datakernels.counts import Tally, counts
from marin_datakernels.dedup import keys_array, later_copies
from marin_datakernels.errors import DataError
from marin_datakernels.filters import Filters
from marin_datakernels.plain import PlainSource, run_plain
from marin_datakernels.problems import SCHEMA, final_answer, typed_row, write_problems
from marin_datakernels.recipes import Recipe
from marin_datakernels.shards import Shard, plan_shards, write_shard


def test_later_copies_agrees_with_a_set():
    rng = random.Random(2)
    keys = [xxhash.xxh3_128_digest(str(rng.randrange(300)).encode()) for _ in range(1000)]
    seen, expected = set(), []
    for key in keys:
        expected.append(key in seen)
        seen.add(key)
    assert later_copies(keys_array(keys)).tolist() == expected
    assert later_copies(keys_array([])).tolist() == []


def test_keys_that_differ_in_one_half_are_different():
    assert not later_copies(keys_array([b"a" * 8 + b"b" * 8, b"a" * 16, b"b" * 8 + b"a" * 8])).any()


def test_shards_are_about_equal_in_bytes_and_keep_the_order():
    lengths = np.array([random.Random(i).randint(1, 100) for i in range(2000)])
    plan = plan_shards(lengths, 7)
    assert (np.diff(plan) >= 0).all() and plan.max() == 6
    sizes = np.bincount(plan, weights=lengths)
    assert sizes.max() - sizes.min() <= 2 * lengths.max()


@pytest.mark.parametrize(
    ("lengths", "count", "expected"),
    [
        ([5, 5, 5], 1, [0, 0, 0]),
        ([5, 5], 4, [0, 1]),
        ([1, 100, 1], 3, [0, 1, 2]),
        ([1, 1, 1000], 4, [0, 0, 1]),
        ([], 4, []),
    ],
)
def test_no_shard_is_empty(lengths, count, expected):
    assert plan_shards(np.array(lengths, dtype=int), count).tolist() == expected


def test_shard_has_no_time_or_name_in_it(tmp_path):
    shard = write_shard(tmp_path / "part-0.jsonl.gz", b'{"a":1}\n', 1)
    packed = (tmp_path / "part-0.jsonl.gz").read_bytes()
    assert packed[4:8] == b"\0\0\0\0" and packed[3] == 0
    assert gzip.decompress(packed) == b'{"a":1}\n'
    assert (shard.bytes, shard.raw_bytes, shard.rows) == (len(packed), 8, 1)


def test_counts_refuse_a_row_that_vanished():
    shard = Shard("p", 3, 1, 1, "")
    tally = Tally("web", read=5, kept=3)
    tally.dropped.update(too_short=2)
    assert counts([tally], [shard])["dropped"] == {"too_short": 2}
    with pytest.raises(DataError, match="5 rows were read, but 2 kept and 2 dropped"):
        counts([Tally("web", read=5, kept=2, dropped=tally.dropped)], [shard])
    with pytest.raises(DataError, match="3 rows are kept, but the shards hold 2"):
        counts([tally], [Shard("p", 2, 1, 1, "")])


def source(name, texts):
    return PlainSource(name, list(enumerate(({"text": t} for t in texts), start=1)), f"{name}, line", "text")


def test_plain_loop_keeps_the_first_of_equal_texts_over_all_sources(tmp_path):
    sources = [source("a", ["one one", "two two", "x"]), source("b", ["two\u0020two\r\n", "three three", "one one"])]
    account = run_plain(Recipe("documents", Filters(min_text_length=2)), sources, dedup=True, shards=2, out=tmp_path)
    rows = [
        json.loads(line) for p in sorted(tmp_path.iterdir()) for line in gzip.decompress(p.read_bytes()).splitlines()
    ]
    assert [(r["source"], r["text"]) for r in rows] == [("a", "one one"), ("a", "two two"), ("b", "three three")]
    assert (account["in"], account["kept"], account["dropped"]) == (6, 3, {"duplicate": 2, "too_short": 1})
    assert [s["dropped"] for s in account["sources"]] == [{"too_short": 1}, {"duplicate": 2}]


def test_nothing_left_is_an_error_that_says_why(tmp_path):
    with pytest.raises(DataError) as e:
        run_plain(
            Recipe("documents", Filters(min_text_length=9)),
            [source("a", ["x", ""])],
            dedup=True,
            shards=1,
            out=tmp_path,
        )
    assert e.value.reason == "EMPTY_CORPUS"
    assert "2 rows read from a, 0 kept (1 empty, 1 too_short)" in e.value.message


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("so\n#### 18", "18"),
        ("#### 1,234,567", "1234567"),
        ("#### 1,000.", "1000"),
        ("####42", "42"),
        ("#### -5", "-5"),
        ("#### \u22125", "-5"),
        ("#### $18.00", "18"),
        ("#### -$3.50", "-3.5"),
        ("#### 0.25", "0.25"),
        ("#### .5", "0.5"),
        ("#### 50%", "50"),
        ("#### +7", "7"),
        ("#### 18 dollars", "18"),
        ("#### 100", "100"),
        ("#### -0", "0"),
        ("#### 3\n#### 4", "4"),
        ("#### 7.\n", "7"),
    ],
)
def test_final_answer(answer, expected):
    assert final_answer(answer, "train", 0) == expected


@pytest.mark.parametrize(
    ("answer", "reason"),
    [("just 18", "MISSING_ANSWER"), ("### 18", "MISSING_ANSWER"), ("####", "BAD_ANSWER"), ("#### many", "BAD_ANSWER"),
     ("#### 1/2", "BAD_ANSWER"), ("#### 1e5", "BAD_ANSWER"), ("#### 1.2.3", "BAD_ANSWER")],
)  # fmt: skip
def test_answer_without_number_names_split_and_index(answer, reason):
    with pytest.raises(DataError, match=r"test\[17\]: ") as e:
        final_answer(answer, "test", 17)
    assert (e.value.reason, e.value.where) == (reason, {"split": "test", "index": "17"})


FILLED = {"data_source": "d", "env_class": "gsm8k", "instruction": "Think."}


def test_typed_row_and_its_file(tmp_path):
    row = typed_row({"question": "2+2? ", "answer": "4.\n#### 4", "level": 1}, "train", 3, **FILLED)
    assert row == {
        "data_source": "d",
        "prompt": [{"role": "user", "content": "2+2? Think."}],
        "env_class": "gsm8k",
        "reward_spec": {"method": "rule", "ground_truth": "4"},
        "extra_info": {"split": "train", "index": 3, "answer": "4.\n#### 4", "question": "2+2?"},
    }  # fmt: skip
    for name in ("a", "b"):
        write_problems(tmp_path / name, [row] * 5)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    table = pq.read_table(tmp_path / "a")
    assert table.schema.equals(SCHEMA, check_metadata=False) and table.to_pylist() == [row] * 5


@pytest.mark.parametrize(
    "row", [{"question": "q"}, {"question": " ", "answer": "#### 1"}, {"question": "q", "answer": None}]
)
def test_problem_without_question_or_answer(row):
    with pytest.raises(DataError, match=r"train\[2\]: '(question|answer)' is missing or empty"):
        typed_row(row, "train", 2, **FILLED)
