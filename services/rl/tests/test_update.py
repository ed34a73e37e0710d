from dataclasses import replace

import pytest
import torch
from groups import make_group
from tiny import toy_spec

from marin_chassis.engine import EngineError
from marin_rl.core.advantages import algorithm_config, compute_advantages, zero_variance_groups
from marin_rl.core.batch import make_batch
from marin_rl.core.policy import load_model, response_logprobs, weights, weights_digest
from marin_rl.core.spec import LOSSES, REDUCTIONS, parse
from marin_rl.core.update import Updater, batch_logprobs, learning_rate_at, make_optimizer

CPU = torch.device("cpu")
GROUPS = [make_group([0.0, 1.0, 0.5, 0.0], 0), make_group([1.0, 0.0, 0.0, 1.0], 1, [2, 9, 4, 1])]


def updated(policy, groups=GROUPS, mask=(), model=None, rate=1e-3, **changes):
    """The model after one update on ``groups``, and the metrics."""
    model = model or load_model(policy / "hf", CPU, trainable=True)
    sizes = {"samples_per_prompt": 4, "prompts_per_step": len(groups), "learning_rate": rate}
    grpo = parse(toy_spec(**sizes | changes))
    config = algorithm_config(grpo)
    flat = zero_variance_groups(groups, grpo)
    batch = make_batch(groups, flat if grpo.zero_variance == "mask" else set(), grpo.mask_truncated, CPU)
    for row in mask:
        batch.loss_mask[row] = 0.0
    old = batch_logprobs(model, batch, grpo)
    advantages = compute_advantages(batch, flat, grpo, config)
    reference = batch_logprobs(model, batch, grpo) if grpo.use_kl_loss else None
    updater = Updater(model, make_optimizer(model, grpo), grpo, config)
    return model, updater.update(1, batch, advantages, old, reference)


def difference(a, b):
    left, right = weights(a), weights(b)
    return max((left[k] - right[k]).abs().max().item() for k in left)


def gradient_difference(a, b):
    """Gradients, because Adam's first step is little more than their sign and would blow up rounding."""
    right = dict(b.named_parameters())
    return max((p.grad - right[n].grad).abs().max().item() for n, p in a.named_parameters())


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_of_the_contract_makes_a_finite_update(policy, loss):
    start = load_model(policy / "hf", CPU, trainable=False)
    model, metrics = updated(policy, policy_loss=f"POLICY_LOSS_{loss}")
    assert metrics.grad_norm > 0 and metrics.optimizer_steps == 1 and 0 < difference(model, start) < 0.01


def test_the_update_raises_good_samples_and_lowers_bad_ones(policy):
    start, (model, _) = load_model(policy / "hf", CPU, trainable=False), updated(policy, use_kl_loss=False)
    group = GROUPS[0]
    prompt, responses = group.problem.prompt_ids, [s.response_ids for s in group.samples]
    change = (
        response_logprobs(model, prompt, responses, 1.0) - response_logprobs(start, prompt, responses, 1.0)
    ).detach()
    assert change[1, :4].mean() > 0 > change[0, :3].mean()


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_the_micro_batch_size_does_not_change_the_update(policy, reduction):
    changes = {"loss_reduction": f"LOSS_REDUCTION_{reduction}"}
    whole, single = (updated(policy, **changes, micro_train_batch_size=size)[0] for size in (4, 1))
    assert gradient_difference(whole, single) < 1e-6


def test_masked_samples_leave_no_trace(policy):
    other = replace(GROUPS[1].samples[1], response_ids=(40, 41, 42), logprobs=(-1.0,) * 3, versions=((0, 0, 3),))
    samples = GROUPS[1].samples
    changed = [GROUPS[0], replace(GROUPS[1], samples=(samples[0], other, *samples[2:]))]
    models = [updated(policy, groups, mask=[5])[0] for groups in (GROUPS, changed)]
    seen = updated(policy, changed)[0]
    assert gradient_difference(*models) < 1e-6 < 1e-4 < gradient_difference(models[0], seen)


def test_a_step_without_signal_changes_no_weight(policy):
    start = load_model(policy / "hf", CPU, trainable=False)
    flat = [make_group([0.0] * 4, 0), make_group([1.0] * 4, 1)]
    model, metrics = updated(policy, flat, weight_decay=0.1)
    assert metrics.optimizer_steps == 0 and weights_digest(weights(model)) == weights_digest(weights(start))


def test_mini_batches_are_optimizer_steps_and_the_second_sees_clipping(policy):
    _, one = updated(policy, rate=0.05)
    _, four = updated(policy, rate=0.05, mini_batch_prompts=1, update_epochs=2)
    assert (one.optimizer_steps, four.optimizer_steps) == (1, 4)
    assert one.clip_fraction == 0.0 < four.clip_fraction


def test_kl_is_zero_at_the_reference_and_grows_with_distance(policy):
    _, near = updated(policy)
    _, far = updated(policy, rate=0.01, update_epochs=3)
    assert near.kl == pytest.approx(0.0, abs=1e-6) and far.kl > 1e-3


def test_a_gradient_that_is_not_finite_stops_before_the_weights(policy):
    model = load_model(policy / "hf", CPU, trainable=True)
    broken = GROUPS[0].problem.prompt_ids[0]
    with torch.no_grad():
        model.get_input_embeddings().weight[broken] = float("nan")
    before = weights(model)["lm_head.weight"].clone()
    with pytest.raises(EngineError) as e:
        updated(policy, model=model)
    assert e.value.reason == "NON_FINITE_GRADIENT"
    assert torch.equal(weights(model)["lm_head.weight"], before)


def test_log_probabilities_do_not_depend_on_padding_and_follow_temperature(policy):
    model = load_model(policy / "hf", CPU, trainable=False)
    short, long = (7, 8), (9, 10, 11, 12, 13)
    together = response_logprobs(model, (5, 6), [short, long], 0.7)
    alone = response_logprobs(model, (5, 6), [short], 0.7)
    logits = model(torch.tensor([[5, 6, 7]])).logits[0]
    expected = [torch.log_softmax(logits[i] / 0.7, -1)[t].item() for i, t in ((1, 7), (2, 8))]
    assert together[0, :2].tolist() == pytest.approx(alone[0].tolist(), abs=1e-5)
    assert alone[0].tolist() == pytest.approx(expected, abs=1e-5)


def test_warm_up_is_linear_then_constant():
    grpo = parse(toy_spec(learning_rate=1.0, warmup_steps=4))
    assert [learning_rate_at(s, grpo) for s in (1, 2, 4, 9)] == [0.25, 0.5, 1.0, 1.0]
