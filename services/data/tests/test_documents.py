"""The Beam pipeline against the plain loop, and its account."""

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from marin_contracts.kinds import KINDS
from marin_data.core.sources import file_facts
from marin_datakernels.filters import Filters
from marin_datakernels.plain import PlainSource, run_plain
from marin_datakernels.recipes import Recipe
from marin_datakernels.rows import read_rows

BUNDLED = [{"sample": {"name": f"corpus/{name}.jsonl.gz"}} for name in ("folio", "milton", "modern")]
GOLDEN = ["3d11dc25", "6de99993", "32fab63e", "c0967453"]
FILTERS = {"min_text_length": 200, "max_repetition": 0.2, "max_top_trigram": 0.18, "min_alphabetic_words": 0.8}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> tuple[list[dict], list[PlainSource]]:
    """Three sources with planted copies, junk and odd characters: for the spec, and for the plain loop."""
    root, rng = tmp_path_factory.mktemp("corpus"), random.Random(11)
    base = [
        " ".join(rng.choices(["ox", "elm", "caf\u00e9", "sky", "7", "nord"], k=rng.randint(1, 60))) for _ in range(400)
    ]
    forms = (lambda t: t, lambda t: t.replace("\u00e9", "e\u0301") + " \r\n", lambda t: "\n" + t + "\x00")
    texts = [rng.choice(forms)(rng.choice(base)) for _ in range(1500)] + [
        "",
        " \n",
        "spam\n" * 30,
        "\ud83d lonely " * 3,
    ]
    rng.shuffle(texts)
    paths = []
    for i in range(5):
        path = root / f"web-{i}.jsonl"
        path.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts[i * 250 : i * 250 + 250]))
        paths.append(path)
    (root / "web-5.jsonl").write_text("")
    pq.write_table(pa.Table.from_pylist([{"body": t} for t in base[:200]]), root / "books.parquet", row_group_size=64)
    specs = [
        {"name": "web", "file": {"path": str(root / "web-*.jsonl")}},
        {"file": {"path": str(root / "books.parquet")}, "column": "body"},
        {"name": "few", "file": {"path": str(root / "web-*.jsonl")}, "limit": 300},
    ]
    web = [row for p in paths for row in read_rows(p, ["text"])]
    facts = tuple(file_facts(p) for p in sorted(root.glob("web-*.jsonl")))
    plain = [
        PlainSource("web", web, "web", "text", facts),
        PlainSource(
            "books", read_rows(root / "books.parquet", ["body"]), "", "body", (file_facts(root / "books.parquet"),)
        ),
        PlainSource("few", web[:300], "few", "text", facts),
    ]
    return specs, [PlainSource(s.name, list(s.rows), s.where, s.column, s.files) for s in plain]


@pytest.mark.parametrize("dedup", [True, False])
def test_bytes_equal_those_of_the_plain_loop(run, corpus, helpers, tmp_path, dedup):
    specs, plain = corpus
    job = run(
        "documents",
        {
            "sources": specs,
            "filters": {"min_text_length": 20, "max_repetition": 0.2},
            "dedup": 2 if dedup else 1,
            "shards": 3,
        },
    )
    oracle = tmp_path / "oracle"
    oracle.mkdir()
    filters = Filters(min_text_length=20, max_repetition=0.2)
    account = run_plain(Recipe("documents", filters), plain, dedup=dedup, shards=3, out=oracle)
    assert helpers["tree"](job.out / "documents") == helpers["tree"](oracle)
    assert json.loads((job.out / "counts.json").read_text()) == account
    assert account["in"] == account["kept"] + sum(account["dropped"].values()) == 1250 + 200 + 300
    assert account["dropped"]["repetitive_lines"] and account["dropped"]["empty"] and len(account["shards"]) == 3
    assert ("duplicate" in account["dropped"]) == dedup


def test_bytes_do_not_depend_on_workers_runner_or_samples(run, corpus, helpers):
    spec = {"sources": corpus[0], "filters": {"min_text_length": 20}, "dedup": "DEDUP_EXACT", "shards": 4}
    one = run("documents", spec)
    threads = run("documents", {**spec, "workers": 3, "runner": "RUNNER_IN_PROCESS", "sample_count": 2})
    processes = run("documents", {**spec, "workers": 2})
    assert helpers["tree"](one.out) == helpers["tree"](threads.out) == helpers["tree"](processes.out)


def test_bundled_corpus_gives_documents_of_three_sources(run, helpers):
    spec = {"sources": BUNDLED, "filters": FILTERS, "dedup": "DEDUP_EXACT", "shards": 4, "sample_count": 2}
    job = run("documents", spec)
    rows, account = helpers["rows_of"](job.out / "documents"), json.loads((job.out / "counts.json").read_text())
    assert [set(r) for r in rows] == [{"id", "text", "source"}] * account["kept"]
    assert [s["name"] for s in account["sources"]] == ["folio", "milton", "modern"]
    assert all(sum(r["source"] == s["name"] for r in rows) == s["kept"] for s in account["sources"])
    assert (account["in"], account["dropped"]) == (889, {"repetitive_lines": 1, "too_short": 14})
    assert len({r["id"] for r in rows}) == len(rows)
    # Other bytes for the same spec need another KERNELS, or finished artifacts would be taken for what they are not.
    assert ([s["sha256"][:8] for s in account["shards"]], account["kernels"]) == (GOLDEN, "datakernels/1")
    assert {KINDS[k].engine for k in ("documents", "conversations", "problems")} == {account["kernels"]}
    assert str(Path.home()) not in (job.out / "counts.json").read_text() and "/" not in json.dumps(account["shards"])
    samples = [json.loads(line) for line in (job.record / "samples.jsonl").read_text().splitlines()]
    assert [s.get("dropped") for s in samples] == [None, None, "too_short", "too_short", "repetitive_lines"]
    assert samples[2]["where"].endswith("corpus/milton.jsonl.gz, line 60")
    events = [json.loads(line) for line in (job.record / "events.jsonl").read_text().splitlines()]
    assert {e["phase"] for e in events if e["type"] == "progress"} >= {"read"}
    assert not list(job.scratch.iterdir()), "the work directory is as large as the artifact and must go"


def test_attempt_after_a_killed_one_ignores_what_it_left(run, corpus, helpers):
    spec = {"sources": corpus[0], "dedup": "DEDUP_EXACT", "shards": 2}
    clean, second = run("documents", spec), run.job("documents", spec)
    for kind in ("errors", "rows", "shards"):
        (second.scratch / "pipeline" / kind).mkdir(parents=True)
        (second.scratch / "pipeline" / kind / "000000").write_bytes(b"left over")
    from marin_data import engine

    engine.run(second)
    assert helpers["tree"](second.out) == helpers["tree"](clean.out)
