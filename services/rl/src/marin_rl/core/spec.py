"""The GRPO spec as a checked, frozen record. Imports nothing heavy: the service validates with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from marin_chassis.engine import EngineError
from marin_rl.core.role_plan import RolePlan, check_role_plan, role_plan_from

# SkyRL's registered names by the spec's enum values; UNSPECIFIED is the first.
ESTIMATORS = {"GRPO": "grpo", "RLOO": "rloo", "REINFORCE_PP": "reinforce++", "MAXRL": "maxrl"}
LOSSES = {
    name: name.lower()
    for name in (
        "REGULAR",
        "DUAL_CLIP",
        "GSPO",
        "CISPO",
        "SAPO",
        "DPPO",
        "ROLLOUT_IS",
        "CLIP_COV",
        "KL_COV",
        "IMPORTANCE_SAMPLING",
    )
}
KL_ESTIMATORS = {"K3": "k3", "K1": "k1", "K2": "k2", "ABS": "abs"}
REDUCTIONS = {name: name.lower() for name in ("TOKEN_MEAN", "SEQUENCE_MEAN", "SEQ_MEAN_TOKEN_SUM_NORM", "PROMPT_MEAN")}
ZERO_VARIANCE = {"MASK": "mask", "ZERO": "zero"}
ENV_CLASSES = ("gsm8k", "token_share")


@dataclass(frozen=True)
class Grpo:
    """GrpoSpec with defaults filled in. Field names and meanings are those of proto/marin/rl/v1/rl.proto."""

    env_class: str
    target_token_ids: frozenset[int]
    steps: int
    prompts_per_step: int
    samples_per_prompt: int
    max_prompt_tokens: int
    drop_long_prompts: bool
    max_new_tokens: int
    temperature: float
    seed: int
    learning_rate: float
    warmup_steps: int
    adam_beta1: float
    adam_beta2: float
    adam_epsilon: float
    weight_decay: float
    max_grad_norm: float
    mini_batch_prompts: int
    update_epochs: int
    micro_train_batch_size: int
    micro_forward_batch_size: int
    advantage_estimator: str
    norm_by_std: bool
    policy_loss: str
    clip_eps_low: float
    clip_eps_high: float
    loss_reduction: str
    use_kl_loss: bool
    kl_loss_coef: float
    kl_estimator: str
    zero_variance: str
    mask_truncated: bool
    max_staleness: int
    max_logprob_gap: float
    checkpoint_every_steps: int
    rollout_timeout_s: int
    sync_timeout_s: int
    role_plan: RolePlan

    @property
    def compares_in_groups(self) -> bool:
        return self.advantage_estimator != "reinforce++"


def invalid(message: str, hint: str, reason: str = "INVALID_SPEC", **metadata: str) -> EngineError:
    return EngineError(message, hint=hint, reason=reason, **metadata)


def parse(spec: Mapping[str, Any]) -> Grpo:
    """The checked record of a GrpoSpec dict; raises :class:`EngineError` with the offending numbers in the message."""
    samples = _at_least(spec, "samples_per_prompt", 1)
    prompts = _at_least(spec, "prompts_per_step", 1)
    top_p = spec.get("top_p") or 1.0
    if top_p != 1.0:
        raise invalid(
            f"top_p is {top_p}, and training needs top_p = 1: engine log-probabilities are renormalised over the kept "
            "tokens, the trainer's run over the whole vocabulary, so every ratio would be biased",
            hint="leave top_p at 1 and use temperature to sharpen sampling",
        )
    grpo = Grpo(
        env_class=spec.get("env_class") or "",
        target_token_ids=frozenset((spec.get("token_share") or {}).get("target_token_ids") or ()),
        steps=_at_least(spec, "steps", 1),
        prompts_per_step=prompts,
        samples_per_prompt=samples,
        max_prompt_tokens=_at_least(spec, "max_prompt_tokens", 1),
        drop_long_prompts=bool(spec.get("drop_long_prompts")),
        max_new_tokens=_at_least(spec, "max_new_tokens", 1),
        temperature=_positive(spec, "temperature", 1.0),
        seed=spec.get("seed") or 0,
        learning_rate=_positive(spec, "learning_rate", None),
        warmup_steps=_at_least(spec, "warmup_steps", 0),
        adam_beta1=_positive(spec, "adam_beta1", 0.9),
        adam_beta2=_positive(spec, "adam_beta2", 0.999),
        adam_epsilon=_positive(spec, "adam_epsilon", 1e-8),
        weight_decay=_at_least(spec, "weight_decay", 0.0),
        max_grad_norm=_positive(spec, "max_grad_norm", 1.0),
        mini_batch_prompts=_at_least(spec, "mini_batch_prompts", 0) or prompts,
        update_epochs=_at_least(spec, "update_epochs", 0) or 1,
        micro_train_batch_size=_at_least(spec, "micro_train_batch_size", 0) or samples,
        micro_forward_batch_size=_at_least(spec, "micro_forward_batch_size", 0) or samples,
        advantage_estimator=_enum(spec, "advantage_estimator", ESTIMATORS),
        norm_by_std=not spec.get("norm_by_std_off"),
        policy_loss=_enum(spec, "policy_loss", LOSSES),
        clip_eps_low=_positive(spec, "clip_eps_low", 0.2),
        clip_eps_high=_positive(spec, "clip_eps_high", 0.2),
        loss_reduction=_enum(spec, "loss_reduction", REDUCTIONS),
        use_kl_loss=bool(spec.get("use_kl_loss")),
        kl_loss_coef=_at_least(spec, "kl_loss_coef", 0.0),
        kl_estimator=_enum(spec, "kl_estimator", KL_ESTIMATORS),
        zero_variance=_enum(spec, "zero_variance_policy", ZERO_VARIANCE),
        mask_truncated=bool(spec.get("mask_truncated")),
        max_staleness=_at_least(spec, "max_staleness", 0),
        max_logprob_gap=_positive(spec, "max_logprob_gap", 0.01),
        checkpoint_every_steps=_at_least(spec, "checkpoint_every_steps", 0) or 1,
        rollout_timeout_s=_at_least(spec, "rollout_timeout_s", 0) or 300,
        sync_timeout_s=_at_least(spec, "sync_timeout_s", 0) or 300,
        role_plan=role_plan_from(spec.get("role_plan")),
    )
    _check_environment(grpo)
    _check_batches(grpo)
    check_role_plan(grpo.role_plan, grpo.mini_batch_prompts * samples, grpo.micro_train_batch_size)
    return grpo


def check_grpo(spec: Mapping[str, Any], roles: Mapping[str, str]) -> None:
    """Refuses a spec or inputs that cannot work. Called by the service at CreateGrpoJob, without any engine."""
    parse(spec)
    missing = sorted({"policy", "problems"} - set(roles))
    if missing:
        raise invalid(
            f"a policy job needs the inputs 'policy' and 'problems'; missing: {', '.join(missing)}",
            hint="policy is any checkpoint with hf/, problems is an artifact of kind 'problems'",
            reason="MISSING_INPUT",
        )


def _check_environment(grpo: Grpo) -> None:
    if grpo.env_class not in ENV_CLASSES:
        raise invalid(
            f"env_class is '{grpo.env_class}', and the environments are {', '.join(ENV_CLASSES)}",
            hint="set env_class to one of them",
        )
    if grpo.env_class == "token_share" and not grpo.target_token_ids:
        raise invalid(
            "env_class 'token_share' has no token_share.target_token_ids, so every reward would be 0",
            hint="list the rewarded token ids",
        )


def _check_batches(grpo: Grpo) -> None:
    if grpo.samples_per_prompt < 2 and grpo.compares_in_groups:
        raise invalid(
            f"samples_per_prompt is {grpo.samples_per_prompt}: the {grpo.advantage_estimator} estimator compares the "
            "samples of one prompt, and a group of one has nothing to be compared with",
            hint="sample at least 2 completions for each prompt, or use ADVANTAGE_ESTIMATOR_REINFORCE_PP",
        )
    if grpo.mini_batch_prompts > grpo.prompts_per_step or grpo.prompts_per_step % grpo.mini_batch_prompts:
        raise invalid(
            f"mini_batch_prompts {grpo.mini_batch_prompts} does not divide prompts_per_step {grpo.prompts_per_step}",
            hint="choose a divisor, or 0 for one mini-batch a step",
        )
    for name in ("micro_train_batch_size", "micro_forward_batch_size"):
        size = getattr(grpo, name)
        if size > grpo.samples_per_prompt or grpo.samples_per_prompt % size:
            raise invalid(
                f"{name} {size} does not divide samples_per_prompt {grpo.samples_per_prompt}",
                hint="choose a divisor, or 0 for a whole group",
            )


def _at_least(spec: Mapping[str, Any], name: str, low: float) -> Any:
    value = spec.get(name) or 0
    if value < low:
        raise invalid(f"{name} is {value}, and must be at least {low}", hint=f"set {name}")
    return value


def _positive(spec: Mapping[str, Any], name: str, default: float | None) -> float:
    value = spec.get(name) or default
    if value is None or not 0 < value < float("inf"):
        raise invalid(f"{name} is {value or 0}, and must be a positive number", hint=f"set {name}")
    return float(value)


def _enum(spec: Mapping[str, Any], name: str, values: Mapping[str, str]) -> str:
    """The engine's name for an enum value such as ``POLICY_LOSS_REGULAR``; the first of ``values`` if unspecified."""
    prefix = name.upper() + "_"
    label = (spec.get(name) or "").removeprefix(prefix)
    if label in ("", "UNSPECIFIED"):
        return next(iter(values.values()))
    if label not in values:
        raise invalid(f"{name} is '{spec[name]}'", hint=f"use one of {', '.join(prefix + v for v in values)}")
    return values[label]
