"""A blocking client of a running service, and what tests say to it."""

import json
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
import tiny
import torch

from marin.inference.v1 import inference_pb2 as spec, inference_service_pb2 as pb, inference_service_pb2_grpc as rpc
from marin_chassis.engine import EngineError
from marin_chassis.errors import from_rpc

PROMPT = [5, 77, 130, 9, 260, 311, 42, 8]
OPTIONS = spec.EngineOptions(max_model_len=256)


@dataclass
class Served:
    """A running service and a blocking client of it."""

    process: subprocess.Popen
    port: int
    channel: grpc.Channel
    stub: rpc.InferenceServiceStub
    log: Path

    def load(self, policy_id: str, directory: Path, digest: str, version: int = 1) -> pb.LoadPolicyResponse:
        request = pb.LoadPolicyRequest(
            policy_id=policy_id, uri=str(directory), digest=digest, version=version, options=OPTIONS
        )
        return self.stub.LoadPolicy(request, timeout=180)

    def generate(self, policy_id: str, prompts: list[list[int]], timeout: float = 60, **fields) -> list[spec.Sample]:
        """Samples in order of (prompt, sample); the usage message must come last and once."""
        sampling = fields.pop("sampling", {})
        request = pb.GenerateRequest(
            policy_id=policy_id,
            prompts=[spec.Prompt(token_ids=p) for p in prompts],
            sampling=spec.SamplingParams(**{"max_tokens": 16, "logprobs": True, "ignore_eos": True, **sampling}),
            **fields,
        )
        messages = list(self.stub.Generate(request, timeout=timeout))
        assert [m.WhichOneof("event") for m in messages].index("usage") == len(messages) - 1
        return sorted((m.sample for m in messages[:-1]), key=lambda s: (s.prompt_index, s.sample_index))

    def policy(self, policy_id: str) -> spec.Policy:
        return self.stub.GetPolicy(pb.GetPolicyRequest(policy_id=policy_id), timeout=30).policy

    def engine_pid(self) -> int:
        children = subprocess.run(
            ["ps", "-o", "pid=,args=", "--ppid", str(self.process.pid)], capture_output=True, text=True
        )
        pids = [line.split()[0] for line in children.stdout.splitlines() if "marin_inference.host" in line]
        assert len(pids) == 1
        return int(pids[0])


def stream(
    policy_id: str,
    version: int,
    digest: str,
    tensors: dict[str, torch.Tensor],
    probe: spec.Probe | None = None,
    **header,
) -> Iterator[pb.UpdateWeightsRequest]:
    """What a trainer sends: a header, then every tensor in chunks."""
    infos = [spec.TensorInfo(name=n, dtype="F32", shape=t.shape) for n, t in tensors.items()]
    head = pb.UpdateWeightsHeader(
        policy_id=policy_id, version=version, digest=digest, tensors=infos, probe=probe, **header
    )
    yield pb.UpdateWeightsRequest(header=head)
    for name, tensor in tensors.items():
        data = tensor.contiguous().numpy().tobytes()
        for start in range(0, len(data), 50_000):
            yield pb.UpdateWeightsRequest(chunk=pb.TensorChunk(name=name, data=data[start : start + 50_000]))


def refused(code: str, reason: str, call: Callable, *args, **kwargs) -> EngineError:
    """The error of a call that must fail with this code and reason."""
    with pytest.raises(grpc.RpcError) as caught:
        result = call(*args, **kwargs)
        if hasattr(result, "__next__"):
            list(result)
    error = from_rpc(caught.value)
    assert (error.code, error.reason) == (code, reason), error.message
    assert error.hint
    return error


def follows(seed: int, prompt: list[int], sample: spec.Sample, start: int = 0) -> float:
    """Largest difference between the log-probabilities from ``start`` on and transformers' with these weights."""
    reference = tiny.log_probs(tiny.make_model(seed), prompt + list(sample.token_ids))[len(prompt) - 1 :]
    return max(abs(a - b) for a, b in list(zip(sample.logprobs, reference, strict=True))[start:])


def post(policy: spec.Policy, path: str, body: dict) -> dict:
    """A call of the OpenAI door."""
    request = urllib.request.Request(
        f"{policy.openai_base_url}{path}",
        json.dumps({"model": policy.served_model_name, **body}).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)
