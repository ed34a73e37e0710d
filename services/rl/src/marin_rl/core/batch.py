"""One step's rollouts as padded tensors. Rows run by (prompt, sample); the samples of a prompt are neighbours."""

from dataclasses import dataclass

import torch

from marin_rl.core.problems import Problem
from marin_rl.core.rollout import Sample


@dataclass(frozen=True)
class Group:
    """All samples of one prompt with their texts and rewards."""

    problem: Problem
    samples: tuple[Sample, ...]
    texts: tuple[str, ...]
    rewards: tuple[float, ...]

    @property
    def has_variance(self) -> bool:
        """By spread, not by standard deviation: the deviation of equal floats need not come out as 0."""
        return max(self.rewards) - min(self.rewards) > 1e-6


@dataclass(frozen=True)
class Batch:
    """Tensors of shape [rows, longest response]; masks are 1.0 or 0.0."""

    groups: tuple[Group, ...]
    response_mask: torch.Tensor
    loss_mask: torch.Tensor  # response_mask without the rows that must not be learnt from
    rollout_logprobs: torch.Tensor

    @property
    def rows_per_group(self) -> int:
        return len(self.groups[0].samples)

    def micro_batches(self, size: int, groups: range | None = None) -> list[tuple[Group, slice, int]]:
        """(group, rows, longest response) for cuts of ``size`` rows, none of which spans two prompts."""
        cuts = []
        for g in groups if groups is not None else range(len(self.groups)):
            for start in range(0, self.rows_per_group, size):
                rows = slice(g * self.rows_per_group + start, g * self.rows_per_group + start + size)
                width = max(len(s.response_ids) for s in self.groups[g].samples[start : start + size])
                cuts.append((self.groups[g], rows, width))
        return cuts

    def responses(self, group: Group, rows: slice) -> list[tuple[int, ...]]:
        first = rows.start % self.rows_per_group
        return [s.response_ids for s in group.samples[first : first + rows.stop - rows.start]]


def make_batch(groups: list[Group], mask_groups: set[int], mask_truncated: bool, device: torch.device) -> Batch:
    """Pads the groups. ``mask_groups`` (places in ``groups``) are left out of the loss."""
    samples = [s for g in groups for s in g.samples]
    width = max(len(s.response_ids) for s in samples)
    response_mask, logprobs = torch.zeros(2, len(samples), width)
    keep = torch.ones(len(samples), 1)
    for row, sample in enumerate(samples):
        response_mask[row, : len(sample.response_ids)] = 1.0
        logprobs[row, : len(sample.response_ids)] = torch.tensor(sample.logprobs)
        group = row // len(groups[0].samples)
        if group in mask_groups or (mask_truncated and sample.finish_reason == "length"):
            keep[row] = 0.0
    return Batch(tuple(groups), response_mask.to(device), (response_mask * keep).to(device), logprobs.to(device))
