"""Hand-made groups of samples for tests of advantages and updates."""

import torch

from marin_rl.core.batch import Group
from marin_rl.core.problems import Problem
from marin_rl.core.rollout import Sample


def make_group(rewards: list[float], index: int = 0, lengths: list[int] | None = None, reason: str = "stop") -> Group:
    """A group with responses of random ids and log-probabilities that no model gave."""
    generator = torch.Generator().manual_seed(index)
    samples = []
    for i in range(len(rewards)):
        length = lengths[i] if lengths else 3 + i % 3
        ids = torch.randint(4, 512, (length,), generator=generator).tolist()
        samples.append(Sample(tuple(ids), (-6.0,) * length, ((0, 0, length),), reason))
    prompt = tuple(torch.randint(4, 512, (5 + index,), generator=generator).tolist())
    return Group(Problem(index, prompt, {}), tuple(samples), ("",) * len(rewards), tuple(rewards))
