"""Reinforcement learning."""

from marin.execution.lazy import ArtifactStep, ResourceConfig
from marin.rl.v1 import rl_pb2 as pb


def grpo(
    *,
    name: str,
    policy: ArtifactStep | str,
    problems: ArtifactStep | str,
    version: str = "dev",
    resources: ResourceConfig = ResourceConfig(),
    stage: str = "",
    **spec: object,
) -> ArtifactStep:
    """Improves a policy with GRPO on rewarded problems. ``spec`` are fields of ``marin.rl.v1.GrpoSpec``."""
    return ArtifactStep(
        name, version, "policy", pb.GrpoSpec(**spec), {"policy": policy, "problems": problems}, stage, resources
    )
