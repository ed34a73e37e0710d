"""Rollouts: what was asked of the inference engine, what came back, and the interface that the trainer needs for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch


@dataclass(frozen=True)
class Request:
    """One prompt to complete. ``seed`` fixes its samples for given weights."""

    prompt_ids: tuple[int, ...]
    seed: int


@dataclass(frozen=True)
class Sample:
    """One completion. ``logprobs`` are the engine's, in nats, at the sampling temperature; one for each id."""

    response_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    versions: tuple[tuple[int, int, int], ...]  # (version, start, end): tokens [start, end) came from that version
    finish_reason: str  # "stop" or "length"


@dataclass(frozen=True)
class Probe:
    """Token ids, and the log-probability that the trainer's weights give each but the first, at temperature 1."""

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]


class Rollouts(Protocol):
    """The engine that samples. Every call has a deadline and raises :class:`EngineError` with the cause."""

    def load(self, directory: Path, digest: str, version: int) -> None:
        """Serves the export in ``directory``; what was served under this job's name before is replaced."""
        ...

    def generate(self, requests: Sequence[Request], n: int, min_version: int) -> list[list[Sample]]:
        """``n`` samples for each request, in order of (request, sample), from ``min_version`` or newer weights."""
        ...

    def update_weights(self, tensors: dict[str, torch.Tensor], digest: str, version: int, probe: Probe) -> float:
        """Replaces the weights in the running engine; returns the largest log-probability difference on ``probe``."""
        ...


CheckStop = Callable[[], None]
