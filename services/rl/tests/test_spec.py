import pytest
from tiny import toy_spec

from marin_chassis.engine import EngineError
from marin_rl.core.role_plan import RolePlan, check_role_plan
from marin_rl.core.spec import check_grpo, parse

GB200 = {
    "num_nodes": 2,
    "gpus_per_node": 4,
    "policy_nodes": 1,
    "policy_gpus_per_node": 4,
    "inference_engines": 4,
    "inference_tensor_parallel": 1,
    "colocate_all": False,
}


def test_zero_values_become_the_documented_defaults():
    grpo = parse(toy_spec(temperature=0, top_p=0.0, max_grad_norm=0.0, policy_loss="POLICY_LOSS_UNSPECIFIED"))
    assert (grpo.temperature, grpo.max_grad_norm, grpo.clip_eps_low, grpo.adam_beta2) == (1.0, 1.0, 0.2, 0.999)
    assert (grpo.policy_loss, grpo.advantage_estimator, grpo.kl_estimator) == ("regular", "grpo", "k3")
    assert (grpo.loss_reduction, grpo.zero_variance, grpo.max_logprob_gap) == ("token_mean", "mask", 0.01)
    assert (grpo.mini_batch_prompts, grpo.micro_train_batch_size, grpo.update_epochs) == (4, 16, 1)


def test_enum_values_become_skyrl_names():
    grpo = parse(
        toy_spec(
            advantage_estimator="ADVANTAGE_ESTIMATOR_REINFORCE_PP",
            policy_loss="POLICY_LOSS_GSPO",
            loss_reduction="LOSS_REDUCTION_SEQ_MEAN_TOKEN_SUM_NORM",
            zero_variance_policy="ZERO_VARIANCE_POLICY_ZERO",
        )
    )
    assert (grpo.advantage_estimator, grpo.policy_loss) == ("reinforce++", "gspo")
    assert (grpo.loss_reduction, grpo.zero_variance) == ("seq_mean_token_sum_norm", "zero")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"steps": 0}, "steps is 0"),
        ({"learning_rate": 0.0}, "learning_rate is 0"),
        ({"learning_rate": -1.0}, "learning_rate is -1.0"),
        ({"samples_per_prompt": 1}, "group of one"),
        ({"top_p": 0.9}, "top_p is 0.9"),
        ({"env_class": "chess"}, "env_class is 'chess'"),
        ({"token_share": None}, "every reward would be 0"),
        ({"mini_batch_prompts": 3}, "mini_batch_prompts 3 does not divide prompts_per_step 4"),
        ({"micro_train_batch_size": 5}, "micro_train_batch_size 5 does not divide samples_per_prompt 16"),
        ({"micro_forward_batch_size": 32}, "micro_forward_batch_size 32"),
        ({"max_staleness": -1}, "max_staleness is -1"),
        ({"policy_loss": "POLICY_LOSS_NEW"}, "policy_loss is 'POLICY_LOSS_NEW'"),
    ],
)
def test_a_spec_that_cannot_work_is_refused_with_its_numbers(change, said):
    with pytest.raises(EngineError) as e:
        check_grpo(toy_spec(**change), {"policy": "p@v1", "problems": "q@v1"})
    assert said in e.value.message and e.value.hint and e.value.code == "INVALID_ARGUMENT"


def test_a_group_of_one_is_allowed_where_nothing_is_compared_inside_groups():
    assert parse(toy_spec(samples_per_prompt=1, advantage_estimator="ADVANTAGE_ESTIMATOR_REINFORCE_PP"))


def test_missing_inputs_are_named():
    with pytest.raises(EngineError, match="missing: problems"):
        check_grpo(toy_spec(), {"policy": "p@v1"})


def test_the_reference_plan_on_two_nodes_is_valid():
    # 16 prompts x 4 samples over 4 policy GPUs with micro-batches of 1.
    spec = toy_spec(prompts_per_step=16, samples_per_prompt=4, micro_train_batch_size=1, role_plan=GB200)
    assert parse(spec).role_plan == RolePlan(2, 4, 1, 4, 4, 1, False)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"num_nodes": 1}, "room for 0 engines of 1 GPUs, and 4 are asked for"),
        ({"inference_tensor_parallel": 3}, "room for 1 engines of 3 GPUs, and 4"),
        ({"inference_tensor_parallel": 8}, "inference_tensor_parallel 8 is more than gpus_per_node 4"),
        ({"policy_gpus_per_node": 8}, "policy_gpus_per_node 8 is more than gpus_per_node 4"),
        ({"policy_nodes": 3}, "policy_nodes 3 is more than num_nodes 2"),
        (
            {"policy_gpus_per_node": 3},
            "64 sequences, which is no multiple of 3 policy GPUs x micro_train_batch_size 1 = 3",
        ),
        ({"inference_engines": 0}, "inference_engines is 0"),
        ({"colocate_all": True, "inference_engines": 2}, "the policy has 1 x 4 = 4 and inference 2 x 1 = 2"),
    ],
)
def test_a_role_plan_that_does_not_fit_is_refused_with_its_numbers(change, said):
    with pytest.raises(EngineError) as e:
        check_role_plan(RolePlan(**GB200 | change), mini_batch_sequences=64, micro_batch_size=1)
    assert said in e.value.message and e.value.reason == "ROLE_PLAN"


def test_colocated_roles_share_one_node():
    check_role_plan(RolePlan(1, 4, 1, 4, 2, 2, True), mini_batch_sequences=64, micro_batch_size=1)


def test_leftover_gpus_of_policy_nodes_count_as_room():
    check_role_plan(RolePlan(1, 8, 1, 4, 2, 2, False), mini_batch_sequences=64, micro_batch_size=1)
