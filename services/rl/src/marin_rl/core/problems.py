"""Prompts: typed rows of ``train.parquet``, rendered with the policy's chat template, in a reproducible order."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from marin_chassis.engine import EngineError
from marin_rl.core.spec import Grpo


@dataclass(frozen=True)
class Problem:
    """One prompt. ``index`` is its row in train.parquet; ``extras`` is what the environment scores with."""

    index: int
    prompt_ids: tuple[int, ...]
    extras: dict[str, Any]


@dataclass(frozen=True)
class Problems:
    """The usable problems, and how many were left out because their prompt is too long."""

    items: tuple[Problem, ...]
    dropped_long: int


def read_problems(path: Path, tokenizer: Any, grpo: Grpo) -> Problems:
    """Reads and renders every row. Raises :class:`EngineError` naming file and row for a row that cannot be used."""
    if not path.is_file():
        raise EngineError(
            f"the problems artifact has no {path.name}",
            hint="connect an artifact of kind 'problems' (train.parquet, validation.parquet)",
            reason="MISSING_PROBLEMS",
            code="FAILED_PRECONDITION",
        )
    if not getattr(tokenizer, "chat_template", None):
        raise EngineError(
            "the policy's tokenizer has no chat template, so the chat prompts of the problems cannot be rendered",
            hint="start from an SFT checkpoint, whose tokenizer carries its chat template",
            reason="NO_CHAT_TEMPLATE",
            code="FAILED_PRECONDITION",
        )
    kept, dropped = [], 0
    for index, row in enumerate(pq.read_table(path).to_pylist()):
        ids = _render(row, index, path.name, tokenizer, grpo)
        if len(ids) <= grpo.max_prompt_tokens:
            kept.append(Problem(index, ids, {k: v for k, v in row.items() if k not in ("prompt", "env_class")}))
        elif grpo.drop_long_prompts:
            dropped += 1
        else:
            raise _row_error(
                path.name,
                index,
                f"its prompt has {len(ids)} tokens, and max_prompt_tokens is {grpo.max_prompt_tokens}",
                "raise max_prompt_tokens, or set drop_long_prompts to leave such rows out (they are counted)",
            )
    if len(kept) < grpo.prompts_per_step:
        raise EngineError(
            f"{path.name} gives {len(kept)} usable prompts ({dropped} too long), and prompts_per_step is "
            f"{grpo.prompts_per_step}",
            hint="use more problems, raise max_prompt_tokens, or lower prompts_per_step",
            reason="TOO_FEW_PROMPTS",
        )
    return Problems(tuple(kept), dropped)


def _render(row: dict[str, Any], index: int, name: str, tokenizer: Any, grpo: Grpo) -> tuple[int, ...]:
    if row.get("env_class") != grpo.env_class:
        raise _row_error(
            name,
            index,
            f"its env_class is '{row.get('env_class')}', and the job's is '{grpo.env_class}'",
            "use problems made for this environment, or change env_class",
        )
    messages = row.get("prompt")
    if not messages or not all(isinstance(m, dict) and m.get("role") and "content" in m for m in messages):
        raise _row_error(
            name, index, "its prompt is not a list of messages with role and content", "rebuild the problems artifact"
        )
    messages = [{"role": m["role"], "content": m["content"]} for m in messages]
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=True, return_dict=False)
    if not ids:
        raise _row_error(name, index, "the chat template renders it to no token", "check the policy's chat template")
    return tuple(ids)


def _row_error(name: str, index: int, what: str, hint: str) -> EngineError:
    return EngineError(f"{name}, row {index}: {what}", hint=hint, reason="BAD_PROBLEM", row=str(index))


def batch_positions(step: int, per_step: int, count: int, seed: int) -> list[int]:
    """Positions of the problems of ``step`` (from 1): consecutive cuts of one permutation of ``count`` for each epoch.

    Depends on (seed, step) alone, so a resumed job sees the same prompts.
    """
    positions, epoch_order = [], {}
    for k in range((step - 1) * per_step, step * per_step):
        epoch, place = divmod(k, count)
        if epoch not in epoch_order:
            epoch_order[epoch] = np.random.Generator(np.random.PCG64([seed & 0xFFFFFFFF, epoch])).permutation(count)
        positions.append(int(epoch_order[epoch][place]))
    return positions


def sampling_seed(seed: int, step: int, place: int) -> int:
    """Seed (63 bits) of the samples of the prompt at ``place`` of ``step``."""
    digest = hashlib.sha256(f"{seed}/{step}/{place}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
