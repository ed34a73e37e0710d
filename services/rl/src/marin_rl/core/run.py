"""A GRPO job from its inputs to its artifact."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import torch

from marin_chassis.engine import EngineError, Job, write_json
from marin_rl.core.advantages import algorithm_config
from marin_rl.core.checkpoint import Checkpoints
from marin_rl.core.environments import make_environment
from marin_rl.core.policy import load_model, load_tokenizer, save_export, weights, weights_digest
from marin_rl.core.problems import Problems, read_problems
from marin_rl.core.record import StepLog
from marin_rl.core.rollout import Rollouts
from marin_rl.core.spec import Grpo
from marin_rl.core.trainer import Trainer
from marin_rl.core.update import Updater, make_optimizer


def run_grpo(job: Job, grpo: Grpo, rollouts: Rollouts) -> dict[str, Any]:
    """Runs ``job`` to the end and fills its ``out/``; returns the result. ``rollouts`` stays the caller's to close."""
    source = job.input("policy").path / "hf"
    device = training_device(grpo)
    if device.type == "cpu" and "OMP_NUM_THREADS" not in os.environ:
        # Threads spin while they wait for each other, which is very slow where cores are short: one stays free.
        torch.set_num_threads(max(1, (os.cpu_count() or 2) - 1))
    torch.manual_seed(grpo.seed & 0xFFFFFFFF)
    model = load_model(source, device, trainable=True)
    tokenizer = load_tokenizer(source, model.config.vocab_size)
    check_lengths(grpo, model.config)
    problems = read_problems(job.input("problems").path / "train.parquet", tokenizer, grpo)
    environment = make_environment(grpo)
    for problem in problems.items:
        environment.check(problem)
    prompts = f"{len(problems.items)} prompts ({problems.dropped_long} too long)"
    job.log(f"{prompts}, {model.num_parameters():,} parameters on {device.type}")

    optimizer = make_optimizer(model, grpo)
    checkpoints = Checkpoints(job.scratch, job_identity(job))
    newest = checkpoints.newest()
    done = checkpoints.restore(newest, model, optimizer) if newest else 0
    if done:
        job.log(f"going on after step {done} of {grpo.steps}")
    log = StepLog(job.scratch / "steps")
    if done < grpo.steps:
        if newest:
            rollouts.load(newest / "hf", weights_digest(weights(model)), done)
        else:
            rollouts.load(source, job.input("policy").content_digest, 0)
        Trainer(
            grpo=grpo,
            problems=problems,
            environment=environment,
            tokenizer=tokenizer,
            model=model,
            reference=load_model(source, device, trainable=False) if grpo.use_kl_loss else None,
            updater=Updater(model, optimizer, grpo, algorithm_config(grpo)),
            rollouts=rollouts,
            checkpoints=checkpoints,
            log=log,
            source=source,
            check_stop=job.check_stop,
            progress=job.progress,
        ).run(done)
    job.progress("export")
    save_export(model, source, job.out / "hf")
    log.merge_rollouts(grpo.steps, job.out / "rollouts.parquet")
    return write_record(job.out, grpo, problems, log.facts(grpo.steps), model.num_parameters())


def training_device(grpo: Grpo) -> torch.device:
    """The device that this process trains on; raises :class:`EngineError` for a plan that is too big."""
    plan = grpo.role_plan
    if plan.on_cpu:
        return torch.device("cpu")
    there = torch.cuda.device_count()
    if plan.policy_gpus > min(there, 1):
        raise EngineError(
            f"role_plan: the policy needs {plan.policy_nodes} nodes x {plan.policy_gpus_per_node} GPUs; this worker "
            f"trains on one device and has {there}",
            hint="use a profile without a role plan (CPU) or with one policy GPU on this machine",
            reason="ROLE_PLAN",
            code="FAILED_PRECONDITION",
        )
    return torch.device("cuda", 0)


def check_lengths(grpo: Grpo, config: Any) -> None:
    """A prompt and its completion must fit the positions that the model was made for."""
    limit = getattr(config, "max_position_embeddings", None)
    if limit and grpo.max_prompt_tokens + grpo.max_new_tokens > limit:
        raise EngineError(
            f"max_prompt_tokens {grpo.max_prompt_tokens} + max_new_tokens {grpo.max_new_tokens} = "
            f"{grpo.max_prompt_tokens + grpo.max_new_tokens}, and the policy has {limit} positions",
            hint=f"make the two add up to at most {limit}",
            reason="TOO_LONG",
        )
    outside = sorted(t for t in grpo.target_token_ids if not 0 <= t < config.vocab_size)
    if outside:
        raise EngineError(
            f"token_share.target_token_ids holds {outside[0]}; the policy's vocabulary is 0 to {config.vocab_size - 1}",
            hint="list ids of this policy's vocabulary",
            reason="VOCAB_MISMATCH",
        )


def job_identity(job: Job) -> str:
    """What a checkpoint in scratch belongs to: the build key, or for an engine run by hand its spec and inputs."""
    if job.build_key:
        return job.build_key
    inputs = {role: i.content_digest for role, i in job.inputs.items()}
    return hashlib.sha256(json.dumps([job.spec, inputs], sort_keys=True).encode()).hexdigest()


def write_record(
    out: Path, grpo: Grpo, problems: Problems, steps: list[dict[str, Any]], parameters: int
) -> dict[str, Any]:
    """Writes training.json, which holds facts alone and no timings; returns the job's result."""
    first, last = steps[0], steps[-1]
    updates = sum(s["optimizer_steps"] for s in steps)
    summary = {
        "steps": grpo.steps,
        "optimizer_steps": updates,
        "first_reward": first["reward"],
        "last_reward": last["reward"],
        "best_reward": max(s["reward"] for s in steps),
        "last_kl": last["kl"],
        "max_logprob_gap": max(s["logprob_gap"] for s in steps),
        "tokens": sum(s["tokens"] for s in steps),
        "tokens_in_loss": sum(s["tokens_in_loss"] for s in steps),
        "groups": grpo.steps * grpo.prompts_per_step,
        "groups_without_signal": sum(s["groups_without_signal"] for s in steps),
        "weights_sha256": last["weights_sha256"],
    }
    problem_counts = {"used": len(problems.items), "dropped_long": problems.dropped_long}
    write_json(
        out / "training.json",
        {"summary": summary, "problems": problem_counts, "parameters": parameters, "steps": steps},
    )
    silent = summary["groups_without_signal"]
    note = f", {silent} of {summary['groups']} groups without signal" if silent else ""
    return {
        "summary": summary,
        "headline": f"reward {first['reward']:.3f} -> {last['reward']:.3f} in {grpo.steps} steps{note}",
    }
