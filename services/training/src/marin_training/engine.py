"""The engine process: ``python -m marin_training.engine ATTEMPT_DIR``. It trains once and ends."""

import os
from pathlib import Path
from typing import Any

from marin_chassis.engine import Job, main
from marin_training.core.spec import check_pretrain, check_sft, wants_accelerator


def run(job: Job) -> dict[str, Any]:
    roles = {role: i.address for role, i in job.inputs.items()}
    (check_pretrain if job.kind == "checkpoint.pretrain" else check_sft)(job.spec, roles)
    _prepare_environment(job)
    if job.kind == "checkpoint.pretrain":
        from marin_training.core.pretrain import pretrain

        return pretrain(job)
    from marin_training.core.sft import sft

    return sft(job)


def _prepare_environment(job: Job) -> None:
    # Read when JAX, transformers and Levanter are imported. Nothing here may reach for a network: tokenizers and
    # weights are local directories, and an export would otherwise wait for the hub before going on without it.
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["WANDB_MODE"] = "disabled"
    os.environ["MARIN_PREFIX"] = str(job.scratch)
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    if not wants_accelerator(job.spec):
        os.environ["JAX_PLATFORMS"] = "cpu"
    if os.environ.get("MARIN_CACHE_DIR"):
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(Path(os.environ["MARIN_CACHE_DIR"]) / "jax")


if __name__ == "__main__":
    main(run)
