"""InferenceService for the one policy of this process. The parent is the only caller and has checked what it could."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import grpc
from google.protobuf.timestamp_pb2 import Timestamp
from vllm import SamplingParams
from vllm.exceptions import VLLMValidationError
from vllm.inputs import tokens_input
from vllm.outputs import CompletionOutput, RequestOutput
from vllm.sampling_params import RequestOutputKind

from marin.inference.v1 import inference_pb2 as spec, inference_service_pb2 as pb, inference_service_pb2_grpc as rpc
from marin_chassis.engine import EngineError
from marin_inference.core.probe import ProbeExpectation, ProbeOutcome
from marin_inference.core.sampling import derive_seed
from marin_inference.host.door import Door
from marin_inference.host.engine import Engine, Weights
from marin_inference.host.sink import LoopSink

_REASONS = {"stop": spec.FINISH_REASON_STOP, "length": spec.FINISH_REASON_LENGTH, "abort": spec.FINISH_REASON_ABORT}


class HostServicer(rpc.InferenceServiceServicer):
    def __init__(self, engine: Engine, door: Door, facts: spec.Policy) -> None:
        self._engine, self._door, self._facts = engine, door, facts
        self._ids = itertools.count()

    async def _call(self, work: Any) -> Any:
        return await asyncio.wrap_future(self._engine.call(work))

    async def LoadPolicy(
        self, request: pb.LoadPolicyRequest, context: grpc.aio.ServicerContext
    ) -> pb.LoadPolicyResponse:
        """With a uri: other weights, and an end to what is in flight. Without: another name, version and digest."""
        weights = Weights(request.policy_id, request.version, request.digest, request.uri)
        if request.uri:
            await self._call(lambda: self._engine.load(weights, keep_requests=False))
        else:
            await self._call(lambda: self._engine.relabel(request.policy_id, request.version, request.digest))
        self._door.serve_as(request.policy_id)
        return pb.LoadPolicyResponse(policy=await self._policy())

    async def UnloadPolicy(
        self, request: pb.UnloadPolicyRequest, context: grpc.aio.ServicerContext
    ) -> pb.UnloadPolicyResponse:
        self._door.serve_as("")
        await self._call(self._engine.let_go)
        return pb.UnloadPolicyResponse()

    async def GetPolicy(self, request: pb.GetPolicyRequest, context: grpc.aio.ServicerContext) -> pb.GetPolicyResponse:
        return pb.GetPolicyResponse(policy=await self._policy())

    async def _policy(self) -> spec.Policy:
        in_flight = await self._call(lambda: self._engine.in_flight)
        policy = spec.Policy(
            version=self._engine.weights.version, digest=self._engine.weights.digest, in_flight=in_flight
        )
        policy.MergeFrom(self._facts)
        policy.use_time.CopyFrom(Timestamp(seconds=int(self._engine.last_use)))
        return policy

    async def UpdateWeights(
        self, requests: AsyncIterator[pb.UpdateWeightsRequest], context: grpc.aio.ServicerContext
    ) -> pb.UpdateWeightsResponse:
        """The parent sends a header with a uri and nothing else."""
        header = (await anext(aiter(requests))).header
        probe = header.probe
        expected = (
            ProbeExpectation(list(probe.token_ids), list(probe.logprobs), probe.tolerance) if probe.token_ids else None
        )
        weights = Weights(header.policy_id, header.version, header.digest, header.uri)
        loop = asyncio.get_running_loop()

        def load() -> tuple[ProbeOutcome, float]:
            start = loop.time()
            return self._engine.load(weights, expected), loop.time() - start

        outcome, pause = await self._call(load)
        result = spec.ProbeResult(
            token_ids=outcome.token_ids, logprobs=outcome.logprobs, max_abs_difference=outcome.max_abs_difference
        )
        return pb.UpdateWeightsResponse(policy=await self._policy(), probe=result, pause_seconds=pause)

    async def Generate(
        self, request: pb.GenerateRequest, context: grpc.aio.ServicerContext
    ) -> AsyncIterator[pb.GenerateResponse]:
        sink, call = LoopSink(), next(self._ids)
        prepared, places = [], {}
        for p, prompt in enumerate(request.prompts):
            for s in range(request.n or 1):
                name = f"{call}-{p}-{s}"
                prepared.append(self._prepare(name, request.sampling, prompt, p, s))
                places[name] = (p, s)
        pinned = request.WhichOneof("version_rule") == "exact_version"

        def admit() -> None:
            _check_served(request, self._engine.weights)
            for item in prepared:
                self._engine.admit(item, sink, pinned=pinned)

        await self._call(admit)
        usage = spec.Usage()
        try:
            while places:
                output = await sink.get()
                place = places.pop(output.request_id)
                sample = _sample(output, *place, want_logprobs=request.sampling.logprobs)
                usage.prompt_tokens += len(output.prompt_token_ids)
                usage.completion_tokens += len(sample.token_ids)
                usage.cached_prompt_tokens += output.num_cached_tokens or 0
                usage.aborted_samples += sample.finish_reason == spec.FINISH_REASON_ABORT
                yield pb.GenerateResponse(sample=sample)
        finally:
            if places or pinned:
                self._engine.call(lambda: self._engine.abort([item.request_id for item in prepared]))
        yield pb.GenerateResponse(usage=usage)

    def _prepare(self, name: str, s: spec.SamplingParams, prompt: spec.Prompt, p: int, index: int) -> Any:
        seed = None
        if prompt.HasField("seed"):
            seed = derive_seed(prompt.seed, index)
        elif s.HasField("seed"):
            seed = derive_seed(s.seed, p, index)
        params = SamplingParams(
            max_tokens=s.max_tokens,
            temperature=s.temperature if s.HasField("temperature") else 1.0,
            top_p=s.top_p if s.HasField("top_p") else 1.0,
            top_k=s.top_k,
            seed=seed,
            stop_token_ids=list(s.stop_token_ids),
            ignore_eos=s.ignore_eos,
            logprobs=0 if s.logprobs else None,
            flat_logprobs=True,
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
            skip_clone=True,
        )
        try:
            return self._engine.prepare(name, tokens_input(list(prompt.token_ids)), params)
        except (VLLMValidationError, ValueError) as e:
            raise EngineError(f"prompt {p}: {e}", hint="correct the request", reason="BAD_REQUEST") from e


def _check_served(request: pb.GenerateRequest, weights: Weights) -> None:
    """Decided where weights change, so that no change can come between the decision and the first token."""
    version = weights.version
    if weights.policy_id != request.policy_id:
        raise EngineError(
            f"'{request.policy_id}' was unloaded or replaced by '{weights.policy_id}' while the call was on its way",
            hint="call LoadPolicy again",
            reason="NO_SUCH_POLICY",
            code="NOT_FOUND",
        )
    rule = request.WhichOneof("version_rule")
    wanted = getattr(request, rule) if rule else version
    if (rule == "exact_version" and version != wanted) or (rule == "min_version" and version < wanted):
        raise EngineError(
            f"version {version} is served, and {rule} {wanted} was asked for",
            hint="watch the policy until it serves that version, or drop the rule",
            reason="VERSION_NOT_SERVED",
            code="FAILED_PRECONDITION",
            version=str(version),
        )


def _sample(output: RequestOutput, prompt_index: int, sample_index: int, want_logprobs: bool) -> spec.Sample:
    done: CompletionOutput = output.outputs[0]
    spans = done.weight_versions or ()
    return spec.Sample(
        prompt_index=prompt_index,
        sample_index=sample_index,
        token_ids=done.token_ids,
        logprobs=done.logprobs.logprobs if want_logprobs and done.logprobs is not None else (),
        version_spans=[spec.VersionSpan(version=int(s.version), start=s.start, end=s.end) for s in spans],
        finish_reason=_REASONS.get(done.finish_reason, spec.FINISH_REASON_UNSPECIFIED),
    )
