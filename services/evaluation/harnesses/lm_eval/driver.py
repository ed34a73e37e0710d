"""Runs one lm-eval task set against an OpenAI-style endpoint. One process for each task: a failure harms no other."""

import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

import yaml
from drivers import main, prompt_hash
from lm_eval.evaluator import simple_evaluate
from lm_eval.models.openai_completions import LocalChatCompletion, LocalCompletionsAPI
from lm_eval.tasks import TaskManager

# Stands for an answer that never came, on its way through lm-eval to the samples. No model begins with a NUL.
FAILED = "\x00request failed: "
NO_MATCH = "[invalid]"


class OneRequestOneSample:
    """A failed request costs one sample. By itself lm-eval gives up the whole run, with all that was answered.

    There is no trying again here: the recording proxy in front of the server does that, alike for all harnesses.
    """

    async def amodel_call(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return await super().amodel_call(*args, **kwargs)
        except Exception as e:
            return [FAILED + type(e).__name__]


class ChatModel(OneRequestOneSample, LocalChatCompletion):
    pass


class CompletionsModel(OneRequestOneSample, LocalCompletionsAPI):
    pass


def run(request: dict[str, Any]) -> dict[str, Any]:
    task = request["task"]
    generation = {
        "max_gen_toks": task["max_gen_tokens"],
        "temperature": task["temperature"],
        "do_sample": task["temperature"] > 0,
    }
    results = simple_evaluate(
        model=_model(request),
        tasks=[request["task_set"]],
        task_manager=TaskManager(include_path=str(_absolute_tasks(request)), include_defaults=False),
        num_fewshot=task["num_fewshot"],
        limit=task["limit"] or None,
        gen_kwargs=generation,
        apply_chat_template=request["apply_chat_template"],
        fewshot_as_multiturn=request["apply_chat_template"],
        log_samples=True,
        bootstrap_iters=0,
        random_seed=task["seed"],
        numpy_random_seed=task["seed"],
        torch_random_seed=task["seed"],
        fewshot_random_seed=task["seed"],
    )
    samples = results.pop("samples")[request["task_set"]]
    (Path(request["work"]) / "results.json").write_text(json.dumps(results, default=str, indent=1))
    return {
        "harness": "lm-eval",
        "harness_version": importlib.metadata.version("lm-eval"),
        "samples": _samples(samples),
        "metrics": _metrics(results, request["task_set"]),
    }


def _model(request: dict[str, Any]) -> LocalCompletionsAPI:
    shared = {
        "model": request["model"],
        "seed": request["task"]["seed"],  # lm-eval's own seeds do not reach the requests
        # at 1 lm-eval takes another code path, where a failed request is not one failed sample
        "num_concurrent": max(2, request["num_concurrent"]),
        "max_retries": 1,
        "timeout": request["request_timeout_s"],
        "tokenized_requests": False,
        "batch_size": 1,
    }
    if request["apply_chat_template"]:
        return ChatModel(base_url=request["base_url"] + "/chat/completions", **shared)
    return CompletionsModel(base_url=request["base_url"] + "/completions", tokenizer_backend=None, **shared)


def _absolute_tasks(request: dict[str, Any]) -> Path:
    """A copy of the task file with absolute paths of its rows: lm-eval would look from the current directory."""
    source, target = Path(request["task_path"]), Path(request["work"]) / "tasks"
    config = yaml.safe_load((source / f"{request['task_set']}.yaml").read_text())
    files = {split: str(source / f"{split}.jsonl") for split in (config["test_split"], config["fewshot_split"])}
    config["dataset_kwargs"] = {"data_files": files}
    target.mkdir(parents=True, exist_ok=True)
    (target / f"{request['task_set']}.yaml").write_text(yaml.safe_dump(config))
    return target


def _samples(logged: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """lm-eval logs a sample once for each filter; here it is one sample with several scores."""
    found: dict[int, dict[str, Any]] = {}
    for entry in logged:
        answer = entry["resps"][0][0]
        failed = answer.startswith(FAILED)
        sample = found.setdefault(
            entry["doc_id"],
            {
                "sample_id": f"{entry['doc_id']:05d}",
                "doc_hash": entry["doc_hash"],
                "prompt_hash": prompt_hash(_asked(entry)),
                "target": str(entry["target"]),
                "prediction": None if failed else answer,
                "error_type": answer.removeprefix(FAILED) if failed else None,
                "scores": [],
            },
        )
        extracted = entry["filtered_resps"][0]
        for metric in entry["metrics"]:
            answered = not failed and extracted != NO_MATCH
            sample["scores"].append(
                {
                    "metric": metric,
                    "filter": entry["filter"],
                    "score": None if failed else float(entry[metric]),
                    "extracted": str(extracted) if answered else None,
                }
            )
    return [found[k] for k in sorted(found)]


def _asked(entry: dict[str, Any]) -> Any:
    """The messages or the prompt text, as they go into the request."""
    context = entry["arguments"][0][0]
    if isinstance(context, tuple):  # chat messages, as JSON in a one-field tuple
        return json.loads(context[0])
    return context


def _metrics(results: dict[str, Any], task: str) -> list[dict[str, Any]]:
    better, found = results["higher_is_better"][task], []
    for key, value in results["results"][task].items():
        metric, _, chosen = key.partition(",")
        if chosen and metric in better:
            described = {"metric": metric, "filter": chosen, "higher_is_better": better[metric]}
            found.append({**described, "harness_value": value})
    return found


if __name__ == "__main__":
    main(run)
