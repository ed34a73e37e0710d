"""Wrong input ends in one error that names the place and the fix, whatever the runner."""

import gzip
import json

import pytest

import marin_samples
from marin_chassis.engine import EngineError
from marin_data.core import spec as checks
from marin_data.core.sources import file_facts, source_digest

GOOD = "".join(json.dumps({"text": f"document number {i}"}) + "\n" for i in range(400)).encode()


def documents(path, **more):
    source = {k: more.pop(k) for k in ("sha256", "limit", "column") if k in more}
    return {
        "sources": [{"sample": {"name": "corpus/milton.jsonl.gz"}}, {"file": {"path": str(path)}, **source}],
        **more,
    }


CASES = {
    "missing": ("a.jsonl.gz", None, "NOT_FOUND", "source 'a': no file is at "),
    "truncated": (
        "a.jsonl.gz",
        gzip.compress(GOOD)[:-20],
        "DATA_LOSS",
        "a.jsonl.gz: the gzip stream is cut off at byte ",
    ),
    "zero bytes": ("a.jsonl.gz", b"", "DATA_LOSS", "a.jsonl.gz: the gzip stream is cut off at byte 0"),
    "corrupt": (
        "a.jsonl.gz",
        gzip.compress(GOOD)[:-8] + b"\0" * 8,
        "DATA_LOSS",
        "a.jsonl.gz: the gzip stream is damaged at byte ",
    ),
    "not gzip": ("a.jsonl.gz", GOOD, "DATA_LOSS", "a.jsonl.gz: the gzip stream is not gzip at byte "),
    "bad row": ("a.jsonl", GOOD + b'{"text": \n' + GOOD, "INVALID_ARGUMENT", "a.jsonl, line 401: not JSON: "),
    "other field": ("a.jsonl", b'{"body": "x"}\n', "INVALID_ARGUMENT", "a.jsonl, line 1: the row has no field 'text'"),
    "no text": (
        "a.jsonl",
        b'{"text": null}\n',
        "INVALID_ARGUMENT",
        "a.jsonl, line 1: 'text' is missing (null), not text",
    ),
    "parquet": ("a.parquet", b"PAR1....PAR1", "DATA_LOSS", "a.parquet: this Parquet file is damaged or cut off"),
}


@pytest.mark.parametrize("case", CASES)
def test_input_that_cannot_be_read(run, tmp_path, case):
    name, content, code, says = CASES[case]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    error = run.fails("documents", documents(tmp_path / name))
    assert error.code == code
    assert says in error.message and str(tmp_path) in error.message + error.hint + str(error.metadata)


def test_worker_processes_report_the_same_error(run, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(GOOD + b"[1]\n")
    one = run.fails("documents", documents(tmp_path / "a.jsonl"))
    other = run.fails("documents", documents(tmp_path / "a.jsonl", workers=2))
    assert one.as_dict() == other.as_dict()
    assert "line 401: a JSON list, not an object" in one.message


def test_empty_corpus_before_and_after_filters(run, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"")
    sources = [{"file": {"path": str(tmp_path / "a.jsonl")}}]
    error = run.fails("documents", {"sources": sources})
    assert (error.code, error.reason) == ("FAILED_PRECONDITION", "EMPTY_CORPUS")
    assert "0 rows read from a, 0 kept (the sources hold no row)" in error.message
    (tmp_path / "a.jsonl").write_bytes(GOOD)
    error = run.fails("documents", {"sources": sources, "filters": {"min_text_length": 1000}})
    assert "400 rows read from a, 0 kept (400 too_short)" in error.message


def test_limit_that_the_source_cannot_meet(run, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(GOOD)
    error = run.fails("documents", documents(tmp_path / "a.jsonl", limit=401))
    assert (error.reason, "ends after 400 rows" in error.message) == ("SHORT_SOURCE", True)


def test_changed_file_is_refused_when_the_spec_knows_its_digest(run, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(GOOD)
    digest = source_digest([file_facts(path)])
    run("documents", documents(path, sha256=digest))
    path.write_bytes(GOOD + b'{"text": "one more"}\n')
    error = run.fails("documents", documents(path, sha256=digest))
    assert (error.code, error.reason) == ("FAILED_PRECONDITION", "DIGEST_MISMATCH")
    assert source_digest([file_facts(path)]) in error.hint


def test_digest_of_several_files_is_that_of_sha256sum_lines(tmp_path):
    import subprocess

    for i in range(2):
        (tmp_path / f"w-{i}.jsonl").write_bytes(GOOD * (i + 1))
    facts = [file_facts(p) for p in sorted(tmp_path.glob("w-*"))]
    shell = subprocess.run(
        "sha256sum w-* | sha256sum", shell=True, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert shell.stdout.split()[0] == source_digest(facts)


SAMPLE = {"sample": {"name": "corpus/folio.jsonl.gz"}}
SPECS = [
    ("documents", {}, "no source is given"),
    ("documents", {"sources": [{}]}, "sources[0] has no origin"),
    ("documents", {"sources": [{"sample": {"name": "x"}}]}, "sources[0]: there is no sample 'x'"),
    ("documents", {"sources": [{"file": {"path": "a.jsonl"}}]}, "sources[0].file.path 'a.jsonl' is relative"),
    ("documents", {"sources": [{"file": {"path": "/a.csv"}}]}, "no reader for this kind of file"),
    ("documents", {"sources": [{"hub": {"dataset": "a/b", "path": "x.parquet"}}]}, "sources[0].hub.revision is empty"),
    ("documents", {"sources": [SAMPLE, SAMPLE]}, "more than one source is named 'folio'"),
    ("documents", {"sources": [{**SAMPLE, "limit": -1}]}, "sources[0].limit is -1"),
    ("documents", {"sources": [{**SAMPLE, "sha256": "abc"}]}, "sources[0].sha256 is not a digest"),
    ("documents", {"sources": [SAMPLE], "filters": {"max_repetition": 1.5}}, "filters.max_repetition is 1.5"),
    ("documents", {"sources": [SAMPLE], "filters": {"min_text_length": 9, "max_text_length": 3}}, "nothing can pass"),
    ("documents", {"sources": [SAMPLE], "shards": -2}, "shards is -2"),
    ("conversations", {"sources": []}, "no source is given"),
    ("problems", {"train": SAMPLE}, "validation is not set"),
    ("problems", {"train": {**SAMPLE, "name": "x"}, "validation": {**SAMPLE, "name": "x"}}, "both named 'x'"),
]


@pytest.mark.parametrize(("kind", "spec", "says"), SPECS)
def test_spec_that_cannot_work_is_refused(run, kind, spec, says):
    error = run.fails(kind, spec)
    assert (error.code, error.reason) == ("INVALID_ARGUMENT", "BAD_SPEC")
    assert says in error.message


def test_unknown_sample_lists_the_samples_and_inputs_are_refused(run):
    assert all(name in run.fails("documents", SPECS[2][1]).hint for name in marin_samples.names())
    job = run.job("documents", {"sources": [SAMPLE]})
    with pytest.raises(EngineError, match="got the input 'tokens'"):
        checks.check_pipeline(job.spec, {"tokens": "a@v1"})
