"""Means with honest uncertainty."""

import math
from collections.abc import Sequence

_Z95 = 1.959963984540054


def mean(scores: Sequence[float]) -> float:
    return math.fsum(scores) / len(scores)


def standard_error(scores: Sequence[float]) -> float | None:
    """Of the mean: sample standard deviation over sqrt(n). None for fewer than two scores."""
    n = len(scores)
    if n < 2:
        return None
    m = mean(scores)
    return math.sqrt(math.fsum((s - m) ** 2 for s in scores) / (n - 1) / n)


def wilson(successes: float, n: int) -> tuple[float, float]:
    """95 % score interval of a proportion (Wilson 1927). It has width even where all scores agree."""
    p, z2 = successes / n, _Z95**2
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z95 / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)
