"""The reconcile step's hands: the catalog and the stage services over gRPC."""

import importlib
from typing import Any

from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message

from marin.catalog.v1 import catalog_service_pb2 as pb
from marin.catalog.v1.catalog_pb2 import Artifact
from marin.common.v1 import artifact_pb2, job_pb2
from marin.workflow.v1 import workflow_pb2 as wf
from marin_artifacts.identity import semantic_dict
from marin_chassis.client import CatalogClient, call, channel
from marin_chassis.engine import EngineError
from marin_chassis.stage import job_of
from marin_contracts.kinds import KINDS
from marin_workflow.core.graph import spec_of


class World:
    """Implements :class:`marin_workflow.core.reconcile.Actions`. ``endpoints`` maps service name to ``host:port``."""

    def __init__(self, catalog: CatalogClient, endpoints: dict[str, str]) -> None:
        self._catalog, self._endpoints = catalog, endpoints
        self._channels: dict[str, Any] = {}

    async def artifact(self, project: str, name: str, version: str) -> Artifact | None:
        target = artifact_pb2.ArtifactTarget(project=project, name=name, version=version)
        return await _found(self._catalog.GetArtifact(pb.GetArtifactRequest(target=target)))

    async def find(self, project: str, key: str) -> Artifact | None:
        return await _found(self._catalog.FindArtifact(pb.FindArtifactRequest(project=project, build_key=key)))

    async def identity_of(self, artifact: Artifact, spec_type: type[Message]) -> tuple[dict[str, Any], dict[str, str]]:
        build = (await self._catalog.GetBuild(pb.GetBuildRequest(id=artifact.build_id))).build
        spec = ParseDict(MessageToDict(build.spec), spec_type(), ignore_unknown_fields=True)
        return semantic_dict(spec), {i.role: i.content_digest for i in artifact.inputs}

    async def adopt(self, source: Artifact, target: artifact_pb2.ArtifactTarget) -> Artifact:
        request = pb.AdoptArtifactRequest(source=source.target, target=target)
        return (await self._catalog.AdoptArtifact(request)).artifact

    async def create_job(self, node: wf.Node, inputs: list[artifact_pb2.InputRef], request_id: str) -> job_pb2.Job:
        kind = KINDS[node.kind]
        module = importlib.import_module(f"marin.{kind.service}.v1.{kind.service}_service_pb2")
        (service,) = module.DESCRIPTOR.services_by_name.values()
        method = service.methods_by_name[kind.create]
        request = method.input_type._concrete_class(
            request_id=request_id, target=node.target, spec=spec_of(node), inputs=inputs
        )
        stub = self._channel(kind.service).unary_unary(
            f"/{service.full_name}/{kind.create}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=method.output_type._concrete_class.FromString,
        )
        peer = f"the {kind.service} service at {self._endpoints[kind.service]}"
        return (await call(stub, request, peer=peer, patience=2)).job

    async def job(self, node: wf.Node, job_id: str) -> job_pb2.Job:
        return job_of((await self._catalog.GetBuild(pb.GetBuildRequest(id=job_id))).build)

    async def cancel_job(self, node: wf.Node, job_id: str, reason: str) -> None:
        await self._catalog.CancelBuild(pb.CancelBuildRequest(id=job_id, reason=reason))

    def _channel(self, service: str) -> Any:
        if service not in self._endpoints:
            raise EngineError(
                f"no endpoint is known for the {service} service",
                hint=f"set MARIN_{service.upper()}_ENDPOINT to host:port for the workflow service",
                reason="NO_ENDPOINT",
                code="FAILED_PRECONDITION",
            )
        if service not in self._channels:
            self._channels[service] = channel(self._endpoints[service])
        return self._channels[service]


async def _found(lookup: Any) -> Artifact | None:
    try:
        return (await lookup).artifact
    except EngineError as e:
        if e.code == "NOT_FOUND":
            return None
        raise
