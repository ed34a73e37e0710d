"""Lazy handles and the graph that they lower to."""

import pytest

from experiments import registry
from marin.client.errors import MarinError
from marin.execution.lazy import ArtifactStep, graph, lower
from marin.execution.step_runner import services_for
from marin.experiment import data
from marin.experiment.train import AdamConfig, ModelConfig, train_lm

MODEL = ModelConfig(64, 32, 64, 2, 2, 1)


def chain(version="v1"):
    text = data.documents(name="documents/a", version=version, sources=[data.files("a", "/nowhere/a.jsonl")])
    tokenizer = data.train_tokenizer(name="tokenizers/a", version=version, documents=text, vocab_size=512)
    return data.tokenize(name="tokenized/a", version=version, documents=text, tokenizer=tokenizer)


def train(datasets, **changes):
    settings = {"name": "checkpoints/m", "version": "v1", "batch_size": 4, "seq_len": 64, "num_train_steps": 3}
    return train_lm(model=MODEL, optimizer=AdamConfig(1e-3), datasets=datasets, **settings | changes)


def test_a_shared_dependency_is_one_node():
    nodes = lower(train({chain(): 1.0})).nodes
    assert [n.kind for n in nodes] == ["documents", "tokenizer", "tokens", "checkpoint.pretrain"]
    assert len({n.id for n in nodes}) == 4


def test_one_dataset_is_tokens_and_several_are_a_mixture_by_name():
    one = lower(train({chain(): 1.0})).nodes[-1]
    assert [i.role for i in one.inputs] == ["tokens"] and not one.pretrain.mixture_weights
    web = chain()
    code = data.tokenize(
        name="tokenized/code", version="v1", documents="documents/code@v1", tokenizer="tokenizers/a@v1"
    )
    both = lower(train({web: 0.7, code: 0.3})).nodes[-1]
    assert {i.role for i in both.inputs} == {"tokens/a", "tokens/code"}
    assert dict(both.pretrain.mixture_weights) == {"a": 0.7, "code": 0.3}


def test_an_address_is_an_input_without_a_node():
    step = data.tokenize(name="tokenized/a", version="v1", documents="documents/x@v3", tokenizer="tokenizers/y@v1")
    (node,) = lower(step).nodes
    assert {i.address for i in node.inputs} == {"documents/x@v3", "tokenizers/y@v1"}


@pytest.mark.parametrize("name", ["", "/a", "a/", "a//b", "../a", "a b", "s3://a"])
def test_bad_names_are_refused_at_once(name):
    with pytest.raises(MarinError, match="no artifact name"):
        data.documents(name=name, version="v1", sources=[])


@pytest.mark.parametrize("version", ["v1", "2026.08.01", "2026.08.01.2", "dev", "x-dev"])
def test_labels_and_dates_are_versions(version):
    assert data.documents(name="a", version=version, sources=[]).address == f"a@{version}"


def test_a_file_is_pinned_by_its_bytes(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("one")
    before = data.files("a", str(path)).sha256
    path.write_text("two")
    assert data.files("a", str(path)).sha256 != before
    assert data.files("a", str(tmp_path / "missing.jsonl")).sha256 == ""


def test_a_stage_takes_only_what_it_needs():
    nodes = registry.build("iceball-micro", stage="pretrain", profile="cpu").nodes
    assert [n.id for n in nodes] == ["documents", "tokenizer", "fineweb", "pretrain"]
    assert services_for(nodes) == ["data", "tokenization", "training"]


def test_rl_and_evaluation_bring_inference_along():
    whole = registry.build("iceball-micro", profile="cpu").nodes
    assert "inference" in services_for([n for n in whole if n.kind == "policy"])
    assert len(services_for(whole)) == 6


def test_two_steps_that_would_share_an_id_get_their_own():
    a = ArtifactStep("x/tokens", "v1", "tokens", chain().spec)
    b = ArtifactStep("y/tokens", "v1", "tokens", chain().spec)
    assert len({n.id for n in graph("g", [a, b]).nodes}) == 2
