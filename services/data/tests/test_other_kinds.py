"""Conversations and problems from the bundled data."""

import json

import pyarrow.parquet as pq

from marin_datakernels.problems import INSTRUCTION
from marin_samples import generate

PROBLEMS = {
    "train": {"sample": {"name": "problems/train.jsonl"}, "limit": 256},
    "validation": {"name": "test", "sample": {"name": "problems/test.jsonl"}, "limit": 64},
}


def test_conversations(run, helpers, tmp_path):
    more = tmp_path / "more.jsonl"
    user, reply = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
    rows = [[user, reply], [user, reply], [user], [user, {"role": "assistant", "content": "<|im_end|>"}]]
    more.write_text("".join(json.dumps({"messages": m}) + "\n" for m in rows))
    sources = [{"sample": {"name": "conversations/train.jsonl"}}, {"file": {"path": str(more)}}]
    job = run("conversations", {"sources": sources, "dedup": "DEDUP_EXACT", "shards": 2})
    account = json.loads((job.out / "counts.json").read_text())
    found = helpers["rows_of"](job.out / "conversations")
    assert len(found) == account["kept"] == 481
    assert account["dropped"] == {"control_token": 1, "duplicate": 1, "no_assistant": 1}
    assert sorted(p.name for p in (job.out / "conversations").iterdir()) == [
        f"part-0000{i}-of-00002.jsonl.gz" for i in (0, 1)
    ]
    assert all(set(r) == {"id", "messages"} and r["messages"][-1]["role"] == "assistant" for r in found)


def test_problems_are_typed_rows_in_order(run, helpers):
    job = run("problems", {**PROBLEMS, "data_source": "marin/word-problems"})
    train, validation = (pq.read_table(job.out / f"{n}.parquet").to_pylist() for n in ("train", "validation"))
    assert [len(train), len(validation)] == [256, 64]
    assert [r["extra_info"]["index"] for r in train] == list(range(256))
    assert {r["extra_info"]["split"] for r in train} == {"train"} and {
        r["extra_info"]["split"] for r in validation
    } == {"test"}
    for row in train + validation:
        assert row["prompt"] == [{"role": "user", "content": f"{row['extra_info']['question']} {INSTRUCTION}"}]
        assert row["extra_info"]["answer"].endswith(f"#### {row['reward_spec']['ground_truth']}")
        assert (row["env_class"], row["data_source"], row["reward_spec"]["method"]) == (
            "gsm8k",
            "marin/word-problems",
            "rule",
        )
    again = run("problems", {**PROBLEMS, "data_source": "marin/word-problems"})
    assert helpers["tree"](again.out) == helpers["tree"](job.out)


def test_fine_tuning_asks_exactly_as_the_problems_do():
    assert generate.INSTRUCTION == INSTRUCTION


def test_answer_without_marker_names_split_and_index(run, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"question": "1+1?", "answer": "#### 2"}\n{"question": "2+2?", "answer": "four"}\n')
    error = run.fails("problems", {**PROBLEMS, "train": {"file": {"path": str(bad)}}})
    assert (error.code, error.reason) == ("INVALID_ARGUMENT", "MISSING_ANSWER")
    assert error.message.startswith("train[1]: the answer has no '####'")


def test_too_few_problems(run):
    error = run.fails("problems", {**PROBLEMS, "train": {"sample": {"name": "problems/train.jsonl"}, "limit": 401}})
    assert "source 'train' ends after 400 rows, and its limit asks for 401" in error.message
