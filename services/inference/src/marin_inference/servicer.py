"""InferenceService: checks requests, keeps the version rules, and passes the rest to the engine of the policy."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import grpc

from marin.inference.v1 import inference_pb2 as spec, inference_service_pb2 as pb, inference_service_pb2_grpc as rpc
from marin_chassis.engine import EngineError
from marin_inference.core import weights
from marin_inference.core.exports import copy_weights, local_path
from marin_inference.core.probe import ProbeExpectation, check_expectation
from marin_inference.core.sampling import Limits, check_prompts, check_sampling
from marin_inference.core.versions import is_repeat
from marin_inference.pool import Pool

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@-]{0,199}")


class InferenceServicer(rpc.InferenceServiceServicer):
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def LoadPolicy(
        self, request: pb.LoadPolicyRequest, context: grpc.aio.ServicerContext
    ) -> pb.LoadPolicyResponse:
        if not _NAME.fullmatch(request.policy_id) or not request.digest or request.version < 0:
            raise EngineError(
                f"policy_id '{request.policy_id}', digest '{request.digest}', version {request.version} name no policy",
                hint="policy_id: letters, digits and ._-/@, at most 200; digest: not empty; version: 0 or more",
                reason="BAD_REQUEST",
            )
        slot, action = await self._pool.load(request)
        return pb.LoadPolicyResponse(policy=self._pool.snapshot(slot), action=action)

    async def UnloadPolicy(
        self, request: pb.UnloadPolicyRequest, context: grpc.aio.ServicerContext
    ) -> pb.UnloadPolicyResponse:
        await self._pool.unload(request.policy_id, request.stop_engine)
        return pb.UnloadPolicyResponse()

    async def GetPolicy(self, request: pb.GetPolicyRequest, context: grpc.aio.ServicerContext) -> pb.GetPolicyResponse:
        slot = self._pool.find(request.policy_id)
        tensors = [
            spec.TensorInfo(name=name, dtype=t.dtype, shape=t.shape)
            for name, t in sorted(slot.policy.export.tensors.items())
        ]
        return pb.GetPolicyResponse(policy=await self._pool.describe(slot), tensors=tensors)

    async def ListPolicies(
        self, request: pb.ListPoliciesRequest, context: grpc.aio.ServicerContext
    ) -> pb.ListPoliciesResponse:
        return pb.ListPoliciesResponse(policies=[await self._pool.describe(s) for s in self._pool.policies])

    async def WatchPolicy(
        self, request: pb.WatchPolicyRequest, context: grpc.aio.ServicerContext
    ) -> AsyncIterator[pb.WatchPolicyResponse]:
        async for policy in self._pool.watch(request.policy_id):
            yield pb.WatchPolicyResponse(policy=policy)

    async def Generate(
        self, request: pb.GenerateRequest, context: grpc.aio.ServicerContext
    ) -> AsyncIterator[pb.GenerateResponse]:
        slot = self._pool.find(request.policy_id)
        held, s = slot.policy, request.sampling
        limits = Limits(held.export.vocab_size, held.options.max_model_len)
        check_prompts([p.token_ids for p in request.prompts], limits)
        temperature = s.temperature if s.HasField("temperature") else 1.0
        top_p = s.top_p if s.HasField("top_p") else 1.0
        check_sampling(request.n, s.max_tokens, temperature, top_p, s.top_k, s.stop_token_ids, limits)
        await slot.ensure(request.policy_id)
        call = slot.host.stub.Generate(request)
        try:
            with slot.host.calling():
                async for response in call:
                    yield response
        finally:
            call.cancel()

    async def UpdateWeights(
        self, requests: AsyncIterator[pb.UpdateWeightsRequest], context: grpc.aio.ServicerContext
    ) -> pb.UpdateWeightsResponse:
        stream = aiter(requests)
        first = await anext(stream, None)
        if first is None or first.WhichOneof("message") != "header":
            raise EngineError(
                "the first message of UpdateWeights is not the header",
                hint="send one UpdateWeightsHeader, then the chunks",
                reason="MISSING_HEADER",
            )
        header = first.header
        slot = self._pool.find(header.policy_id)
        held = slot.policy
        if is_repeat(held.policy_id, (held.version, held.digest), (header.version, header.digest)):
            return pb.UpdateWeightsResponse(policy=self._pool.snapshot(slot))
        _check_probe(header.probe, Limits(held.export.vocab_size, held.options.max_model_len))
        directory = slot.incoming()
        try:
            if header.uri:
                await asyncio.to_thread(_take_files, header.uri, directory, held.export.tensors)
            else:
                await _take_chunks(header, stream, directory, held.export.tensors)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        response = await slot.update(header, directory) or pb.UpdateWeightsResponse()
        response.policy.CopyFrom(self._pool.snapshot(slot))
        return response


def _check_probe(probe: spec.Probe, limits: Limits) -> None:
    if probe.ByteSize():
        expected = ProbeExpectation(list(probe.token_ids), list(probe.logprobs), probe.tolerance)
        check_expectation(expected, limits.vocab_size, limits.max_model_len)


def _take_files(uri: str, directory: Path, expected: dict[str, weights.Tensor]) -> None:
    source = local_path(uri)
    weights.check_same(expected, weights.shapes(weights.scan(source)), str(source))
    copy_weights(source, directory)
    stored = weights.scan(directory)
    weights.check_same(expected, weights.shapes(stored), str(source))
    weights.check_finite(stored)


async def _take_chunks(
    header: pb.UpdateWeightsHeader,
    stream: AsyncIterator[pb.UpdateWeightsRequest],
    directory: Path,
    expected: dict[str, weights.Tensor],
) -> None:
    tensors = weights.declared((t.name, t.dtype, t.shape) for t in header.tensors)
    weights.check_same(expected, tensors, "the header")
    incoming = weights.Incoming(directory, tensors)
    try:
        async for message in stream:
            incoming.add(message.chunk.name, message.chunk.data)
        incoming.finish(header.content_sha256)
    except BaseException:
        incoming.abandon()
        raise
    await asyncio.to_thread(lambda: weights.check_finite(weights.scan(directory)))
