"""Evaluation jobs in a directory, and an inference service that only knows the address of a test endpoint."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.json_format import ParseDict

from marin.evaluation.v1 import evaluation_pb2
from marin.inference.v1 import inference_pb2, inference_service_pb2 as pb, inference_service_pb2_grpc as rpc
from marin_artifacts.identity import spec_dict
from marin_chassis.engine import Job
from marin_evaluation.core.tasksets import TASK_SETS

GSM8K = {"task_set": "gsm8k-smoke", "max_gen_tokens": 64}
AIME = {"task_set": "aime-smoke", "max_gen_tokens": 64}
ROWS = [json.loads(line) for line in (TASK_SETS["gsm8k-smoke"].path / "test.jsonl").read_text().splitlines()]
PROBLEMS = {
    (d / "instruction.md").read_text().strip(): (d / "tests" / "expected.txt").read_text().strip()
    for d in sorted(TASK_SETS["aime-smoke"].path.iterdir())
    if (d / "task.toml").exists()
}


def oracle(prompt: str) -> str:
    """The right answer to every question of the shipped task sets."""
    for row in ROWS:
        if row["question"] in prompt:
            return row["answer"]
    return rf"It is \boxed{{{PROBLEMS[prompt.strip()]}}}."


def wrong(prompt: str) -> str:
    """A well-formed wrong answer: one more than the right number."""
    if prompt.strip() in PROBLEMS:
        return rf"\boxed{{{int(PROBLEMS[prompt.strip()]) + 1}}}"
    return f"#### {int(oracle(prompt).rpartition('#### ')[2]) + 1}"


def spec(*tasks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """An EvaluateSpec as an engine gets it."""
    given = {"tasks": tasks, "apply_chat_template": True, "endpoint_patience_s": 1, **fields}
    return spec_dict(ParseDict(given, evaluation_pb2.EvaluateSpec()))


class Door(rpc.InferenceServiceServicer):
    """Each LoadPolicy answers with the next of ``urls``; the last one again and again."""

    def __init__(self, urls: Sequence[str], max_model_len: int = 256) -> None:
        self.urls, self.max_model_len = list(urls), max_model_len
        self.loaded: list[pb.LoadPolicyRequest] = []
        self.unloaded: list[str] = []

    def LoadPolicy(self, request: pb.LoadPolicyRequest, context: grpc.ServicerContext) -> pb.LoadPolicyResponse:
        self.loaded.append(request)
        policy = inference_pb2.Policy(
            openai_base_url=self.urls.pop(0) if len(self.urls) > 1 else self.urls[0],
            served_model_name=request.policy_id,
            max_model_len=self.max_model_len,
            engine="a test endpoint",
            dtype="none",
        )
        return pb.LoadPolicyResponse(policy=policy, action="started")

    def UnloadPolicy(self, request: pb.UnloadPolicyRequest, context: grpc.ServicerContext) -> pb.UnloadPolicyResponse:
        self.unloaded.append(request.policy_id)
        return pb.UnloadPolicyResponse()

    def __enter__(self) -> str:
        self._server = grpc.server(ThreadPoolExecutor(4))
        rpc.add_InferenceServiceServicer_to_server(self, self._server)
        port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()
        return f"127.0.0.1:{port}"

    def __exit__(self, *args: object) -> None:
        self._server.stop(None)


def make_job(root: Path, given: dict[str, Any], inference: str, attempt: int = 1) -> Job:
    """A job as the worker would write it, with an export that only has to be there."""
    export = root / "policy" / "out" / "hf"
    export.mkdir(parents=True, exist_ok=True)
    (export / "config.json").write_text("{}")
    attempt_dir = root / f"attempt-{attempt}"
    attempt_dir.mkdir(parents=True)
    described = {
        "kind": "evaluation",
        "spec": given,
        "scratch": str(root / "scratch"),
        "build_id": "b1",
        "address": "evals/test@v1",
        "attempt": attempt,
        "endpoints": {"inference": inference},
        "inputs": {
            "policy": {
                "path": str(root / "policy" / "out"),
                "address": "policies/test@v1",
                "kind": "policy",
                "content_digest": "sha256:abc",
            }
        },
    }
    (attempt_dir / "job.json").write_text(json.dumps(described))
    return Job.load(attempt_dir)


def evaluation_of(job: Job) -> dict[str, dict[str, Any]]:
    """The tasks in a job's evaluation.json by name."""
    return {t["name"]: t for t in json.loads((job.out / "evaluation.json").read_text())["tasks"]}


def values(task: dict[str, Any]) -> dict[str, float]:
    return {m["filter"]: m["value"] for m in task["metrics"]}
