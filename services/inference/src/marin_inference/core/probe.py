"""The check of new weights: log-probabilities of known tokens, finite and, if the trainer gave its own, equal."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from marin_chassis.engine import EngineError


@dataclass(frozen=True)
class ProbeExpectation:
    """``logprobs[i]`` is that of ``token_ids[i + 1]`` given all before it, in nats."""

    token_ids: list[int]
    logprobs: list[float]
    tolerance: float


@dataclass(frozen=True)
class ProbeOutcome:
    token_ids: list[int]
    logprobs: list[float]
    max_abs_difference: float


def check_expectation(probe: ProbeExpectation, vocab_size: int, max_model_len: int) -> None:
    """Raises EngineError for a probe that cannot be scored."""
    problem = ""
    if not 2 <= len(probe.token_ids) < max_model_len:
        problem = f"it has {len(probe.token_ids)} tokens, and 2 to {max_model_len - 1} can be scored"
    elif len(probe.logprobs) != len(probe.token_ids) - 1:
        problem = f"{len(probe.token_ids)} tokens need one log-probability fewer, and it has {len(probe.logprobs)}"
    elif not all(0 <= t < vocab_size for t in probe.token_ids):
        problem = f"it has token ids outside 0..{vocab_size - 1}"
    elif not probe.tolerance > 0 or not all(map(math.isfinite, probe.logprobs)):
        problem = "its tolerance is not positive or its log-probabilities are not all finite"
    if problem:
        raise EngineError(
            f"the probe cannot be used: {problem}",
            hint="give the ids of a short sequence, the log-probability of each token after the first, and a tolerance",
            reason="BAD_PROBE",
        )


def compare(scored: Sequence[float], token_ids: Sequence[int], expected: ProbeExpectation | None) -> ProbeOutcome:
    """Raises EngineError if the engine's numbers are not finite or too far from the expected ones."""
    if not all(map(math.isfinite, scored)):
        raise EngineError(
            f"the weights give log-probabilities that are not finite: {list(scored)}",
            hint="check the trainer for overflow or a diverged loss; the version served before serves on",
            reason="PROBE_NOT_FINITE",
            code="FAILED_PRECONDITION",
        )
    worst = max((abs(a - b) for a, b in zip(scored, expected.logprobs, strict=True)), default=0.0) if expected else 0.0
    if expected and worst > expected.tolerance:
        raise EngineError(
            f"the engine's log-probabilities differ from the trainer's by up to {worst:.3g} nats, "
            f"and {expected.tolerance:.3g} is allowed",
            hint="the tensors are not those that the trainer scored with, or are named or laid out otherwise; "
            "the version served before serves on",
            reason="PROBE_MISMATCH",
            code="FAILED_PRECONDITION",
            max_abs_difference=str(worst),
        )
    return ProbeOutcome(list(token_ids), list(scored), worst)
