"""Rollouts from the inference service: the trainer's interface over gRPC."""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import torch

from marin.inference.v1 import inference_pb2, inference_service_pb2
from marin.inference.v1.inference_service_pb2_grpc import InferenceServiceStub
from marin_chassis.engine import EngineError
from marin_chassis.errors import from_rpc
from marin_rl.core.rollout import CheckStop, Probe, Request, Sample
from marin_rl.core.spec import Grpo

CHUNK_BYTES = 1 << 20
_DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}
_TRIES = 3


class InferenceRollouts:
    """Implements :class:`marin_rl.core.rollout.Rollouts` for one policy id of one server."""

    def __init__(self, endpoint: str, policy_id: str, grpo: Grpo, check_stop: CheckStop, log: Callable[[str], None]):
        self._endpoint, self._policy_id, self._grpo = endpoint, policy_id, grpo
        self._check_stop, self._log = check_stop, log
        self._channel = grpc.insecure_channel(endpoint)
        self._stub = InferenceServiceStub(self._channel)
        self._element_types: dict[str, str] = {}
        self._warming: grpc.Future | None = None

    def warm(self, directory: Path, digest: str) -> None:
        """Asks for version 0 without waiting: an engine that must be started does so while this process still imports.

        A failure is left to :meth:`load`, which joins this call's work.
        """
        request = inference_service_pb2.LoadPolicyRequest(
            policy_id=self._policy_id, uri=str(directory), digest=digest, version=0
        )
        self._warming = self._stub.LoadPolicy.future(request, timeout=2 * self._grpo.sync_timeout_s)

    def load(self, directory: Path, digest: str, version: int) -> None:
        request = inference_service_pb2.LoadPolicyRequest(
            policy_id=self._policy_id, uri=str(directory), digest=digest, version=version
        )
        # It may have to start an engine process, which imports vLLM and takes far longer than an update.
        timeout = 2 * self._grpo.sync_timeout_s
        with self._call("LoadPolicy", timeout):
            response = self._unary(self._stub.LoadPolicy, request, timeout)
            tensors = self._stub.GetPolicy(
                inference_service_pb2.GetPolicyRequest(policy_id=self._policy_id), timeout=30
            ).tensors
        self._element_types = {t.name: t.dtype for t in tensors}
        p = response.policy
        self._log(
            f"inference {response.action}: {p.engine} on {p.device}, {p.dtype}; {p.policy_id} version {p.version}"
        )

    def generate(self, requests: Sequence[Request], n: int, min_version: int) -> list[list[Sample]]:
        request = inference_service_pb2.GenerateRequest(
            policy_id=self._policy_id,
            prompts=[inference_pb2.Prompt(token_ids=r.prompt_ids, seed=r.seed) for r in requests],
            n=n,
            sampling=inference_pb2.SamplingParams(
                max_tokens=self._grpo.max_new_tokens,
                temperature=self._grpo.temperature,
                top_p=1.0,
                logprobs=True,
            ),
            min_version=min_version,
        )
        deadline = time.monotonic() + self._grpo.rollout_timeout_s
        for attempt in range(1, _TRIES + 1):
            try:
                with self._call("Generate", self._grpo.rollout_timeout_s):
                    return self._collect(request, len(requests), n, deadline - time.monotonic())
            except EngineError as e:
                # A dead engine is started again by the next call, at the same version, and seeds give the same samples.
                if e.code != "UNAVAILABLE" or attempt == _TRIES or time.monotonic() + attempt > deadline:
                    raise
                self._log(f"Generate failed, try {attempt} of {_TRIES}: {e.message}")
                time.sleep(attempt)
        raise AssertionError("unreachable")

    def update_weights(self, tensors: dict[str, torch.Tensor], digest: str, version: int, probe: Probe) -> float:
        typed = {k: v.to(_DTYPES[self._element_types.get(k, "F32")]) for k, v in tensors.items()}
        header = inference_service_pb2.UpdateWeightsHeader(
            policy_id=self._policy_id,
            version=version,
            digest=digest,
            tensors=[
                inference_pb2.TensorInfo(name=k, dtype=self._element_types.get(k, "F32"), shape=v.shape)
                for k, v in typed.items()
            ],
            content_sha256=_content_sha256(typed),
            probe=inference_pb2.Probe(
                token_ids=probe.token_ids, logprobs=probe.logprobs, tolerance=self._grpo.max_logprob_gap
            ),
        )
        with self._call("UpdateWeights", self._grpo.sync_timeout_s):
            response = self._unary(self._stub.UpdateWeights, _messages(header, typed), self._grpo.sync_timeout_s)
        if response.policy.version != version or response.policy.digest != digest:
            raise EngineError(
                f"{self._endpoint} serves version {response.policy.version} with digest "
                f"{response.policy.digest[:12]} after an update to version {version} with digest {digest[:12]}",
                hint="another job is updating the same policy; give each job its own policy id",
                reason="WRONG_WEIGHTS",
                code="FAILED_PRECONDITION",
            )
        return response.probe.max_abs_difference

    def close(self) -> None:
        """Lets go of the policy, whose engine stays warm; a service that is away is not an error here."""
        if self._warming is not None:
            self._warming.cancel()
        try:
            self._stub.UnloadPolicy(inference_service_pb2.UnloadPolicyRequest(policy_id=self._policy_id), timeout=20)
        except grpc.RpcError as e:
            self._log(f"the policy stays loaded at {self._endpoint}: {e}")
        self._channel.close()

    def _collect(
        self, request: inference_service_pb2.GenerateRequest, prompts: int, n: int, timeout: float
    ) -> list[list[Sample]]:
        found: dict[tuple[int, int], Sample] = {}
        stream = self._stub.Generate(request, timeout=timeout)
        with self._cancel_on_stop(stream):
            for event in stream:
                if event.HasField("sample"):
                    found[event.sample.prompt_index, event.sample.sample_index] = self._sample(event.sample)
        missing = prompts * n - len(found)
        if missing:
            raise EngineError(
                f"Generate at {self._endpoint} ended without {missing} of {prompts * n} samples",
                hint="look at the inference service's log",
                reason="MISSING_SAMPLES",
                code="UNAVAILABLE",
                retryable=True,
            )
        return [[found[p, s] for s in range(n)] for p in range(prompts)]

    def _sample(self, sample: inference_pb2.Sample) -> Sample:
        reason = inference_pb2.FinishReason.Name(sample.finish_reason).removeprefix("FINISH_REASON_").lower()
        covered = sum(s.end - s.start for s in sample.version_spans)
        if reason not in ("stop", "length") or not sample.token_ids:
            raise EngineError(
                f"a sample from {self._endpoint} ended with {reason} after {len(sample.token_ids)} tokens",
                hint="another job replaced the policy in the engine; the step is sampled again",
                reason="ABORTED_SAMPLE",
                code="UNAVAILABLE",
                retryable=True,
            )
        if not len(sample.token_ids) == len(sample.logprobs) == covered:
            raise EngineError(
                f"a sample from {self._endpoint} has {len(sample.token_ids)} tokens, {len(sample.logprobs)} "
                f"log-probabilities and policy versions for {covered}",
                hint="the inference service breaks its contract; use one of the same release",
                reason="BAD_SAMPLE",
                code="INTERNAL",
            )
        return Sample(
            tuple(sample.token_ids),
            tuple(sample.logprobs),
            tuple((s.version, s.start, s.end) for s in sample.version_spans),
            reason,
        )

    def _unary(self, method: Any, request: Any, timeout: float) -> Any:
        call = method.future(request, timeout=timeout)
        with self._cancel_on_stop(call):
            return call.result()

    @contextmanager
    def _cancel_on_stop(self, call: Any) -> Iterator[None]:
        """Ends ``call`` as soon as the job is asked to stop: a long rollout must not hold up a shutdown."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.2):
                try:
                    self._check_stop()
                except BaseException:
                    call.cancel()
                    return

        threading.Thread(target=watch, daemon=True).start()
        try:
            yield
        finally:
            over.set()

    @contextmanager
    def _call(self, name: str, timeout: float) -> Iterator[None]:
        """Turns a failed call into an error with a cause; a service that is away or slow is worth another attempt."""
        try:
            yield
        except (grpc.RpcError, grpc.FutureCancelledError) as e:
            self._check_stop()
            if isinstance(e, grpc.FutureCancelledError):
                raise
            code = e.code().name
            if code == "UNAVAILABLE":
                raise self._retryable(
                    f"{name}: the inference service at {self._endpoint} is away: {e.details()}"
                ) from e
            if code == "DEADLINE_EXCEEDED":
                raise self._retryable(f"{name} at {self._endpoint} did not finish within {timeout:.0f} s") from e
            if code == "NOT_FOUND" and name != "LoadPolicy":
                raise self._retryable(f"{name}: {self._endpoint} no longer has the policy ({e.details()})") from e
            error = from_rpc(e, self._endpoint)
            error.message = f"{name} at {self._endpoint}: {error.message}"
            error.args = (error.message,)
            raise error from e

    def _retryable(self, message: str) -> EngineError:
        return EngineError(
            message,
            hint="see that the inference service is up (`marin status`, its log); the job resumes from its checkpoint",
            reason="INFERENCE_UNAVAILABLE",
            code="UNAVAILABLE",
            retryable=True,
            endpoint=self._endpoint,
        )


def _bytes(tensor: torch.Tensor) -> memoryview:
    return memoryview(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())


def _content_sha256(tensors: dict[str, torch.Tensor]) -> str:
    digest = hashlib.sha256()
    for tensor in tensors.values():
        digest.update(_bytes(tensor))
    return digest.hexdigest()


def _messages(
    header: inference_service_pb2.UpdateWeightsHeader, tensors: dict[str, torch.Tensor]
) -> Iterator[inference_service_pb2.UpdateWeightsRequest]:
    yield inference_service_pb2.UpdateWeightsRequest(header=header)
    for name, tensor in tensors.items():
        data = _bytes(tensor)
        for start in range(0, len(data), CHUNK_BYTES):
            chunk = inference_service_pb2.TensorChunk(name=name, data=bytes(data[start : start + CHUNK_BYTES]))
            yield inference_service_pb2.UpdateWeightsRequest(chunk=chunk)
