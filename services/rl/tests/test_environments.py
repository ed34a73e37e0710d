import pytest
from tiny import toy_spec

from marin_chassis.engine import EngineError
from marin_rl.core.environments import GymEnvironment, make_environment
from marin_rl.core.problems import Problem
from marin_rl.core.spec import parse


def problem(truth):
    return Problem(7, (5,), {"reward_spec": {"method": "rule", "ground_truth": truth}})


@pytest.mark.parametrize(
    ("text", "truth", "reward"),
    [
        ("3 + 4 = 7\n#### 7", "7", 1.0),
        ("#### 1,234 apples", "1234", 1.0),
        ("#### -5", "-5", 1.0),
        ("#### 8", "7", 0.0),
        ("the answer is 7", "7", 0.0),
        ("", "7", 0.0),
    ],
)
def test_gsm8k_scores_the_number_after_the_marker(text, truth, reward):
    environment = make_environment(parse(toy_spec(env_class="gsm8k")))
    assert environment.score(problem(truth), (1, 2), text) == reward


@pytest.mark.parametrize("truth", [None, "", 7])
def test_a_problem_without_a_truth_is_refused_by_row(truth):
    with pytest.raises(EngineError, match=r"row 7: reward_spec\.ground_truth"):
        GymEnvironment("gsm8k").check(problem(truth))


def test_token_share_counts_sampled_ids():
    environment = make_environment(parse(toy_spec(token_share={"target_token_ids": [3, 5]})))
    assert environment.score(problem("1"), (3, 4, 5, 6, 3), "") == 0.6
