"""Checks of specs that need nothing but the spec: they run when a job is created and again in the engine."""

import re
from collections.abc import Mapping
from typing import Any

from marin_chassis.engine import EngineError

_GENERATION_BLOCK = re.compile(r"\{%[-+]?\s*generation\s*[-+]?%\}")
_SHAPE = ("max_seq_len", "hidden_dim", "intermediate_dim", "num_layers", "num_heads", "num_kv_heads")


def check_pretrain(spec: Mapping[str, Any], roles: Mapping[str, str]) -> None:
    """Refuses a PretrainSpec that cannot be trained. ``roles`` maps input roles to addresses."""
    model = spec["model"]
    if model is None:
        raise _invalid("model is not set", "set model", "NO_MODEL")
    if model["family"] == "MODEL_FAMILY_UNSPECIFIED":
        raise _invalid("model.family is not set", "set it to MODEL_FAMILY_QWEN3 or MODEL_FAMILY_LLAMA", "NO_MODEL")
    for name in _SHAPE:
        if model[name] <= 0:
            raise _invalid(f"model.{name} is {model[name]}", f"set model.{name} to a positive number", "BAD_SHAPE")
    if model["num_heads"] % model["num_kv_heads"]:
        raise _invalid(
            f"model.num_heads {model['num_heads']} is no multiple of model.num_kv_heads {model['num_kv_heads']}",
            "choose num_kv_heads so that it divides num_heads",
            "BAD_SHAPE",
        )
    if not model["head_dim"] and model["hidden_dim"] % model["num_heads"]:
        raise _invalid(
            f"model.hidden_dim {model['hidden_dim']} is no multiple of model.num_heads {model['num_heads']}",
            "set model.head_dim, or choose a multiple",
            "BAD_SHAPE",
        )
    if spec["pad_tokenizer_to_match_model"] and not model["vocab_size"]:
        raise _invalid(
            "pad_tokenizer_to_match_model is set, and model.vocab_size does not say up to what size",
            "set model.vocab_size, or leave the tokenizer as it is",
            "NO_VOCAB_SIZE",
        )
    _check_run(spec)
    if spec["seq_len"] > model["max_seq_len"]:
        raise _invalid(
            f"seq_len {spec['seq_len']} is longer than model.max_seq_len {model['max_seq_len']}",
            "lower seq_len or raise model.max_seq_len",
            "SEQUENCE_TOO_LONG",
        )
    token_sources(roles, spec["mixture_weights"])


def check_sft(spec: Mapping[str, Any], roles: Mapping[str, str]) -> None:
    """Refuses an SftSpec that cannot be trained. ``roles`` maps input roles to addresses."""
    _check_run(spec)
    if set(roles) != {"init", "conversations"}:
        raise _invalid(
            f"the inputs have the roles {sorted(roles) or 'none'}, and fine-tuning needs 'init' and 'conversations'",
            "connect a checkpoint as 'init' and conversations as 'conversations'",
            "WRONG_INPUTS",
        )
    if spec["chat_template"]:
        require_generation_block(spec, spec["chat_template"])


def require_generation_block(spec: Mapping[str, Any], template: str) -> None:
    """Without the block no token counts as said by the assistant, and the loss would be masked to nothing."""
    if learns_all_tokens(spec) or _GENERATION_BLOCK.search(template):
        return
    raise _invalid(
        "the chat template has no {% generation %} block, so no token is marked as said by the assistant: "
        "every token would be masked out of the loss",
        "wrap what the assistant says in {% generation %} ... {% endgeneration %}, or set loss_mask to LOSS_MASK_ALL",
        "ALL_ZERO_MASK",
    )


def token_sources(roles: Mapping[str, str], weights: Mapping[str, float]) -> dict[str, tuple[str, float]]:
    """Maps each mixture name to its input role and weight, in name order (the order decides the shuffle keys)."""
    names = {role.removeprefix("tokens").removeprefix("/") or "tokens": role for role in roles}
    if not roles or not all(role == "tokens" or role.startswith("tokens/") for role in roles):
        raise _invalid(
            f"the inputs have the roles {sorted(roles) or 'none'}, and pretraining reads 'tokens' or 'tokens/NAME'",
            "connect a token cache as 'tokens', or several as 'tokens/NAME'",
            "WRONG_INPUTS",
        )
    if not weights and len(names) == 1:
        weights = dict.fromkeys(names, 1.0)
    if set(weights) != set(names):
        raise _invalid(
            f"mixture_weights names {sorted(weights) or 'nothing'}, and the inputs are {sorted(names)}",
            "give each input exactly one weight, by the NAME of its role 'tokens/NAME'",
            "BAD_MIXTURE",
        )
    if min(weights.values()) <= 0:
        raise _invalid(
            f"mixture_weights are {dict(weights)}: each must be positive",
            "leave out an input that is not to be read",
            "BAD_MIXTURE",
        )
    return {name: (names[name], weights[name]) for name in sorted(names)}


def learns_all_tokens(spec: Mapping[str, Any]) -> bool:
    return spec["loss_mask"] == "LOSS_MASK_ALL"


def wants_accelerator(spec: Mapping[str, Any]) -> bool:
    return ((spec["resources"] or {}).get("accelerator") or "cpu") != "cpu"


def _check_run(spec: Mapping[str, Any]) -> None:
    for name, least in (("num_train_steps", 2), ("train_batch_size", 1), ("seq_len", 2)):
        if spec[name] < least:
            raise _invalid(f"{name} is {spec[name]}", f"set {name} to {least} or more", "BAD_RUN")
    optimizer = spec["optimizer"]
    if optimizer is None or optimizer["learning_rate"] <= 0:
        raise _invalid("optimizer.learning_rate is not positive", "set optimizer.learning_rate", "BAD_OPTIMIZER")
    if not 0 <= optimizer["warmup"] <= 1 or not 0 <= optimizer["min_lr_ratio"] <= 1:
        raise _invalid(
            f"optimizer.warmup is {optimizer['warmup']} and optimizer.min_lr_ratio {optimizer['min_lr_ratio']}",
            "both are fractions from 0 to 1",
            "BAD_OPTIMIZER",
        )


def _invalid(message: str, hint: str, reason: str) -> EngineError:
    return EngineError(message, hint=hint, reason=reason)
