"""The service process: what it serves, and what it must never load."""

import subprocess
import sys

import pytest
from training_support import pretrain_spec

from marin_artifacts.identity import build_key, semantic_dict
from marin_training.setup import STAGE


@pytest.mark.parametrize(("kind", "spec"), [("checkpoint.pretrain", "PretrainSpec"), ("checkpoint.sft", "SftSpec")])
def test_each_kind_has_its_typed_create_call(kind: str, spec: str) -> None:
    assert STAGE.spec_class(kind).DESCRIPTOR.full_name == f"marin.training.v1.{spec}"
    assert kind in [k.name for k in STAGE.kinds]


def test_the_service_process_never_loads_jax() -> None:
    code = "import marin_training.setup, sys; print({'jax', 'levanter', 'transformers'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_placement_is_no_part_of_identity_and_hyperparameters_are() -> None:
    def key(**changes) -> str:
        return build_key("checkpoint.pretrain", pretrain_spec(**changes), {"tokens": "sha256:0"})

    assert key(checkpoint_every_steps=99, resources={"accelerator": "gb200"}) == key()
    assert len({key(), key(seed=8), key(optimizer={"learning_rate": 2e-2}), key(model={"num_layers": 3})}) == 4
    assert "resources" not in semantic_dict(pretrain_spec(resources={"cpus": 2}))
