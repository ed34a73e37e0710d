"""Translates specs into the configuration of Levanter's ``train_lm``, as a plain dict."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from marin_chassis.engine import Job
from marin_training.core.inputs import InitCheckpoint, TokenSource
from marin_training.core.spec import learns_all_tokens, wants_accelerator

RUN_ID = "run"
_MODEL_TYPES = {"MODEL_FAMILY_QWEN3": "qwen3", "MODEL_FAMILY_LLAMA": "llama"}
_SCHEDULES = {"LR_SCHEDULE_LINEAR": "linear", "LR_SCHEDULE_CONSTANT": "constant"}


def pretrain_config(job: Job, sources: list[TokenSource], tokenizer: Path, eos_ids: list[int]) -> dict[str, Any]:
    """Configuration of a run from random weights."""
    model = job.spec["model"]
    components = {s.name: {"cache_dir": str(s.cache), "flat_cache": True, "format": {"type": "text"}} for s in sources}
    return {
        **_common(job, tokenizer, eos_ids),
        "model": {
            "type": _MODEL_TYPES[model["family"]],
            "max_seq_len": model["max_seq_len"],
            "hidden_dim": model["hidden_dim"],
            "intermediate_dim": model["intermediate_dim"],
            "num_layers": model["num_layers"],
            "num_heads": model["num_heads"],
            "num_kv_heads": model["num_kv_heads"],
            "head_dim": model["head_dim"] or model["hidden_dim"] // model["num_heads"],
            "tie_word_embeddings": model["tie_word_embeddings"],
            "rope": {"type": "default", "theta": model["rope_theta"] or 10_000.0},
            "layer_norm_epsilon": model["layer_norm_epsilon"] or 1e-6,
            "tokenizer": str(tokenizer),
        },
        "data": _data(tokenizer, components, {s.name: s.weight for s in sources}),
    }


def sft_config(job: Job, init: InitCheckpoint, cache: Path, tokenizer: Path, eos_ids: list[int]) -> dict[str, Any]:
    """Configuration of a run from the weights of ``init``, with a fresh optimizer, on the chat cache ``cache``."""
    chat = {
        "cache_dir": str(cache),
        "flat_cache": True,
        "pack": job.spec["max_conversations_per_sequence"] or 64,
        "format": {"type": "chat", "mask_user_turns": not learns_all_tokens(job.spec)},
    }
    return {
        **_common(job, tokenizer, eos_ids),
        "model": {"type": _MODEL_TYPES[init.family], "tokenizer": str(tokenizer)},
        "use_hf_model_config": True,
        "initialize_from_hf": str(init.path),
        "data": _data(tokenizer, {"conversations": chat}, {"conversations": 1.0}),
    }


def _common(job: Job, tokenizer: Path, eos_ids: list[int]) -> dict[str, Any]:
    spec = job.spec
    return {
        "trainer": _trainer(job),
        "optimizer": _optimizer(spec["optimizer"]),
        "adapter": {"type": "recorded"},
        "train_seq_len": spec["seq_len"],
        "z_loss_weight": spec["z_loss_weight"],
        "hf_save_path": str(job.scratch / "export"),
        # Never within the run: the forced hooks after the last step export once.
        "hf_save_steps": spec["num_train_steps"] + 1,
        "hf_generation_eos_token_ids": eos_ids,
    }


def _data(tokenizer: Path, components: dict[str, Any], weights: Mapping[str, float]) -> dict[str, Any]:
    # A cache that is not there must be an error: training only reads caches.
    return {
        "tokenizer": str(tokenizer),
        "cache_dir": None,
        "auto_build_caches": False,
        "components": components,
        "train_weights": dict(weights),
    }


def _trainer(job: Job) -> dict[str, Any]:
    spec = job.spec
    return {
        "id": RUN_ID,
        "seed": spec["seed"],
        "mp": "p=f32,c=bfloat16" if spec["precision"] == "PRECISION_BF16_COMPUTE" else "f32",
        "num_train_steps": spec["num_train_steps"],
        "train_batch_size": spec["train_batch_size"],
        "require_accelerator": wants_accelerator(spec),
        "tracker": {"type": "recorder"},
        "log_dir": str(job.record / "levanter"),
        "log_jaxprs": False,
        "log_xla_hlo": False,
        # Watching gradients every few steps compiles the step a second time.
        "watch": {"watch_targets": []},
        # The step callback asks for checkpoints, which are temporary: only the newest stays, and the final one.
        "checkpointer": {
            "base_path": str(job.scratch / "checkpoints"),
            "append_run_id_to_base_path": False,
            "keep": None,
        },
    }


def _optimizer(optimizer: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "adam",
        "learning_rate": optimizer["learning_rate"],
        "weight_decay": optimizer["weight_decay"],
        "beta1": optimizer["beta1"] or 0.9,
        "beta2": optimizer["beta2"] or 0.95,
        "epsilon": optimizer["epsilon"] or 1e-8,
        "max_grad_norm": optimizer["max_grad_norm"] or None,
        "warmup": optimizer["warmup"],
        "min_lr_ratio": optimizer["min_lr_ratio"],
        "lr_schedule": _SCHEDULES.get(optimizer["lr_schedule"], "cosine"),
    }
