"""The hub reader over HTTP: order, limits, ranges, retries, refusals."""

import json
import os
import random
import subprocess
import sys
from itertools import islice

import pyarrow.parquet as pq
import pytest

from marin_data.core import hub as reader

COMMIT = "87f09149ef4734204d70ed1d046ddc9ca3f2b8f9"
WEB = {"dataset": "HuggingFaceFW/fineweb-edu", "revision": "87f0914", "path": "sample/10BT/*.parquet"}


@pytest.fixture
def web(hub):
    """Three files of 300 rows, listed out of order, beside one that the glob must not take."""
    for part in (2, 0, 1):
        rows = [{"text": f"part {part} row {i} " + "word " * 30, "id": "x" * 2000} for i in range(300)]
        hub.add(WEB["dataset"], COMMIT, f"sample/10BT/00{part}_00000.parquet", rows)
    hub.add(WEB["dataset"], COMMIT, "sample/100BT/000_00000.parquet", [{"text": "other"}])
    return hub


def test_first_rows_in_file_order_and_their_commit(run, web, helpers):
    job = run("documents", {"sources": [{"hub": WEB, "limit": 450}], "shards": 2})
    rows = helpers["rows_of"](job.out / "documents")
    assert [r["text"].split(" word")[0] for r in rows] == [f"part {i // 300} row {i % 300}" for i in range(450)]
    assert {r["source"] for r in rows} == {WEB["dataset"]}
    account = json.loads((job.out / "counts.json").read_text())
    assert account["sources"][0]["files"] == [
        {"name": f"sample/10BT/00{part}_00000.parquet", "revision": COMMIT} for part in range(3)
    ]


def test_all_rows_when_there_is_no_limit(run, web):
    job = run("documents", {"sources": [{"hub": WEB}], "dedup": "DEDUP_EXACT"})
    assert json.loads((job.out / "counts.json").read_text())["kept"] == 900


def test_source_that_ends_early(run, web):
    error = run.fails("documents", {"sources": [{"hub": WEB, "limit": 4096}]})
    assert error.reason == "SHORT_SOURCE"
    assert "ends after 900 rows, and its limit asks for 4096" in error.message


def test_problems_of_two_files(run, hub):
    for split, n in (("train", 1024), ("test", 200)):
        rows = [{"question": f"{split} {i} + 1?", "answer": f"So\n#### {i + 1:,}"} for i in range(n)]
        hub.add("openai/gsm8k", "e53f048856ff", f"main/{split}-00000-of-00001.parquet", rows)
    part = lambda split, n: {  # noqa: E731
        "name": split,
        "hub": {"dataset": "openai/gsm8k", "revision": "e53f048", "path": f"main/{split}-*.parquet"},
        "limit": n,
    }
    job = run("problems", {"train": part("train", 1024), "validation": part("test", 128)})
    train, validation = (pq.read_table(job.out / f"{n}.parquet").to_pylist() for n in ("train", "validation"))
    assert (len(train), len(validation)) == (1024, 128)
    assert train[-1]["reward_spec"]["ground_truth"] == "1024"
    assert (validation[5]["data_source"], validation[5]["extra_info"]["split"]) == ("openai/gsm8k", "test")


def test_failures_that_pass_are_tried_again(web):
    web.failures[:] = [500, 503, 429, 502]
    dataset, files = reader.resolve(**WEB)
    web.failures[:] = [500, 502]
    assert len(list(reader.read(dataset, files[0], ["text"]))) == 300
    assert not web.failures


def test_connection_lost_in_the_middle_goes_on_after_the_last_row(web):
    dataset, files = reader.resolve(**WEB)
    rows = reader.read(dataset, files[0], ["text"])
    first = [next(rows) for _ in range(150)]
    web.failures[:] = [500, 500, 500]
    assert [number for number, _ in first + list(rows)] == list(range(300))


def test_hub_that_stays_down_is_a_retryable_error(run, web):
    web.failures[:] = [500] * 500
    error = run.fails("documents", {"sources": [{"hub": WEB}]})
    web.failures.clear()
    assert (error.code, error.reason, error.retryable) == ("UNAVAILABLE", "HUB_UNAVAILABLE", True)


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ({"dataset": "nobody/nothing"}, "NOT_FOUND", "the hub has no nobody/nothing at revision 87f0914"),
        ({"revision": "1234567"}, "NOT_FOUND", "at revision 1234567"),
        ({"path": "sample/1BT/*.parquet"}, "NOT_FOUND", "no file that matches 'sample/1BT/*.parquet'"),
        ({"dataset": "someone/gated"}, "PERMISSION_DENIED", "does not let us read someone/gated"),
    ],
)
def test_what_the_hub_has_not_or_does_not_give(run, web, change, code, says):
    web.add("someone/gated", COMMIT, "sample/10BT/a.parquet", [{"text": "x"}])
    error = run.fails("documents", {"sources": [{"hub": {**WEB, **change}}]})
    assert error.code == code and says in error.message


def test_missing_column_lists_the_columns(run, web):
    error = run.fails("documents", {"sources": [{"hub": WEB, "column": "body"}]})
    assert (error.reason, error.hint) == ("MISSING_COLUMN", "its columns are: text, id")


def test_only_the_row_groups_and_columns_needed_are_fetched(hub):
    noise = random.Random(4)
    rows = [{"text": f"row {i}", "id": noise.randbytes(400).hex()} for i in range(50_000)]
    hub.add("someone/large", COMMIT, "data/a.parquet", rows, row_group_size=1000)
    dataset, files = reader.resolve("someone/large", "87f0914", "data/*.parquet")
    assert [row["text"] for _, row in islice(reader.read(dataset, files[0], ["text"]), 10)] == [
        f"row {i}" for i in range(10)
    ]
    assert hub.served < len(hub.files["someone/large"]["data/a.parquet"]) / 2


def test_offline_is_said_so(web):
    script = """
from marin_data.core import hub
from marin_datakernels.errors import DataError
try:
    hub.resolve("a/b", "main", "*.parquet")
except DataError as e:
    print(e.reason)
"""
    env = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "HUB_OFFLINE"
