"""Where policy and inference engines run, checked as arithmetic before anything is started."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from marin_chassis.engine import EngineError


@dataclass(frozen=True)
class RolePlan:
    """Nodes and accelerators of each role. All zero means one process on the CPU."""

    num_nodes: int = 0
    gpus_per_node: int = 0
    policy_nodes: int = 0
    policy_gpus_per_node: int = 0
    inference_engines: int = 0
    inference_tensor_parallel: int = 0
    colocate_all: bool = False

    @property
    def on_cpu(self) -> bool:
        return self == RolePlan()

    @property
    def policy_gpus(self) -> int:
        return self.policy_nodes * self.policy_gpus_per_node

    @property
    def inference_gpus(self) -> int:
        return self.inference_engines * self.inference_tensor_parallel


def role_plan_from(spec: Mapping[str, Any] | None) -> RolePlan:
    return RolePlan(**{f.name: spec.get(f.name) or f.default for f in fields(RolePlan)}) if spec else RolePlan()


def check_role_plan(plan: RolePlan, mini_batch_sequences: int, micro_batch_size: int) -> None:
    """Raises :class:`EngineError` (reason ROLE_PLAN) unless the roles fit the nodes and the batches divide evenly."""
    if plan.on_cpu:
        return
    for field in fields(plan):
        if field.name != "colocate_all" and getattr(plan, field.name) < 1:
            raise _error(
                f"{field.name} is {getattr(plan, field.name)}; a role plan with accelerators needs at least 1",
                "fill in every number of the role plan, or leave it out to run on the CPU",
            )
    _check_fits_a_node(plan)
    if plan.policy_nodes > plan.num_nodes:
        raise _error(
            f"policy_nodes {plan.policy_nodes} is more than num_nodes {plan.num_nodes}",
            "raise num_nodes, or lower policy_nodes",
        )
    if plan.colocate_all:
        _check_colocated(plan)
    else:
        _check_engines_fit_beside_policy(plan)
    per_round = plan.policy_gpus * micro_batch_size
    if mini_batch_sequences % per_round:
        raise _error(
            f"a mini-batch has {mini_batch_sequences} sequences, which is no multiple of {plan.policy_gpus} policy "
            f"GPUs x micro_train_batch_size {micro_batch_size} = {per_round}",
            "change mini_batch_prompts, samples_per_prompt or micro_train_batch_size so that it divides",
        )


def _check_fits_a_node(plan: RolePlan) -> None:
    for name in ("policy_gpus_per_node", "inference_tensor_parallel"):
        if getattr(plan, name) > plan.gpus_per_node:
            raise _error(
                f"{name} {getattr(plan, name)} is more than gpus_per_node {plan.gpus_per_node}",
                "a role's share of one node cannot exceed the node",
            )


def _check_colocated(plan: RolePlan) -> None:
    if plan.policy_gpus != plan.inference_gpus:
        raise _error(
            f"colocate_all shares accelerators, but the policy has {plan.policy_nodes} x {plan.policy_gpus_per_node} = "
            f"{plan.policy_gpus} and inference {plan.inference_engines} x {plan.inference_tensor_parallel} = "
            f"{plan.inference_gpus}",
            "make both numbers equal, or set colocate_all to false",
        )


def _check_engines_fit_beside_policy(plan: RolePlan) -> None:
    # An engine never spans nodes, so what counts is how many whole engines each node has room for.
    beside = (plan.gpus_per_node - plan.policy_gpus_per_node) // plan.inference_tensor_parallel
    alone = plan.gpus_per_node // plan.inference_tensor_parallel
    room = plan.policy_nodes * beside + (plan.num_nodes - plan.policy_nodes) * alone
    if room < plan.inference_engines:
        raise _error(
            f"{plan.num_nodes} nodes x {plan.gpus_per_node} GPUs with {plan.policy_nodes} x "
            f"{plan.policy_gpus_per_node} for the policy leave room for {room} engines of "
            f"{plan.inference_tensor_parallel} GPUs, and {plan.inference_engines} are asked for",
            "raise num_nodes, lower inference_engines, or set colocate_all",
        )


def _error(message: str, hint: str) -> EngineError:
    return EngineError(f"role_plan: {message}", hint=hint, reason="ROLE_PLAN")
