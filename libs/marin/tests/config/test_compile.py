"""A config becomes the graph that the Python builders make."""

import subprocess

import pytest

from marin.config.compile import compile_graph, warmup_fraction
from marin.config.load import load
from marin.config.problems import ConfigError
from marin.config.recipe import semantic
from marin.data.v1 import data_pb2
from marin.evaluation.v1 import evaluation_pb2
from marin.execution.lazy import graph
from marin.experiment import data
from marin.experiment.evaluation import evaluate
from marin.experiment.train import AdamConfig, ModelConfig, sft, train_lm
from marin_contracts.chat import CHATML
from marin_contracts.kinds import KINDS
from marin_contracts.tokenizer_files import TOKENIZER_FILES


def compiled(project, *stages, version=None):
    return compile_graph(load(project.main), stages, version)


def by_name(g):
    return {n.target.name: n for n in g.nodes}


def versions(g):
    return {n.target.name: n.target.version for n in g.nodes}


def test_it_is_the_graph_that_python_makes(project):
    v = "v1"
    filters = data_pb2.Filters(min_text_length=32, max_repetition=0.95)
    web = data.files("web", str(project.root / "web/*.jsonl"))
    code = data.files("code", str(project.root / "code/part-*.jsonl"))
    texts = {
        s.name: data.documents(
            name=f"data/tokenized/documents/{s.name}",
            version=v,
            sources=[s],
            filters=filters,
            dedup="exact",
            stage="data",
        )
        for s in (web, code)
    }
    corpus = data.documents(
        name="data/tokenized/corpus", version=v, sources=[web, code], filters=filters, dedup="exact", stage="data"
    )
    tokenizer = data.train_tokenizer(
        name="data/tokenized/tokenizer", version=v, documents=corpus, vocab_size=512, stage="data"
    )
    tokens = {
        n: data.tokenize(name=f"data/tokenized/tokens/{n}", version=v, documents=t, tokenizer=tokenizer, stage="data")
        for n, t in texts.items()
    }
    base = train_lm(
        name="models/base",
        version=v,
        model=ModelConfig(128, 64, 128, 2, 4, 2, vocab_size=512, family="llama"),
        optimizer=AdamConfig(3e-4, max_grad_norm=1.0, warmup=0.1),
        datasets={tokens["web"]: 0.6, tokens["code"]: 0.4},
        batch_size=8,
        seq_len=128,
        num_train_steps=100,
        checkpoint_every_steps=50,
        stage="pretrain",
    )
    chats = data.conversations(
        name="models/instruct/conversations",
        version=v,
        sources=[data.files("conversations", str(project.root / "sft/*.jsonl"))],
        stage="finetune",
    )
    instruct = sft(
        name="models/instruct",
        version=v,
        init_from=base,
        conversations=chats,
        optimizer=AdamConfig(2e-5),
        batch_size=2,
        seq_len=128,
        num_train_steps=11,  # 3 epochs of 7 conversations, 2 at a time
        stage="finetune",
    )
    instruct.spec.max_conversations_per_sequence = 1
    instruct.spec.chat_template = CHATML
    tasks = [
        evaluation_pb2.EvaluationTask(
            name="gsm8k-smoke", task_set="gsm8k-smoke", harness=evaluation_pb2.HARNESS_LM_EVAL
        ),
        evaluation_pb2.EvaluationTask(name="aime-smoke", task_set="aime-smoke", harness=evaluation_pb2.HARNESS_HARBOR),
    ]
    reports = [
        evaluate(
            name=f"reports/report/{n}",
            version=v,
            policy=p,
            tasks=tasks,
            apply_chat_template=n == "instruct",
            stage="eval",
        )
        for n, p in (("base", base), ("instruct", instruct))
    ]
    expected = graph("small", [*tokens.values(), base, instruct, *reports])
    assert compiled(project, version=v) == expected


def test_epochs_of_conversations_are_counted_without_blank_lines(project):
    assert by_name(compiled(project, "finetune"))["models/instruct"].sft.num_train_steps == 11
    project.edit("finetune.yaml", "epochs: 3", "epochs: 1")
    project.edit("finetune.yaml", "micro_batch_size: 2", "micro_batch_size: 8")
    with pytest.raises(ConfigError, match="only 1 update of 8"):
        compiled(project, "finetune")


def test_a_stage_brings_what_it_stands_on_and_no_more(project):
    assert set(by_name(compiled(project, "data"))) == {
        *(f"data/tokenized/{k}/{n}" for k in ("documents", "tokens") for n in ("web", "code")),
        "data/tokenized/corpus",
        "data/tokenized/tokenizer",
    }
    assert {n.stage for n in compiled(project, "finetune").nodes} == {"data", "pretrain", "finetune"}


def test_the_warm_up_comes_back_exact():
    """The trainer takes int(fraction * steps)."""
    wrong = [
        (w, s)
        for s in (2, 3, 7, 49, 100, 999, 4095, 500_000)
        for w in range(0, s + 1, max(1, s // 500))
        if int(warmup_fraction(w, s) * s) != w or warmup_fraction(w, s) > 1
    ]
    assert not wrong


def test_versions_follow_the_recipe(project):
    before = versions(compiled(project))
    assert versions(compiled(project)) == before
    project.edit("pretrain.yaml", "save_every: 50", "save_every: 25")  # changes no byte
    assert versions(compiled(project)) == before
    project.edit("pretrain.yaml", "lr: 3e-4", "lr: 3e-3")
    after = versions(compiled(project))
    assert {n for n in after if after[n] != before[n]} == {
        "models/base",
        "models/instruct",
        "reports/report/base",
        "reports/report/instruct",
    }


def test_changed_data_is_another_version(project):
    before = versions(compiled(project, "data"))
    project.add("code/part-0.jsonl", '{"text": "import this"}\n')
    after = versions(compiled(project, "data"))
    assert before["data/tokenized/documents/web"] == after["data/tokenized/documents/web"]
    assert before["data/tokenized/documents/code"] != after["data/tokenized/documents/code"]


def test_a_version_in_the_config_or_on_the_command_line_names_all(project):
    project.add("config.yaml", "version: v7\n")
    assert set(versions(compiled(project)).values()) == {"v7"}
    assert set(versions(compiled(project, version="v8")).values()) == {"v8"}


def test_models_from_elsewhere_are_addresses(project):
    project.edit("config.yaml", "  - data.yaml\n  - pretrain.yaml\n", "")
    project.edit("finetune.yaml", "chatml", "chatml\n    max_seq_len: 64")
    project.edit("eval.yaml", "/models/base/latest", "models/base@v3")
    nodes = by_name(compiled(project))
    assert {i.role: i.address for i in nodes["models/instruct"].inputs}["init"] == "models/base@latest"
    assert nodes["reports/report/base"].inputs[0].address == "models/base@v3"


def test_one_source_trains_the_tokenizer_on_its_own_documents(project):
    text = (project.root / "data.yaml").read_text()
    project.write("data.yaml", (text[: text.index("    - name: code")] + text[text.index("  tokenizer:") :]).encode())
    nodes = by_name(compiled(project, "pretrain"))
    assert "data/tokenized/corpus" not in nodes
    assert [i.role for i in nodes["models/base"].inputs] == ["tokens"]


def test_a_tokenizer_directory_is_imported_by_its_digest(project):
    project.write(
        "tok/tokenizer.json", '{"model": {"vocab": {"a": 0, "b": 1}}, "added_tokens": [{"content": "<eos>"}]}'
    )
    project.write("tok/tokenizer_config.json", "{}")
    project.write("tok/notes.txt", "not part of it")
    project.edit("data.yaml", "tokenizer:\n    train:\n      vocab_size: 512", "tokenizer: tok/")
    project.edit("pretrain.yaml", "vocab_size: 512", "vocab_size: 3")
    node = by_name(compiled(project))["data/tokenized/tokenizer"]
    assert node.kind == "tokenizer.import" and not node.inputs
    names = " ".join(TOKENIZER_FILES)
    command = f"cd tok && sha256sum {names} 2>/dev/null | sha256sum"
    expected = subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout.split()[0]
    assert node.import_tokenizer.directory.sha256 == expected
    assert node.import_tokenizer.directory.path == str(project.root.resolve() / "tok")
    elsewhere = project.root / "tok2"
    (project.root / "tok").rename(elsewhere)
    project.edit("data.yaml", "tokenizer: tok/", "tokenizer: tok2")
    assert by_name(compiled(project))["data/tokenized/tokenizer"].target == node.target, "its place is no part of it"


def test_paths_may_hold_environment_variables(project, monkeypatch):
    monkeypatch.setenv("CORPUS", str(project.root / "web"))
    project.edit("data.yaml", "path: web/", "path: ${env:CORPUS}")
    node = by_name(compiled(project, "data"))["data/tokenized/documents/web"]
    assert node.run_pipeline.sources[0].file.path == str(project.root / "web/*.jsonl")


def test_the_default_name_is_the_directory(project, tmp_path):
    project.edit("config.yaml", "name: small\n", "")
    assert compiled(project, "data").name == tmp_path.name.lstrip("_")


def test_incidental_fields_are_not_semantic(project):
    node = by_name(compiled(project))["models/base"]
    fields = semantic(getattr(node, KINDS[node.kind].spec_field))
    assert "checkpoint_every_steps" not in fields and fields["model"]["family"] == "MODEL_FAMILY_LLAMA"
