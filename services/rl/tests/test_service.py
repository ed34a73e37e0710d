"""The typed contract against the engine's own reading of it, and what the gRPC process may import."""

import subprocess
import sys

from marin.rl.v1 import rl_pb2
from marin_artifacts.identity import semantic_dict, spec_dict
from marin_rl.core import spec as engine_spec


def enum_names(enum) -> set[str]:
    prefix = enum.DESCRIPTOR.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return {n.removeprefix(prefix) for n in enum.keys()} - {"UNSPECIFIED"}  # noqa: SIM118


def test_the_engine_knows_every_value_of_the_contracts_enums():
    assert enum_names(rl_pb2.AdvantageEstimator) == set(engine_spec.ESTIMATORS)
    assert enum_names(rl_pb2.PolicyLoss) == set(engine_spec.LOSSES)
    assert enum_names(rl_pb2.KlEstimator) == set(engine_spec.KL_ESTIMATORS)
    assert enum_names(rl_pb2.LossReduction) == set(engine_spec.REDUCTIONS)
    assert enum_names(rl_pb2.ZeroVariancePolicy) == set(engine_spec.ZERO_VARIANCE)


def test_a_spec_message_becomes_the_record_that_the_engine_runs():
    message = rl_pb2.GrpoSpec(
        env_class="token_share",
        token_share=rl_pb2.TokenShareTask(target_token_ids=[7, 9]),
        steps=3,
        prompts_per_step=2,
        samples_per_prompt=4,
        max_prompt_tokens=64,
        max_new_tokens=8,
        learning_rate=0.5,
        policy_loss=rl_pb2.POLICY_LOSS_DUAL_CLIP,
    )
    grpo = engine_spec.parse(spec_dict(message))
    assert (grpo.target_token_ids, grpo.steps, grpo.learning_rate) == ({7, 9}, 3, 0.5)
    assert (grpo.policy_loss, grpo.role_plan.on_cpu, grpo.update_epochs) == ("dual_clip", True, 1)


def test_placement_deadlines_and_checkpoints_are_not_identity():
    plain = rl_pb2.GrpoSpec(env_class="gsm8k", steps=3)
    placed = rl_pb2.GrpoSpec(
        env_class="gsm8k",
        steps=3,
        role_plan=rl_pb2.RolePlan(num_nodes=2, gpus_per_node=4),
        checkpoint_every_steps=2,
        rollout_timeout_s=9,
        sync_timeout_s=9,
        max_logprob_gap=0.2,
    )
    assert semantic_dict(plain) == semantic_dict(placed)
    assert semantic_dict(plain) != semantic_dict(rl_pb2.GrpoSpec(env_class="gsm8k", steps=4))


def test_the_service_process_imports_no_engine():
    code = (
        "import sys, marin_rl.setup\n"
        "print(sorted({'torch', 'transformers', 'skyrl', 'skyrl_gym', 'ray', 'pyarrow'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
