"""The loop: sample, score, compare, update, sync."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from marin_chassis.engine import EngineError, Stopped
from marin_rl.core.advantages import check_groups, compute_advantages, zero_variance_groups
from marin_rl.core.batch import Batch, Group, make_batch
from marin_rl.core.checkpoint import Checkpoints
from marin_rl.core.environments import Environment
from marin_rl.core.policy import sequence_logprobs, weights, weights_digest
from marin_rl.core.problems import Problems, batch_positions, sampling_seed
from marin_rl.core.record import StepLog, rollout_rows
from marin_rl.core.rollout import CheckStop, Probe, Request, Rollouts
from marin_rl.core.spec import Grpo
from marin_rl.core.update import Updater, batch_logprobs

PROBE_TOKENS = 64


@dataclass
class Trainer:
    """Everything a job needs, with its model at the weights that ``rollouts`` serves as version ``step``."""

    grpo: Grpo
    problems: Problems
    environment: Environment
    tokenizer: Any
    model: PreTrainedModel
    reference: PreTrainedModel | None
    updater: Updater
    rollouts: Rollouts
    checkpoints: Checkpoints
    log: StepLog
    source: Path
    check_stop: CheckStop
    progress: Callable[..., None]
    _updated: int = 0

    def run(self, done: int) -> None:
        """Runs the steps after ``done``. After a stop request the last finished step is saved."""
        saved = self._updated = done
        try:
            for step in range(done + 1, self.grpo.steps + 1):
                self.check_stop()
                self._step(step)
                done = step
                if step % self.grpo.checkpoint_every_steps == 0 or step == self.grpo.steps:
                    self.checkpoints.save(step, self.model, self.updater.optimizer, self.source)
                    saved = step
        except Stopped:
            if done > saved and self._updated == done:
                self.checkpoints.save(done, self.model, self.updater.optimizer, self.source)
            raise

    def _step(self, step: int) -> None:
        torch.manual_seed(sampling_seed(self.grpo.seed, step, -1) % 2**32)  # some losses drop tokens at random
        began = time.monotonic()
        groups = self._sample(step)
        sampled = time.monotonic()
        check_groups(groups, self.grpo)
        flat = zero_variance_groups(groups, self.grpo)
        masked = flat if self.grpo.zero_variance == "mask" else set()
        batch = make_batch(groups, masked, self.grpo.mask_truncated, self.model.device)
        old = batch_logprobs(self.model, batch, self.grpo)
        gap = check_logprob_gap(step, batch, old, self.grpo.max_logprob_gap)
        reference = batch_logprobs(self.reference, batch, self.grpo) if self.reference is not None else None
        advantages = compute_advantages(batch, flat, self.grpo, self.updater.config)
        self.check_stop()
        self._updated = step  # from here on the model is no longer that of the step before
        metrics = self.updater.update(step, batch, advantages, old, reference)
        trained = time.monotonic()
        digest, probe_gap = self._sync(step, batch)
        facts = step_facts(step, batch, flat) | asdict(metrics)
        facts |= {"logprob_gap": gap, "probe_gap": probe_gap, "weights_sha256": digest}
        self.log.write(step, rollout_rows(step, batch, advantages, old), facts)
        self.progress(
            "grpo",
            step,
            self.grpo.steps,
            **{k: facts[k] for k in ("reward", "kl", "loss", "tokens", "logprob_gap", "grad_norm")},
            groups_without_signal=float(len(flat)),
            tokens_per_second=facts["tokens"] / (sampled - began),
            rollout_seconds=sampled - began,
            train_seconds=trained - sampled,
            sync_seconds=time.monotonic() - trained,
        )

    def _sample(self, step: int) -> list[Group]:
        items, grpo = self.problems.items, self.grpo
        chosen = [items[i] for i in batch_positions(step, grpo.prompts_per_step, len(items), grpo.seed)]
        requests = [Request(p.prompt_ids, sampling_seed(grpo.seed, step, i)) for i, p in enumerate(chosen)]
        oldest = max(step - 1 - grpo.max_staleness, 0)
        groups = []
        for problem, samples in zip(
            chosen, self.rollouts.generate(requests, grpo.samples_per_prompt, oldest), strict=True
        ):
            check_versions(step, samples, oldest)
            texts = tuple(self.tokenizer.decode(s.response_ids, skip_special_tokens=True) for s in samples)
            rewards = tuple(
                self.environment.score(problem, s.response_ids, t) for s, t in zip(samples, texts, strict=True)
            )
            groups.append(Group(problem, tuple(samples), texts, rewards))
        return groups

    def _sync(self, step: int, batch: Batch) -> tuple[str, float]:
        """Sends the weights as version ``step``, with numbers that the engine must reproduce before it serves them."""
        tensors = weights(self.model)
        digest = weights_digest(tensors)
        first = batch.groups[0]
        ids = (first.problem.prompt_ids + first.samples[0].response_ids)[-PROBE_TOKENS:]
        probe = Probe(ids, sequence_logprobs(self.model, ids))
        return digest, self.rollouts.update_weights(tensors, digest, step, probe)


def check_versions(step: int, samples: list[Any], oldest: int) -> None:
    """Refuses rollouts from weights that are too old, or that are from the future (a run before a restart)."""
    for sample in samples:
        for version, _, _ in sample.versions:
            if not oldest <= version <= step - 1:
                raise EngineError(
                    f"step {step}: a rollout was sampled from policy version {version}; allowed are {oldest} to "
                    f"{step - 1}",
                    hint="another job may be updating the same policy; raise max_staleness if late rollouts are wanted",
                    reason="STALE_ROLLOUT",
                    code="FAILED_PRECONDITION",
                )


def check_logprob_gap(step: int, batch: Batch, trainer: torch.Tensor, limit: float) -> float:
    """Largest |engine - trainer| log-probability of a sampled token in nats.

    Tokens from older versions than the newest are left out: there a gap is what staleness means. Raises
    :class:`EngineError` (reason LOGPROB_GAP) above ``limit``: then the engine samples from other weights than it says.
    """
    newest = torch.zeros_like(batch.response_mask)
    for row, sample in enumerate(s for g in batch.groups for s in g.samples):
        for version, start, end in sample.versions:
            if version == step - 1:
                newest[row, start:end] = 1.0
    difference = (batch.rollout_logprobs - trainer).abs() * newest
    worst = difference.max().item()
    if not worst <= limit:
        row, place = divmod(int(difference.argmax()), difference.shape[1])
        group = batch.groups[row // batch.rows_per_group]
        raise EngineError(
            f"step {step}: engine and trainer differ by {worst:.4g} nats on token {place} of sample "
            f"{row % batch.rows_per_group} of row {group.problem.index} "
            f"(engine {batch.rollout_logprobs[row, place]:.4f}, "
            f"trainer {trainer[row, place]:.4f}); max_logprob_gap is {limit}",
            hint="the engine serves other weights or samples otherwise than the trainer assumes (temperature, dtype); "
            "with an engine in bfloat16 set max_logprob_gap to about 0.2",
            reason="LOGPROB_GAP",
            code="FAILED_PRECONDITION",
        )
    return worst


def step_facts(step: int, batch: Batch, flat: set[int]) -> dict[str, Any]:
    """Facts of one step's rollouts; every generated token is either in the loss or counted as masked."""
    rewards = torch.tensor([g.rewards for g in batch.groups], dtype=torch.float64)
    samples = [s for g in batch.groups for s in g.samples]
    tokens, trained = int(batch.response_mask.sum()), int(batch.loss_mask.sum())
    return {
        "step": step,
        "reward": rewards.mean().item(),
        "reward_std": rewards.std(correction=0).item(),
        "best_of_group": rewards.max(dim=1).values.mean().item(),
        "groups_without_signal": len(flat),
        "tokens": tokens,
        "tokens_in_loss": trained,
        "tokens_masked": tokens - trained,
        "mean_response_tokens": tokens / len(samples),
        "truncated": sum(s.finish_reason == "length" for s in samples),
    }
