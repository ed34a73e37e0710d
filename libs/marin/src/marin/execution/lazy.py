"""Lazy handles. An :class:`ArtifactStep` says how one artifact is made; nothing runs until a runner gets it lowered.

Importing this module loads protobuf only: no service, no network, no heavy package.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from google.protobuf.message import Message

from marin.client.errors import MarinError
from marin.workflow.v1 import workflow_pb2 as wf
from marin_contracts.kinds import KINDS

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class ResourceConfig:
    """What a step needs of a machine: where it runs, never what it makes, so it is no part of its identity."""

    accelerator: str = ""
    nodes: int = 1
    cpus: int = 0
    memory_gib: int = 0
    disk_gib: int = 0

    @classmethod
    def with_cpu(cls, cpus: int = 0, memory_gib: int = 0, disk_gib: int = 0) -> "ResourceConfig":
        return cls(cpus=cpus, memory_gib=memory_gib, disk_gib=disk_gib)

    @classmethod
    def with_gpu(
        cls, accelerator: str, nodes: int = 1, cpus: int = 0, memory_gib: int = 0, disk_gib: int = 0
    ) -> "ResourceConfig":
        """``accelerator`` is ``<count>x<type>`` per node, for example ``4xGB200``."""
        return cls(accelerator, nodes, cpus, memory_gib, disk_gib)

    @classmethod
    def with_tpu(cls, slice_type: str = "v5p-8") -> "ResourceConfig":
        return cls(slice_type)


@dataclass(frozen=True, eq=False)
class ArtifactStep:
    """One artifact to make: ``name@version`` of a kind, by a typed spec, from inputs by role.

    An input is another step, or the address ``name@version`` of a committed artifact. Raises MarinError for a bad name or
    version when it is constructed.
    """

    name: str
    version: str
    kind: str
    spec: Message
    inputs: Mapping[str, "ArtifactStep | str"] = field(default_factory=dict)
    stage: str = ""
    resources: ResourceConfig = ResourceConfig()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise MarinError(
                f"'{self.name}' is no artifact name",
                "use letters, digits, '.', '_' and '-', in parts separated by single slashes",
                "BAD_NAME",
            )
        if not _VERSION.fullmatch(self.version):
            raise MarinError(
                f"'{self.version}' is no version of {self.name}",
                "use a label such as v1 or 2026.08.01, or dev",
                "BAD_VERSION",
            )

    @property
    def address(self) -> str:
        return f"{self.name}@{self.version}"


def walk(steps: Iterable[ArtifactStep]) -> list[ArtifactStep]:
    """The steps and everything they depend on, dependencies first, each once."""
    ordered: dict[int, ArtifactStep] = {}

    def visit(step: ArtifactStep) -> None:
        if id(step) in ordered:
            return
        for dep in step.inputs.values():
            if isinstance(dep, ArtifactStep):
                visit(dep)
        ordered[id(step)] = step

    for step in steps:
        visit(step)
    return list(ordered.values())


def graph(name: str, steps: Iterable[ArtifactStep], project: str = "default") -> wf.Graph:
    """The graph of the given steps and all they depend on."""
    ordered = walk(steps)
    ids = _node_ids(ordered)
    result = wf.Graph(name=name, project=project)
    for step in ordered:
        node = result.nodes.add(id=ids[id(step)], stage=step.stage or ids[id(step)], kind=step.kind)
        node.target.project, node.target.name, node.target.version = project, step.name, step.version
        for role, source in step.inputs.items():
            if isinstance(source, ArtifactStep):
                node.inputs.add(role=role, node_id=ids[id(source)])
            else:
                node.inputs.add(role=role, address=source)
        r = step.resources
        node.resources.accelerator, node.resources.nodes = r.accelerator, r.nodes
        node.resources.cpus, node.resources.memory_gib, node.resources.disk_gib = r.cpus, r.memory_gib, r.disk_gib
        getattr(node, KINDS[step.kind].spec_field).CopyFrom(step.spec)
    return result


def lower(step: ArtifactStep) -> wf.Graph:
    """What a runner gets: the graph that ends in ``step``."""
    return graph(step.name.rpartition("/")[2], [step])


def _node_ids(steps: list[ArtifactStep]) -> dict[int, str]:
    """Short readable ids. The last step of a stage is called like the stage, others by kind, or by name where that is taken."""
    last_of_stage = {s.stage: s for s in steps if s.stage}
    ids: dict[int, str] = {id(step): stage for stage, step in last_of_stage.items()}
    for step in steps:
        if id(step) not in ids:
            short = step.kind if step.stage else step.name.rpartition("/")[2]
            candidates = (short, step.name.replace("/", "."), step.address.replace("/", "."))
            ids[id(step)] = next(c for c in candidates if c not in ids.values())
    return ids
