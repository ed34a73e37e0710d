"""The engine process: ``python -m marin_rl.engine ATTEMPT_DIR``."""

import os
from typing import Any

from marin_chassis.engine import EngineError, Job, main

# Before any import of transformers: policies and tokenizers are local directories, never names on a hub.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("LOGURU_LEVEL", "WARNING")


def run(job: Job) -> dict[str, Any]:
    from marin_rl.core.spec import parse

    grpo = parse(job.spec)
    endpoint = job.endpoints.get("inference")
    if not endpoint:
        raise EngineError(
            "no endpoint of the inference service is configured, and rollouts come from there",
            hint="start the inference service and give its host:port to the rl service as endpoint 'inference'",
            reason="NO_INFERENCE_ENDPOINT",
            code="FAILED_PRECONDITION",
        )
    job.progress("load")
    from marin_rl.rollouts import InferenceRollouts

    # One name for all attempts of a build: a new attempt replaces what a killed one left in the engine.
    policy_id = f"rl-{job.build_id or job.build_key[:16] or 'alone'}"
    rollouts = InferenceRollouts(endpoint, policy_id, grpo, job.check_stop, job.log)
    try:
        policy = job.input("policy")
        rollouts.warm(policy.path / "hf", policy.content_digest)
        from marin_rl.core.run import run_grpo  # seconds of imports, during which the engine starts

        return run_grpo(job, grpo, rollouts)
    finally:
        rollouts.close()


if __name__ == "__main__":
    main(run)
