"""Advantages by SkyRL's estimators, with the guards that they lack.

Measured on SkyRL 0.4.0's ``compute_grpo_outcome_advantage``: eight equal rewards of 0.1 give -0.0074 each instead of 0
(float rounding over an epsilon of 1e-6), a group of one gets its raw reward, and one NaN makes its whole group NaN.
"""

import numpy as np
import torch
from skyrl.backends.skyrl_train.utils.ppo_utils import compute_advantages_and_returns
from skyrl.train.config import AlgorithmConfig

from marin_chassis.engine import EngineError
from marin_rl.core.batch import Batch, Group
from marin_rl.core.spec import Grpo


def algorithm_config(grpo: Grpo) -> AlgorithmConfig:
    """SkyRL's configuration for this spec; what the spec does not name keeps SkyRL's default."""
    return AlgorithmConfig(
        advantage_estimator=grpo.advantage_estimator,
        grpo_norm_by_std=grpo.norm_by_std,
        policy_loss_type=grpo.policy_loss,
        eps_clip_low=grpo.clip_eps_low,
        eps_clip_high=grpo.clip_eps_high,
        loss_reduction=grpo.loss_reduction,
        kl_estimator_type=grpo.kl_estimator,
        use_kl_loss=grpo.use_kl_loss,
        kl_loss_coef=grpo.kl_loss_coef,
        temperature=grpo.temperature,
        max_seq_len=grpo.max_new_tokens,
    )


def check_groups(groups: list[Group], grpo: Grpo) -> None:
    """Raises :class:`EngineError` for rewards that are not finite and groups without a comparison."""
    for group in groups:
        bad = [r for r in group.rewards if not np.isfinite(r)]
        if bad:
            raise EngineError(
                f"row {group.problem.index} has the reward {bad[0]}, which would make all advantages of its group NaN",
                hint="repair the environment or leave the problem out",
                reason="NON_FINITE_REWARD",
                row=str(group.problem.index),
            )
        if len(group.samples) < 2 and grpo.compares_in_groups:
            raise EngineError(
                f"row {group.problem.index} has {len(group.samples)} sample: {grpo.advantage_estimator} compares "
                "samples of one prompt",
                hint="sample at least 2 completions for each prompt",
                reason="GROUP_TOO_SMALL",
                row=str(group.problem.index),
            )


def zero_variance_groups(groups: list[Group], grpo: Grpo) -> set[int]:
    """Places of the groups whose samples all got one reward; none for an estimator that compares over the batch."""
    return {i for i, g in enumerate(groups) if not g.has_variance} if grpo.compares_in_groups else set()


def compute_advantages(batch: Batch, flat: set[int], grpo: Grpo, config: AlgorithmConfig) -> torch.Tensor:
    """Advantage of each response token, shape [rows, width]; exactly 0 for the groups in ``flat`` and for padding."""
    mask = batch.response_mask
    token_rewards = torch.zeros_like(mask)
    rewards = torch.tensor([r for g in batch.groups for r in g.rewards], device=mask.device)
    last = mask.sum(dim=1).long() - 1
    token_rewards[torch.arange(len(rewards)), last] = rewards
    index = np.repeat(np.arange(len(batch.groups)), batch.rows_per_group)
    advantages, _ = compute_advantages_and_returns(
        token_level_rewards=token_rewards,
        response_mask=mask,
        index=index,
        adv_estimator=grpo.advantage_estimator,
        config=config,
        grpo_norm_by_std=grpo.norm_by_std,
    )
    advantages = advantages * mask
    for group in flat:
        advantages[group * batch.rows_per_group : (group + 1) * batch.rows_per_group] = 0.0
    return advantages
