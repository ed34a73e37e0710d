"""The engine with the real lm-eval and the real Harbor, on an endpoint whose answers are known."""

import json
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from endpoint import Answer, Endpoint
from jobs import AIME, GSM8K, Door, evaluation_of, make_job, oracle, spec, values, wrong

from marin_chassis.engine import EngineError, Job, Stopped
from marin_evaluation.core.report import SCHEMA
from marin_evaluation.engine import run

DEAD = "http://127.0.0.1:9/v1"


def evaluate(root: Path, answer: Answer, *tasks: dict, attempt: int = 1, **fields) -> tuple[Job, dict, list]:
    endpoint = Endpoint(answer)
    with endpoint as url, Door([url]) as inference:
        job = make_job(root, spec(*tasks, **fields), inference, attempt)
        result = run(job)
    return job, result, endpoint.requests


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    return evaluate(tmp_path_factory.mktemp("right"), oracle, GSM8K, AIME)


def test_right_answers_score_one(right):
    job, result, _ = right
    tasks = evaluation_of(job)
    assert values(tasks["gsm8k-smoke"]) == {"strict-match": 1.0, "flexible-extract": 1.0}
    assert values(tasks["aime-smoke"]) == {"none": 1.0}
    assert [t["coverage"] for t in tasks.values()] == [
        {"n_attempted": 32, "n_scored": 32, "errors": {}},
        {"n_attempted": 4, "n_scored": 4, "errors": {}},
    ]
    assert {t["status"] for t in tasks.values()} == {"SUCCEEDED"}
    assert result["headline"] == "gsm8k-smoke 100.0% (32/32 scored), aime-smoke 100.0% (4/4 scored)"


def test_wrong_answers_score_zero_and_are_scores(tmp_path):
    job, result, _ = evaluate(tmp_path, wrong, GSM8K, AIME)
    tasks = evaluation_of(job)
    assert {v for t in tasks.values() for v in values(t).values()} == {0.0}
    assert {t["status"] for t in tasks.values()} == {"SUCCEEDED"}
    assert [t["coverage"]["n_scored"] for t in tasks.values()] == [32, 4]
    low, high = tasks["aime-smoke"]["metrics"][0]["ci95"]
    assert low == 0 and high > 0.4, "four wrong answers are no proof of a zero"
    assert result["summary"]["aime-smoke"] == 0.0


def test_samples_account_for_every_question(right):
    job, _, requests = right
    table = pq.read_table(job.out / "samples.parquet")
    assert table.schema.equals(SCHEMA)
    rows = table.to_pylist()
    assert len(rows) == 32 * 2 + 4
    assert len(requests) == 36, "each question is asked once, of one server"
    # what the proxy saw is joined to each sample: drivers and proxy hash prompts alike
    assert {r["finish_reason"] for r in rows} == {"stop"}
    assert {r["n_prompt_tokens"] for r in rows} == {11}
    assert all(r["prediction"] and r["extracted"] for r in rows)


def test_requests_carry_the_spec(right):
    _, _, requests = right
    assert {path for path, _ in requests} == {"/v1/chat/completions"}
    bodies = [body for _, body in requests]
    assert {(b["max_tokens"], b["temperature"], b["seed"], b["model"]) for b in bodies} == {(64, 0, 0, "evaluation/b1")}


def test_equal_answers_give_equal_bytes(right, tmp_path):
    job, _, _ = right
    again, _, _ = evaluate(tmp_path, oracle, GSM8K, AIME, num_concurrent=3)
    assert {p.name for p in again.out.iterdir()} == {"evaluation.json", "samples.parquet"}
    for name in ("evaluation.json", "samples.parquet"):
        assert (job.out / name).read_bytes() == (again.out / name).read_bytes()


def test_progress_counts_samples(right):
    job, _, _ = right
    events = [json.loads(line) for line in (job.record / "events.jsonl").read_text().splitlines()]
    steps = [e for e in events if e["type"] == "progress" and e["phase"] == "evaluate"]
    assert steps[0]["step"] == 0 and steps[-1]["step"] == steps[-1]["total"] == 36
    assert steps[-1]["metrics"]["requests"] == 36 and steps[-1]["metrics"]["errors"] == 0


def test_plain_prompts_and_examples(tmp_path):
    few = {**GSM8K, "num_fewshot": 2, "limit": 3, "seed": 7}
    job, _, requests = evaluate(tmp_path, oracle, few, {**AIME, "limit": 1}, apply_chat_template=False)
    tasks = evaluation_of(job)
    assert values(tasks["gsm8k-smoke"])["flexible-extract"] == 1.0 and values(tasks["aime-smoke"]) == {"none": 1.0}
    assert tasks["gsm8k-smoke"]["flags"] == ["CAPPED", "NO_DISPERSION"]
    assert {path for path, _ in requests} == {"/v1/completions"}
    examples = [b["prompt"].count("Let's think step by step") for _, b in requests]
    assert sorted(examples) == [0, 3, 3, 3], "two solved examples before each question"
    assert {b["seed"] for _, b in requests} == {7, 0}


def test_a_reply_without_an_answer_is_a_scored_zero(tmp_path):
    job, _, _ = evaluate(tmp_path, lambda p: "no idea", {**GSM8K, "limit": 4}, AIME)
    tasks = evaluation_of(job)
    assert {v for t in tasks.values() for v in values(t).values()} == {0.0}
    assert [t["coverage"]["n_scored"] for t in tasks.values()] == [4, 4]
    assert all("NO_ANSWERS" in t["flags"] for t in tasks.values())


def test_missing_answers_are_errors_of_samples_not_zeros(tmp_path):
    def some(prompt: str) -> str | int:
        return 400 if "ferry" in prompt or "marbles" in prompt else oracle(prompt)

    job, _, _ = evaluate(tmp_path, some, {**GSM8K, "limit": 16}, AIME)
    tasks = evaluation_of(job)
    assert tasks["gsm8k-smoke"]["coverage"] == {"n_attempted": 16, "n_scored": 14, "errors": {"http_400": 2}}
    assert tasks["aime-smoke"]["coverage"] == {"n_attempted": 4, "n_scored": 3, "errors": {"http_400": 1}}
    assert {t["status"] for t in tasks.values()} == {"PARTIAL"}
    assert {v for t in tasks.values() for v in values(t).values()} == {1.0}, "the mean is over what was answered"
    assert all("ATTRITION" in t["flags"] for t in tasks.values())
    rows = pq.read_table(job.out / "samples.parquet").to_pylist()
    assert {r["score"] for r in rows if r["status"] == "error"} == {None}


def test_a_dead_endpoint_is_never_a_score(tmp_path):
    with Door([DEAD]) as inference:
        job = make_job(tmp_path, spec({**GSM8K, "limit": 4}, AIME), inference)
        with pytest.raises(EngineError) as failed:
            run(job)
    assert (failed.value.code, failed.value.reason, failed.value.retryable) == ("UNAVAILABLE", "NOTHING_SCORED", True)
    assert "endpoint_unavailable" in failed.value.message and DEAD in failed.value.message
    assert list(job.out.iterdir()) == []
    coverage = json.loads((job.record / "coverage.json").read_text())
    assert {c["status"] for c in coverage.values()} == {"INFRA_FAILED"} and len(coverage) == 2


def test_refused_requests_are_not_tried_again(tmp_path):
    with pytest.raises(EngineError) as failed:
        evaluate(tmp_path, lambda p: 400, AIME)
    assert (failed.value.code, failed.value.retryable) == ("FAILED_PRECONDITION", False)
    assert "this endpoint answers 400" in failed.value.message and "max_model_len" in failed.value.hint


def test_an_engine_that_moved_is_found_again(tmp_path):
    with Endpoint(oracle) as url, Door([DEAD, url]) as inference:
        job = make_job(tmp_path, spec(AIME, endpoint_patience_s=10), inference)
        run(job)
    assert values(evaluation_of(job)["aime-smoke"]) == {"none": 1.0}


def test_a_second_attempt_repeats_only_what_failed(tmp_path):
    def no_aime(prompt: str) -> str | int:
        return 503 if "boxed" in prompt else oracle(prompt)

    tasks = {**GSM8K, "limit": 4}, AIME
    with pytest.raises(EngineError) as failed:
        evaluate(tmp_path, no_aime, *tasks)
    assert failed.value.retryable
    job, _, requests = evaluate(tmp_path, oracle, *tasks, attempt=2)
    assert len(requests) == 4, "the word problems had been answered"
    assert [t["coverage"]["n_scored"] for t in evaluation_of(job).values()] == [4, 4]


def test_stop_ends_the_harness(tmp_path):
    asked = threading.Event()
    release = threading.Event()

    def slow(prompt: str) -> str:
        asked.set()
        release.wait(30)
        return oracle(prompt)

    endpoint = Endpoint(slow)
    with endpoint as url, Door([url]) as inference:
        job = make_job(tmp_path, spec({**AIME, "limit": 2}, num_concurrent=1), inference)
        threading.Thread(target=lambda: (asked.wait(60), setattr(job, "stop_requested", True)), daemon=True).start()
        with pytest.raises(Stopped):
            run(job)
        release.set()
    assert len(endpoint.requests) == 1, "the second trial never began"
    assert list(job.out.iterdir()) == []
