import statistics

import pytest
import torch
from groups import make_group
from tiny import toy_spec

from marin_chassis.engine import EngineError
from marin_rl.core.advantages import algorithm_config, check_groups, compute_advantages, zero_variance_groups
from marin_rl.core.batch import make_batch
from marin_rl.core.spec import parse

CPU = torch.device("cpu")


def advantages_of(groups, **changes):
    grpo = parse(toy_spec(**changes))
    flat = zero_variance_groups(groups, grpo)
    batch = make_batch(groups, flat, False, CPU)
    return compute_advantages(batch, flat, grpo, algorithm_config(grpo)), batch


def per_sample(advantages, batch):
    return (advantages.sum(1) / batch.response_mask.sum(1)).tolist()


def test_grpo_is_reward_minus_mean_over_deviation_inside_each_group():
    rewards = [[0.0, 1.0, 0.5, 0.0], [10.0, 12.0, 10.0, 11.0]]
    advantages, batch = advantages_of([make_group(r, i) for i, r in enumerate(rewards)])
    expected = [(x - statistics.mean(r)) / statistics.stdev(r) for r in rewards for x in r]
    assert per_sample(advantages, batch) == pytest.approx(expected, abs=1e-5)
    assert (advantages * (1 - batch.response_mask) == 0).all()


def test_rloo_compares_with_the_other_samples():
    rewards = [0.0, 1.0, 0.5, 0.25]
    advantages, batch = advantages_of([make_group(rewards)], advantage_estimator="ADVANTAGE_ESTIMATOR_RLOO")
    expected = [r - (sum(rewards) - r) / 3 for r in rewards]
    assert per_sample(advantages, batch) == pytest.approx(expected, abs=1e-5)


def test_equal_rewards_give_exactly_zero_and_leave_the_loss():
    # Without the guard SkyRL makes -0.0074 of eight rewards of 0.1.
    advantages, batch = advantages_of([make_group([0.1] * 8), make_group([0.0, 1.0] * 4, 1)])
    assert (advantages[:8] == 0).all() and advantages[8:].abs().max() > 0.5
    assert not batch.loss_mask[:8].any() and (batch.loss_mask[8:] == batch.response_mask[8:]).all()


def test_reinforce_pp_keeps_equal_groups_because_it_compares_over_the_batch():
    groups = [make_group([1.0] * 2), make_group([0.0] * 2, 1)]
    advantages, batch = advantages_of(groups, advantage_estimator="ADVANTAGE_ESTIMATOR_REINFORCE_PP")
    first, second = per_sample(advantages, batch)[0], per_sample(advantages, batch)[2]
    assert first > 0.5 and second < -0.5 and batch.loss_mask.any(dim=1).all()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_reward_that_is_not_finite_is_refused_before_it_spreads(bad):
    with pytest.raises(EngineError, match="row 3 has the reward") as e:
        check_groups([make_group([0.0, 1.0]), make_group([0.0, bad], 3)], parse(toy_spec()))
    assert e.value.reason == "NON_FINITE_REWARD"


def test_a_group_of_one_is_refused_rather_than_given_its_raw_reward():
    with pytest.raises(EngineError) as e:
        check_groups([make_group([1.0])], parse(toy_spec()))
    assert e.value.reason == "GROUP_TOO_SMALL"


def test_truncated_completions_can_be_left_out_of_the_loss_while_their_reward_counts():
    group = make_group([0.0, 1.0], reason="length")
    batch = make_batch([group], set(), True, CPU)
    assert not batch.loss_mask.any() and batch.response_mask.any()
