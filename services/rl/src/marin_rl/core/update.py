"""One step's update: SkyRL's policy loss and KL estimator over mini-batches, AdamW, gradient clipping."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from skyrl.backends.skyrl_train.utils.ppo_utils import (
    PolicyLossRegistry,
    apply_loss_reduction_to_advantages_minibatch,
    compute_approx_kl,
)
from skyrl.backends.skyrl_train.utils.torch_utils import masked_mean
from skyrl.train.config import AlgorithmConfig
from transformers import PreTrainedModel

from marin_chassis.engine import EngineError
from marin_rl.core.batch import Batch
from marin_rl.core.policy import response_logprobs
from marin_rl.core.spec import Grpo


@dataclass(frozen=True)
class UpdateMetrics:
    """Means over the mini-batches of a step that made an update; all 0 if none did."""

    loss: float
    kl: float
    clip_fraction: float
    grad_norm: float
    learning_rate: float
    optimizer_steps: int


def make_optimizer(model: PreTrainedModel, grpo: Grpo) -> torch.optim.AdamW:
    return torch.optim.AdamW(
        model.parameters(),
        lr=grpo.learning_rate,
        betas=(grpo.adam_beta1, grpo.adam_beta2),
        eps=grpo.adam_epsilon,
        weight_decay=grpo.weight_decay,
    )


def learning_rate_at(step: int, grpo: Grpo) -> float:
    """Rate of ``step`` (from 1): linear warm-up, then constant."""
    return grpo.learning_rate * min(1.0, step / grpo.warmup_steps) if grpo.warmup_steps else grpo.learning_rate


@torch.no_grad()
def batch_logprobs(model: PreTrainedModel, batch: Batch, grpo: Grpo) -> torch.Tensor:
    """Log-probabilities of all response tokens, shape [rows, width]; 0 on padding."""
    result = torch.zeros_like(batch.response_mask)
    for group, rows, width in batch.micro_batches(grpo.micro_forward_batch_size):
        result[rows, :width] = response_logprobs(
            model, group.problem.prompt_ids, batch.responses(group, rows), grpo.temperature
        )
    return result * batch.response_mask


@dataclass
class Updater:
    """Holds what stays the same over the steps of a job."""

    model: PreTrainedModel
    optimizer: torch.optim.AdamW
    grpo: Grpo
    config: AlgorithmConfig

    def update(
        self, step: int, batch: Batch, advantages: torch.Tensor, old: torch.Tensor, reference: torch.Tensor | None
    ) -> UpdateMetrics:
        """Changes the model by ``update_epochs`` passes over ``batch``; a mini-batch that is all masked is skipped.

        ``old`` and ``reference`` are log-probabilities before this step and of the input policy, shape [rows, width].
        """
        rate = learning_rate_at(step, self.grpo)
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = rate
        tensors = {"mask": batch.loss_mask, "rollout": batch.rollout_logprobs, "old": old}
        if reference is not None:
            tensors["reference"] = reference
        totals = dict.fromkeys(("loss", "kl", "clip_fraction", "grad_norm"), 0.0)
        done = 0
        for _ in range(self.grpo.update_epochs):
            for start in range(0, len(batch.groups), self.grpo.mini_batch_prompts):
                groups = range(start, start + self.grpo.mini_batch_prompts)
                scaled = self._scale(batch, advantages, groups)
                metrics = self._mini_batch(step, batch, groups, tensors | {"advantages": scaled})
                if metrics:
                    totals = {k: totals[k] + metrics[k] for k in totals}
                    done += 1
        return UpdateMetrics(
            **{k: v / max(done, 1) for k, v in totals.items()}, learning_rate=rate, optimizer_steps=done
        )

    def _scale(self, batch: Batch, advantages: torch.Tensor, groups: range) -> torch.Tensor:
        """Advantages of a mini-batch such that the plain sum of token losses is the reduction asked for."""
        size = batch.rows_per_group
        rows = slice(groups.start * size, groups.stop * size)
        scaled = torch.zeros_like(advantages)
        scaled[rows] = apply_loss_reduction_to_advantages_minibatch(
            advantages[rows],
            batch.loss_mask[rows],
            self.grpo.loss_reduction,
            self.grpo.micro_train_batch_size,
            self.grpo.max_new_tokens,
            [(g * size, (g + 1) * size) for g in range(len(groups))],
        )
        return scaled

    def _mini_batch(
        self, step: int, batch: Batch, groups: range, tensors: dict[str, torch.Tensor]
    ) -> dict[str, float] | None:
        """One optimizer step over ``groups``; None, without a step, if all of it is masked."""
        self.optimizer.zero_grad(set_to_none=True)
        totals = {"loss": 0.0, "kl": 0.0, "clip_fraction": 0.0}
        cuts = [c for c in batch.micro_batches(self.grpo.micro_train_batch_size, groups) if batch.loss_mask[c[1]].any()]
        if not cuts:
            return None
        for group, rows, width in cuts:
            share = (rows.stop - rows.start) / (len(groups) * batch.rows_per_group)
            new = response_logprobs(
                self.model, group.problem.prompt_ids, batch.responses(group, rows), self.grpo.temperature
            )
            loss, metrics = self._loss(new, {k: t[rows, :width] for k, t in tensors.items()}, share)
            loss.backward()
            totals = {k: totals[k] + metrics[k] for k in totals}
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.grpo.max_grad_norm).item()
        if not (math.isfinite(norm) and math.isfinite(totals["loss"])):
            raise EngineError(
                f"step {step}: loss {totals['loss']} with gradient norm {norm}; the weights were not changed",
                hint="lower learning_rate or the clip range; the last checkpoint is good",
                reason="NON_FINITE_GRADIENT",
                code="FAILED_PRECONDITION",
            )
        self.optimizer.step()
        return totals | {"grad_norm": norm}

    def _loss(
        self, new: torch.Tensor, micro: dict[str, torch.Tensor], share: float
    ) -> tuple[torch.Tensor, dict[str, float]]:
        """Loss of one micro-batch, which is ``share`` of its mini-batch; the KL term is a mean over sequences."""
        mask = micro["mask"]
        policy_loss: Any = PolicyLossRegistry.get(self.grpo.policy_loss)
        loss, metrics = policy_loss(
            new,
            micro["old"],
            micro["advantages"],
            config=self.config,
            loss_mask=mask,
            rollout_logprobs=micro["rollout"],
        )
        kl = torch.zeros((), device=new.device)
        if "reference" in micro:
            per_token = compute_approx_kl(new, micro["reference"], mask, self.grpo.kl_estimator)
            kl = masked_mean(per_token, mask, dim=-1).mean() * share
            loss = loss + self.grpo.kl_loss_coef * kl
        clipped = metrics.get("clip_ratio", 0.0) * share
        return loss, {"loss": loss.item(), "kl": kl.item(), "clip_fraction": clipped}
