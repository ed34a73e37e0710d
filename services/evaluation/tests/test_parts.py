"""Task sets, statistics, extraction, coverage rules and pins, each by itself."""

import importlib.util
import json
import math
import re
import statistics
import threading
import time
from pathlib import Path

import pytest
from jobs import AIME, GSM8K, PROBLEMS, spec

from marin_chassis.engine import EngineError
from marin_contracts.kinds import KINDS
from marin_evaluation.core import stats
from marin_evaluation.core.harnesses import HARBOR, HARNESSES
from marin_evaluation.core.outcomes import Outcome, check_coverage, flags, metric_reports
from marin_evaluation.core.report import config_hash
from marin_evaluation.core.runner import Runner, Served
from marin_evaluation.core.spec import plan_of
from marin_evaluation.core.tasksets import TASK_SETS
from marin_evaluation.tasks.generate import rows


@pytest.mark.parametrize(("split", "count"), [("test", 32), ("train", 8)])
def test_rows_are_what_the_generator_makes(split, count):
    stored = (TASK_SETS["gsm8k-smoke"].path / f"{split}.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in stored] == rows(split, count)


def test_examples_are_not_questions():
    assert not {r["question"] for r in rows("test", 32)} & {r["question"] for r in rows("train", 8)}


def test_reasoning_adds_up():
    for row in rows("test", 32) + rows("train", 8):
        steps = re.findall(r"([\d*/+ -]+\d) = (\d+)", row["answer"])
        assert steps and all(eval(left) == int(right) for left, right in steps), row  # our own arithmetic


def test_competition_answers_by_brute_force():
    found = {
        "5184": sum(1 for a in range(1, 72) if 5184 % a == 0),
        "2026": pow(7, 2026, 1000),
        "three-digit": sum(sum(map(int, str(n))) == 9 and len(set(str(n))) == 3 for n in range(100, 1000)),
        "marbles": (lambda p: p.numerator + p.denominator)(_two_red_of_four()),
    }
    assert len(PROBLEMS) == len(found)
    for problem, answer in PROBLEMS.items():
        assert [v for k, v in found.items() if k in problem] == [int(answer)]


def _two_red_of_four():
    from fractions import Fraction
    from itertools import combinations

    draws = list(combinations("R" * 7 + "B" * 5, 4))
    return Fraction(sum(d.count("R") == 2 for d in draws), len(draws))


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (r"so \boxed{017} or 3", "17"),
        (r"\boxed{1} then \boxed{ 42 }", "42"),
        ("first 12, then 37.", "37"),
        ("it is 1234", None),
        ("it is 3.5 or 50%", None),
        (r"\boxed{x}", None),
        ("-5", None),
        ("0", "0"),
        ("", None),
    ],
)
def test_extraction(answer, found):
    location = importlib.util.spec_from_file_location("extraction", HARBOR.driver.parent / "extraction.py")
    module = importlib.util.module_from_spec(location)
    location.loader.exec_module(module)
    assert module.extract(answer) == found


def test_statistics():
    scores = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert stats.standard_error(scores) == pytest.approx(statistics.stdev(scores) / math.sqrt(8))
    assert stats.standard_error([1.0]) is None
    assert stats.wilson(0, 8) == pytest.approx((0.0, 0.3244), abs=1e-4)
    assert stats.wilson(15, 20) == pytest.approx((0.5313, 0.8881), abs=1e-4)


def _outcome(scores, own=None, errors=(), limit=0):
    """A gsm8k-smoke outcome with one metric; None is a sample in error."""
    task = plan_of(spec({**GSM8K, "limit": limit or len(scores)})).tasks[0]
    kinds = iter(errors)
    samples = tuple(
        {
            "error_type": next(kinds) if score is None else None,
            "error_message": "why" if score is None else None,
            "finish_reason": "stop",
            "scores": [{"metric": "m", "filter": "f", "score": score, "extracted": None if score is None else "1"}],
        }
        for score in scores
    )
    return Outcome(
        task, "0.4.13", samples, ({"metric": "m", "filter": "f", "higher_is_better": True, "harness_value": own},)
    )


def test_a_harness_that_disagrees_with_its_samples_is_refused():
    assert metric_reports(_outcome([1.0, 0.0], own=0.5))[0]["value"] == 0.5
    with pytest.raises(EngineError) as failed:
        metric_reports(_outcome([1.0, 0.0], own=1.0))
    assert failed.value.reason == "RESULTS_DISAGREE"


def test_a_mean_over_fewer_samples_is_not_compared_with_the_harness():
    reported = metric_reports(_outcome([1.0, 1.0, None], own=2 / 3, errors=["http_400"]))
    assert (reported[0]["value"], reported[0]["n_scored"]) == (1.0, 2)


@pytest.mark.parametrize(
    ("scores", "errors", "share", "code"),
    [
        ([1.0, None], ["endpoint_unavailable"], 0.5, None),
        ([1.0, None, None], ["endpoint_unavailable"] * 2, 0.5, "UNAVAILABLE"),
        ([1.0, None], ["VerifierTimeoutError"], 1.0, "FAILED_PRECONDITION"),
        ([None, None], ["http_400"] * 2, 0.0, "FAILED_PRECONDITION"),
    ],
)
def test_coverage(scores, errors, share, code):
    outcome = _outcome(scores, errors=errors)
    if code is None:
        check_coverage(outcome, share)
        assert "ATTRITION" in flags(outcome, metric_reports(outcome))
    else:
        with pytest.raises(EngineError) as failed:
            check_coverage(outcome, share)
        assert failed.value.code == code and "why" in failed.value.message


def test_a_harness_that_loses_samples_is_refused():
    with pytest.raises(EngineError, match="reports 2 samples"):
        check_coverage(_outcome([1.0, 1.0], limit=3), 0.5)


def test_the_configuration_hash_follows_what_is_asked():
    def of(*tasks, **fields):
        plan = plan_of(spec(*tasks, **fields))
        return config_hash(plan, plan.tasks[0])

    base = of(GSM8K)
    assert base == of(GSM8K, num_concurrent=1, endpoint_patience_s=9, min_coverage=0.9, task_timeout_s=5)
    assert base == of({**GSM8K, "name": "other"}), "a name is no setting"
    others = [
        of({**GSM8K, "seed": 1}),
        of({**GSM8K, "limit": 3}),
        of({**GSM8K, "num_fewshot": 1}),
        of({**GSM8K, "temperature": 0.5}),
        of(GSM8K, apply_chat_template=False),
        of(GSM8K, max_model_len=512),
        of(AIME),
    ]
    assert len({base, *others}) == len(others) + 1


def test_lanes_run_together_and_results_are_taken_one_by_one(tmp_path, monkeypatch):
    """Two harnesses that end at the same moment once wrote the same file at the same time, and the job failed."""
    plan = plan_of(spec(GSM8K, AIME))
    both, taking = threading.Barrier(2, timeout=10), threading.Lock()
    monkeypatch.setattr(Runner, "_drive", lambda self, task: both.wait())  # passes only if both lanes are at work

    def done(task, outcome):
        assert taking.acquire(blocking=False), "two results were taken at once"
        time.sleep(0.05)
        taking.release()

    Runner(plan, Served(str, "model"), {}, tmp_path, tmp_path).run(plan.tasks, done, lambda: None)


def test_versions_are_pinned_in_one_way():
    for harness in HARNESSES:
        pin = f"{harness.name}=={harness.version} "
        assert pin in (Path(harness.driver).parent / "requirements.lock").read_text()
        assert f"{harness.name}-{harness.version}" in KINDS["evaluation"].engine
        with pytest.raises(EngineError, match=re.escape(harness.version)):
            harness.check_version("0.0.1")
