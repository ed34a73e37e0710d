"""Bad specs are refused with the field and the fix, before anything is loaded."""

import pytest
from jobs import AIME, GSM8K, Door, make_job, spec

from marin_chassis.engine import EngineError
from marin_evaluation.core.spec import check_evaluate, plan_of
from marin_evaluation.engine import run

POLICY = {"policy": "policies/test@v1"}


@pytest.mark.parametrize(
    ("given", "reason", "says"),
    [
        (spec(), "NO_TASKS", "gsm8k-smoke"),
        (spec({"task_set": "gsm8k"}), "UNKNOWN_TASK_SET", "'gsm8k'"),
        (spec({"task_set": "gsm8k-smoke", "harness": "HARNESS_HARBOR"}), "WRONG_HARNESS", "lm-eval"),
        (spec(GSM8K, GSM8K), "DUPLICATE_TASK", "gsm8k-smoke"),
        (spec({**GSM8K, "limit": -1}), "BAD_VALUE", "tasks[0].limit"),
        (spec({**GSM8K, "num_fewshot": 9}), "TOO_MANY_EXAMPLES", "8"),
        (spec({**AIME, "num_fewshot": 1}), "TOO_MANY_EXAMPLES", "aime-smoke"),
        (spec(GSM8K, {**AIME, "temperature": "NaN"}), "BAD_VALUE", "tasks[1].temperature"),
        (spec(GSM8K, min_coverage=1.5), "BAD_VALUE", "min_coverage"),
        (spec(GSM8K, max_model_len=-5), "BAD_VALUE", "max_model_len"),
    ],
)
def test_bad_specs(given, reason, says):
    with pytest.raises(EngineError) as failed:
        check_evaluate(given, POLICY)
    assert failed.value.reason == reason and failed.value.code == "INVALID_ARGUMENT"
    assert says in failed.value.message + failed.value.hint


def test_inputs():
    with pytest.raises(EngineError, match="policy"):
        check_evaluate(spec(GSM8K), {"checkpoint": "c@v1"})


def test_defaults():
    plan = plan_of(spec({"task_set": "gsm8k-smoke"}))
    assert (plan.num_concurrent, plan.min_coverage, plan.task_timeout_s) == (8, 0.5, 3600)
    task = plan.tasks[0]
    assert (task.name, task.n_attempted, task.capped, task.max_gen_tokens) == ("gsm8k-smoke", 32, False, 256)


def test_answers_that_do_not_fit_are_refused_before_a_request(tmp_path):
    with Door(["http://127.0.0.1:9/v1"], max_model_len=64) as inference, pytest.raises(EngineError) as failed:
        run(make_job(tmp_path, spec(GSM8K), inference))
    assert failed.value.reason == "NO_ROOM_FOR_ANSWERS" and "64" in failed.value.message


def test_a_missing_harness_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("MARIN_ENVS_DIR", str(tmp_path))
    monkeypatch.delenv("MARIN_HARNESS_LM_EVAL_PYTHON", raising=False)
    door = Door(["http://127.0.0.1:9/v1"])
    with door as inference, pytest.raises(EngineError) as failed:
        run(make_job(tmp_path, spec(GSM8K), inference))
    assert (failed.value.code, failed.value.reason) == ("FAILED_PRECONDITION", "HARNESS_NOT_INSTALLED")
    assert "./tools/marin env install harness-lm-eval" in failed.value.hint
    assert door.loaded == []


def test_no_inference_service(tmp_path):
    job = make_job(tmp_path, spec(GSM8K), "")
    with pytest.raises(EngineError, match="inference service"):
        run(job)


def test_a_policy_without_an_export(tmp_path):
    job = make_job(tmp_path, spec(GSM8K), "127.0.0.1:9")
    (job.input("policy").path / "hf" / "config.json").unlink()
    with pytest.raises(EngineError) as failed:
        run(job)
    assert failed.value.reason == "NO_EXPORT" and "hf/config.json" in failed.value.message
