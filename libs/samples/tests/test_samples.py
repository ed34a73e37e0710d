"""The bundled files are what their provenance says, and the word problems are right."""

import gzip
import hashlib
import json
import re

import pytest

import marin_samples
from marin_samples import generate

OPERATIONS = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "/": int.__floordiv__}
CORPORA = ("corpus/folio.jsonl.gz", "corpus/milton.jsonl.gz", "corpus/modern.jsonl.gz")


def rows(name: str) -> list[dict]:
    raw = marin_samples.path(name).read_bytes()
    return [json.loads(line) for line in (gzip.decompress(raw) if name.endswith(".gz") else raw).splitlines()]


def test_shipped_files_are_the_generators_output():
    for name, content in generate.files().items():
        assert marin_samples.path(name).read_text(encoding="utf-8") == content, (
            f"run python -m marin_samples.generate: {name}"
        )


@pytest.mark.parametrize("name", CORPORA)
def test_corpus_is_what_the_provenance_states(name):
    row = next(line for line in (marin_samples.ROOT / "PROVENANCE.md").read_text().splitlines() if f"`{name}`" in line)
    _, _, source, _, passages, characters, sha256, _ = (cell.strip() for cell in row.split("|"))
    found = rows(name)
    assert hashlib.sha256(marin_samples.path(name).read_bytes()).hexdigest() == sha256.strip("`")
    assert (len(found), sum(len(r["text"]) for r in found)) == (int(passages), int(characters.replace(",", "")))
    assert {r["source"] for r in found} == {source}
    assert len({r["id"] for r in found}) == len(found)


def test_corpus_is_about_a_megabyte():
    assert sum(marin_samples.path(name).stat().st_size for name in CORPORA) < 1_000_000


@pytest.mark.parametrize("name", ["problems/train.jsonl", "problems/test.jsonl"])
def test_every_line_of_every_worked_answer_is_true(name):
    for row in rows(name):
        *steps, last = row["answer"].splitlines()
        assert len(steps) >= 2, row
        for step in steps:
            a, op, b, value = re.search(r"(\d+) ([-+*/]) (\d+) = (\d+)", step).groups()
            assert OPERATIONS[op](int(a), int(b)) == int(value), row
        assert last == f"#### {value}"


def test_numbers_of_the_first_step_come_from_the_question():
    # A template whose wording and arithmetic disagree would show here; factors said in words are the exception.
    said = {"twice": 2, "three times": 3, "four times": 4, "Half": 2}
    for row in rows("problems/train.jsonl"):
        known = {int(n) for n in re.findall(r"\d+", row["question"])} | {
            v for k, v in said.items() if k in row["question"]
        }
        known |= {2, 4} if "legs" in row["question"] else set()
        for step in row["answer"].splitlines()[:-1]:
            a, b, value = (int(n) for n in re.search(r"(\d+) [-+*/] (\d+) = (\d+)", step).groups())
            assert {a, b} <= known, row
            known.add(value)


def test_no_test_problem_is_a_train_problem():
    train, test = rows("problems/train.jsonl"), rows("problems/test.jsonl")
    questions = {r["question"] for r in train + test}
    assert len(questions) == len(train) + len(test) == 500
    assert all(re.search(r"\d", q) for q in questions)


def test_another_seed_gives_other_problems():
    first, other = generate.problems(1), generate.problems(2)
    assert [next(first) for _ in range(22)] != [next(other) for _ in range(22)]


def test_conversations_alternate_and_end_with_the_assistant():
    found = rows("conversations/train.jsonl")
    assert len(found) == 480
    for row in found:
        roles = [m["role"] for m in row["messages"]]
        assert roles == ["user", "assistant"] * (len(roles) // 2), row
        assert all(m["content"].strip() for m in row["messages"])


def test_unknown_file_is_an_error_that_lists_the_files():
    with pytest.raises(FileNotFoundError, match=r"no bundled file 'corpus/none\.gz'; there are: .*corpus/folio"):
        marin_samples.path("corpus/none.gz")
    with pytest.raises(FileNotFoundError):
        marin_samples.path("../marin_samples/generate.py")
