"""The engine process: ``python -m marin_tokenization.engine ATTEMPT_DIR``."""

import os
from typing import Any

from marin_chassis.engine import Job, main

os.environ["WANDB_MODE"] = "disabled"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("JAX_PLATFORMS", "cpu")


def run(job: Job) -> dict[str, Any]:
    if job.kind == "tokenizer.import":
        from marin_tokenization.core.imported import import_tokenizer

        return import_tokenizer(job)
    # Read when transformers and Levanter are imported: only an import may look at a hub.
    os.environ["HF_HUB_OFFLINE"] = "1"
    if job.kind == "tokenizer":
        from marin_tokenization.core.tokenizer import train_tokenizer

        return train_tokenizer(job)
    from marin_tokenization.core.cache import write_cache

    # Levanter's storage layer wants a data root, and would otherwise look for one in the cloud.
    os.environ["MARIN_PREFIX"] = str(job.scratch)
    return write_cache(job)


if __name__ == "__main__":
    main(run)
