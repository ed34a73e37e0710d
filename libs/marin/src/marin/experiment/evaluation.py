"""Evaluation."""

from collections.abc import Sequence

from marin.evaluation.v1 import evaluation_pb2 as pb
from marin.execution.lazy import ArtifactStep, ResourceConfig


def evaluate(
    *,
    name: str,
    policy: ArtifactStep | str,
    tasks: Sequence[pb.EvaluationTask],
    version: str = "dev",
    resources: ResourceConfig = ResourceConfig(),
    stage: str = "",
    **spec: object,
) -> ArtifactStep:
    """Serves a policy once and runs every harness on it. ``spec`` are further fields of ``EvaluateSpec``."""
    return ArtifactStep(
        name, version, "evaluation", pb.EvaluateSpec(tasks=tasks, **spec), {"policy": policy}, stage, resources
    )
