"""The policy under evaluation, served by the inference service for as long as the evaluation runs."""

import time
from types import TracebackType

import grpc

from marin.inference.v1 import inference_pb2, inference_service_pb2 as pb, inference_service_pb2_grpc as rpc
from marin_chassis.engine import EngineError, Job
from marin_chassis.errors import from_rpc

LOAD_TIMEOUT_S = 900.0
# A server that restarts is soon back; one whose engines are all in use by other jobs may take long.
_PATIENCE_S = {"UNAVAILABLE": 30.0, "RESOURCE_EXHAUSTED": 600.0}


class ServedPolicy:
    """``with ServedPolicy(job, max_model_len) as policy``: loads the input's export, and unloads it at the end."""

    def __init__(self, job: Job, max_model_len: int) -> None:
        source = job.input("policy")
        self._job = job
        self._endpoint = job.endpoints.get("inference", "")
        if not self._endpoint:
            raise EngineError(
                "the address of the inference service is not known",
                hint="set MARIN_INFERENCE_ENDPOINT=host:port for the evaluation service",
                reason="NO_INFERENCE_ENDPOINT",
                code="FAILED_PRECONDITION",
            )
        if not (source.path / "hf" / "config.json").is_file():
            raise EngineError(
                f"the policy {source.address} ({source.kind}) holds no export: {source.path}/hf/config.json is missing",
                hint="evaluate a checkpoint or a policy",
                reason="NO_EXPORT",
            )
        self._request = pb.LoadPolicyRequest(
            policy_id=f"evaluation/{job.build_id or job.address}",
            uri=str(source.path / "hf"),
            digest=source.content_digest,
            version=1,
            options=inference_pb2.EngineOptions(max_model_len=max_model_len),
        )

    def __enter__(self) -> inference_pb2.Policy:
        self._channel = grpc.insecure_channel(self._endpoint)
        self._stub = rpc.InferenceServiceStub(self._channel)
        began = time.monotonic()
        while True:
            try:
                return self._load()
            except grpc.RpcError as e:
                error = from_rpc(e, f"the inference service at {self._endpoint}")
                waits = _PATIENCE_S.get(error.code)
                if waits is None:
                    raise error from e
                if time.monotonic() - began > waits:
                    error.retryable = True
                    raise error from e
                self._job.progress("wait for an inference engine", seconds=time.monotonic() - began)
            for _ in range(10):
                self._job.check_stop()
                time.sleep(0.1)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._stub.UnloadPolicy(pb.UnloadPolicyRequest(policy_id=self._request.policy_id), timeout=10)
        except grpc.RpcError as e:
            self._job.log(f"the policy could not be unloaded: {e.code().name}: {e.details()}")
        self._channel.close()

    def resolve(self) -> str:
        """The base of the server's OpenAI-style routes as it is now; starts a dead engine again."""
        try:
            return self._stub.LoadPolicy(self._request, timeout=LOAD_TIMEOUT_S).policy.openai_base_url
        except grpc.RpcError as e:
            raise from_rpc(e, f"the inference service at {self._endpoint}") from e

    def _load(self) -> inference_pb2.Policy:
        call = self._stub.LoadPolicy.future(self._request, timeout=LOAD_TIMEOUT_S)
        try:
            while not call.done():
                self._job.check_stop()
                time.sleep(0.05)
        finally:
            call.cancel()
        loaded = call.result()
        served = f"{loaded.policy.engine} at {loaded.policy.openai_base_url}"
        self._job.log(f"policy {self._request.policy_id}: {loaded.action}, {served}")
        return loaded.policy
