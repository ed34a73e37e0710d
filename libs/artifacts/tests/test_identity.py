"""Build keys: what must change them, and what must not."""

import json

import pytest

from marin.rl.v1 import rl_pb2
from marin.training.v1 import training_pb2 as pb
from marin_artifacts.identity import build_key, canonical, semantic_dict, spec_dict


def spec(**changes):
    return pb.PretrainSpec(num_train_steps=10, train_batch_size=8, seq_len=256, z_loss_weight=1e-4, **changes)


def key(message, **inputs):
    return build_key("checkpoint.pretrain", message, inputs or {"tokens": "sha256:aa"})


def test_incidental_fields_do_not_change_the_key():
    other = spec(checkpoint_every_steps=5, resources=pb.Resources(accelerator="gb200", nodes=2))
    assert key(other) == key(spec())


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"mixture_weights": {"web": 1.0}}, {"model": pb.ModelConfig(num_layers=2)}]
)
def test_semantic_fields_change_the_key(change):
    assert key(spec(**change)) != key(spec())


def test_inputs_and_their_roles_change_the_key():
    assert key(spec(), tokens="sha256:bb") != key(spec())
    assert key(spec(), **{"tokens/web": "sha256:aa"}) != key(spec())


def test_a_field_at_its_default_is_no_part_of_the_key():
    assert semantic_dict(spec(seed=0)) == semantic_dict(spec())


def test_map_order_does_not_matter():
    one, two = spec(), spec()
    for name in ("a", "b"):
        one.mixture_weights[name] = 0.5
    for name in ("b", "a"):
        two.mixture_weights[name] = 0.5
    assert key(one) == key(two)


def test_an_engine_gets_every_field_with_its_type():
    full = spec_dict(spec(model=pb.ModelConfig(family=pb.MODEL_FAMILY_QWEN3, num_layers=4)))
    assert full["model"]["family"] == "MODEL_FAMILY_QWEN3"
    assert full["model"]["num_layers"] == 4 and isinstance(full["model"]["num_layers"], int)
    assert full["seed"] == 0 and full["optimizer"] is None and full["mixture_weights"] == {}
    assert isinstance(full["z_loss_weight"], float)
    json.dumps(full)
    assert spec_dict(rl_pb2.GrpoSpec())["token_share"] is None


def test_canonical_json_refuses_nan():
    with pytest.raises(ValueError):
        canonical({"x": float("nan")})


def test_golden_key():
    # Golden: a change here makes every cached artifact run again. Change it only together with an engine version.
    assert key(spec()) == "634055b50c50e232bf094051649dd077d149e6acb8a65ee3032c596296d247e1"
