"""Runs one Harbor task set against an OpenAI-style endpoint, each trial in a bubblewrap sandbox."""

import asyncio
import hashlib
import importlib.metadata
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from drivers import main
from harbor.job import Job
from harbor.models.job.config import DatasetConfig, JobConfig, RetryConfig
from harbor.models.trial.config import AgentConfig, EnvironmentConfig
from harbor.models.trial.result import TrialResult
from sandbox import probe


def run(request: dict[str, Any]) -> dict[str, Any]:
    isolation = probe()
    root = Path(request["task_path"])
    names = sorted(p.name for p in root.iterdir() if (p / "task.toml").exists())[: request["task"]["limit"] or None]
    trials = asyncio.run(_trials(request, names, isolation))
    return {
        "harness": "harbor",
        "harness_version": importlib.metadata.version("harbor"),
        "samples": [_sample(root / name, trials.get(name)) for name in names],
        "metrics": [{"metric": "reward", "filter": "none", "higher_is_better": True, "harness_value": None}],
    }


async def _trials(request: dict[str, Any], names: list[str], isolation: tuple[str, ...]) -> dict[str, TrialResult]:
    task = request["task"]
    agent = AgentConfig(
        import_path="one_shot_agent:OneShotAgent",
        model_name=request["model"],
        skip_model_parsing=True,  # the name may hold slashes, which are no provider's
        kwargs={
            "endpoint": request["base_url"],
            "chat": request["apply_chat_template"],
            "sampling": {
                "max_tokens": task["max_gen_tokens"],
                "temperature": task["temperature"],
                "seed": task["seed"],
            },
            "timeout_s": request["request_timeout_s"],
        },
    )
    sandboxes = EnvironmentConfig(
        import_path="bwrap_environment:BwrapEnvironment", kwargs={"isolation": list(isolation)}
    )
    config = JobConfig(
        job_name="job",
        jobs_dir=Path(request["work"]),
        n_concurrent_trials=request["num_concurrent"],
        quiet=True,
        retry=RetryConfig(max_retries=0),  # requests are tried again by the proxy in front of the server
        agents=[agent],
        environment=sandboxes,
        datasets=[DatasetConfig(path=Path(request["task_path"]), task_names=names)],
    )
    job = await Job.create(config)
    result = await job.run()
    return {trial.task_name.rpartition("/")[2]: trial for trial in result.trial_results}


def _sample(task: Path, trial: TrialResult | None) -> dict[str, Any]:
    """A trial has a score only if nothing went wrong in it: Harbor's own mean counts a dead endpoint as 0."""
    context = trial.agent_result if trial else None
    asked = (context and context.metadata) or {}
    rewards = (trial.verifier_result.rewards if trial and trial.verifier_result else None) or {}
    error = "MissingTrial" if trial is None else trial.exception_info.exception_type if trial.exception_info else None
    if error is None and "reward" not in rewards:
        error = "MissingReward"
    score = {
        "metric": "reward",
        "filter": "none",
        "score": None if error else float(rewards["reward"]),
        "extracted": None if error else asked.get("extracted"),
    }
    return {
        "sample_id": task.name,
        "doc_hash": hashlib.sha256((task / "instruction.md").read_bytes()).hexdigest(),
        "prompt_hash": asked.get("prompt_hash"),
        "target": (task / "tests" / "expected.txt").read_text().strip(),
        "prediction": asked.get("prediction"),
        "error_type": error,
        "error_message": trial.exception_info.exception_message if trial and trial.exception_info else None,
        "scores": [score],
    }


if __name__ == "__main__":
    main(run)
