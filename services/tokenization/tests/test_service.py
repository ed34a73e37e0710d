"""The service process: what it serves, and what it must never load."""

import subprocess
import sys

import pytest

from marin_tokenization.setup import STAGE


@pytest.mark.parametrize(
    ("kind", "spec"),
    [("tokenizer", "TrainTokenizerSpec"), ("tokenizer.import", "ImportTokenizerSpec"), ("tokens", "TokenizeSpec")],
)
def test_each_kind_has_its_typed_create_call(kind: str, spec: str) -> None:
    assert STAGE.spec_class(kind).DESCRIPTOR.full_name == f"marin.tokenization.v1.{spec}"
    assert kind in [k.name for k in STAGE.kinds]


def test_the_service_process_loads_no_engine() -> None:
    heavy = "{'jax', 'levanter', 'transformers', 'huggingface_hub'}"
    code = f"import marin_tokenization.setup, sys; print({heavy} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"
