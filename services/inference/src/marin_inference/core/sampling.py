"""Checks of Generate requests, and seeds."""

import hashlib
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from marin_chassis.engine import EngineError


@dataclass(frozen=True)
class Limits:
    """Of the model that is served."""

    vocab_size: int
    max_model_len: int


def check_prompts(prompts: Sequence[Sequence[int]], limits: Limits) -> None:
    """Raises EngineError naming the first prompt that cannot be continued."""
    if not prompts:
        raise _bad("the request has no prompts", "send at least one prompt as token ids")
    for index, ids in enumerate(prompts):
        if not ids:
            raise _bad(f"prompt {index} is empty", "send at least one token id, for example the end-of-text token")
        if len(ids) >= limits.max_model_len:
            raise _bad(
                f"prompt {index} has {len(ids)} tokens, and the engine's longest sequence is {limits.max_model_len}",
                f"shorten it to {limits.max_model_len - 1} tokens or load the policy with a larger max_model_len",
            )
        _check_ids(f"prompt {index}", ids, limits)


def check_sampling(
    n: int, max_tokens: int, temperature: float, top_p: float, top_k: int, stop_token_ids: Sequence[int], limits: Limits
) -> None:
    """Raises EngineError for values that mean nothing."""
    problem = ""
    if n < 0:
        problem = f"n is {n}"
    elif max_tokens < 1:
        problem = f"max_tokens is {max_tokens}"
    elif not (math.isfinite(temperature) and temperature >= 0):
        problem = f"temperature is {temperature}"
    elif not 0 < top_p <= 1:
        problem = f"top_p is {top_p}"
    elif top_k < 0:
        problem = f"top_k is {top_k}"
    if problem:
        raise _bad(
            problem, "n >= 1, max_tokens >= 1, temperature >= 0, 0 < top_p <= 1 and top_k >= 0 can be sampled with"
        )
    _check_ids("stop_token_ids", stop_token_ids, limits)


def _check_ids(what: str, ids: Sequence[int], limits: Limits) -> None:
    if ids and not (min(ids) >= 0 and max(ids) < limits.vocab_size):
        wrong = next(t for t in ids if not 0 <= t < limits.vocab_size)
        raise _bad(
            f"{what} holds token id {wrong}, and the model knows 0..{limits.vocab_size - 1}",
            "encode with the tokenizer that was exported with the policy",
        )


def _bad(message: str, hint: str) -> EngineError:
    return EngineError(message, hint=hint, reason="BAD_REQUEST")


def derive_seed(seed: int, *path: int) -> int:
    """A 56-bit seed that depends on all arguments, so that neighbouring seeds give unrelated streams."""
    raw = struct.pack(f"<{1 + len(path)}q", seed, *path)
    return int.from_bytes(hashlib.sha256(raw).digest()[:7], "little")
