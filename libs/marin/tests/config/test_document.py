"""What the second document prints.

``document.md`` holds its blocks; only paths and what lies on the hub are replaced."""

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from marin.cli.__main__ import main
from marin.cli.parser import parse
from marin.config.checks import near_duplicates_known, problems
from marin.config.compile import compile_graph
from marin.config.load import load
from marin.config.tokenizers import KNOWN

BLOCKS = re.findall(r"```(yaml|bash)\n(.*?)```", (Path(__file__).parent / "document.md").read_text(), re.S)
PRINTED = {next(iter(yaml.safe_load(text))): text for language, text in BLOCKS if language == "yaml"}
COMMANDS = [
    shlex.split(line)
    for language, text in BLOCKS
    if language == "bash"
    for line in text.replace("\\\n", " ").splitlines()
    if line.startswith("marin ")
]
PATHS = ("/data/cc_sample/", "/data/code_sample/", "/data/zh_wiki_sample/", "/data/sft/")


@pytest.fixture
def document(tmp_path, monkeypatch):
    """The main config and its four files, with data directories and a stand-in for the hub."""
    monkeypatch.chdir(tmp_path)
    chat = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}
    for path in PATHS:
        folder = tmp_path / path.strip("/")
        folder.mkdir(parents=True)
        row = chat if "sft" in path else {"text": path}
        (folder / "part.jsonl").write_text((json.dumps(row) + "\n") * 8)
    for name, text in PRINTED.items():
        for path in PATHS:
            text = text.replace(f"path: {path}", f"path: {tmp_path}{path}")
        (tmp_path / ("config.yaml" if name == "includes" else f"{name}.yaml")).write_text(text)
    mirror = tmp_path / "hub" / KNOWN["qwen2.5-tokenizer"]
    mirror.mkdir(parents=True)
    vocab = {
        "model": {"vocab": {f"t{i}": i for i in range(151_643)}},
        "added_tokens": [{"content": f"a{i}"} for i in range(22)],
    }
    (mirror / "tokenizer.json").write_text(json.dumps(vocab))
    monkeypatch.setenv("MARIN_HUB_MIRROR", str(tmp_path / "hub"))
    return tmp_path


def test_as_printed_it_is_read_and_what_cannot_be_had_is_said_with_its_line(document):
    """The form is right in every word; these are the wishes that the services cannot fulfil yet."""
    project = load(document / "config.yaml")
    said = [(p.where, p.what.split(":")[0].split(" is not")[0]) for p in problems(project)]
    minhash = [] if near_duplicates_known() else [("data.yaml:18", "dedup")]
    assert said == [
        *minhash,
        ("pretrain.yaml:9", "vocab_size 151936"),
        ("pretrain.yaml:19", "tensor_parallel 2"),
        *((f"eval.yaml:{5 + i}", f"'{b}'") for i, b in enumerate(("hellaswag", "arc_challenge", "ceval", "humaneval"))),
    ]


def replaced(document, **changes):
    for path in document.glob("*.yaml"):
        text = path.read_text()
        for old, new in changes.values():
            text = text.replace(old, new)
        path.write_text(text)


def test_with_these_replaced_it_is_valid_and_compiles(document):
    replaced(
        document,
        dedup=("dedup: minhash", "dedup: exact"),
        vocab=("vocab_size: 151936", "vocab_size: 151665"),
        parallel=("tensor_parallel: 2", "tensor_parallel: 1"),
        hub=(
            "    - hellaswag\n    - arc_challenge\n    - ceval\n    - humaneval\n",
            "    - gsm8k-smoke\n    - aime-smoke\n",
        ),
    )
    project = load(document / "config.yaml")
    assert not problems(project)
    graph = compile_graph(project, ["data", "pretrain", "finetune", "eval"])
    nodes = {n.target.name: n for n in graph.nodes}
    assert [n for n in nodes if n.startswith("data/tokenized/tokens/")] == [
        f"data/tokenized/tokens/{n}_sample" for n in ("common_crawl", "code", "zh_wiki")
    ]
    spec = nodes["models/base-3b"].pretrain
    assert dict(spec.mixture_weights) == {"common_crawl_sample": 0.6, "code_sample": 0.3, "zh_wiki_sample": 0.1}
    assert (spec.model.hidden_dim, spec.model.num_layers, spec.model.num_heads, spec.model.num_kv_heads) == (
        3072,
        28,
        24,
        8,
    )
    assert (spec.train_batch_size, spec.seq_len, spec.num_train_steps, spec.checkpoint_every_steps) == (
        32,
        4096,
        500_000,
        10_000,
    )
    assert (spec.optimizer.learning_rate, spec.optimizer.warmup, spec.optimizer.max_grad_norm) == (3e-4, 0.004, 1.0)
    assert nodes["models/instruct-3b"].sft.optimizer.learning_rate == 2e-5
    assert nodes["models/instruct-3b"].sft.num_train_steps == 12
    ids = {n.id: n.target.name for n in graph.nodes}
    read = {name: [ids[i.node_id] for i in n.inputs] for name, n in nodes.items() if i_is_report(name)}
    assert read == {
        "reports/eval_report/base": ["models/base-3b"],
        "reports/eval_report/instruct": ["models/instruct-3b"],
    }


def i_is_report(name):
    return name.startswith("reports/")


def test_every_command_line_is_one_of_ours():
    assert [c[:2] for c in COMMANDS] == [
        ["marin", "init"],
        ["marin", "validate"],
        ["marin", "run"],
        ["marin", "logs"],
        ["marin", "artifacts"],
    ]
    for command in COMMANDS:
        assert callable(parse(command[1:]).command)


def test_init_and_validate_as_printed(tmp_path, monkeypatch, capsys):
    """``--workspace`` is moved below a temporary directory, and the commands run where the project lies."""
    init, check = COMMANDS[0][1:], COMMANDS[1][1:]
    workspace = tmp_path / init[-1].strip("/")
    assert main([*init[:-1], str(workspace)]) == 0
    monkeypatch.chdir(workspace)
    capsys.readouterr()
    assert main(check) == 0
    assert "job my-3b-base, stages data, pretrain, finetune, eval" in capsys.readouterr().out
    graph = compile_graph(load(workspace / "config.yaml"), parse(COMMANDS[2][1:]).stages.split(","))
    assert graph.name == "my-3b-base" and {n.stage for n in graph.nodes} == {"data", "pretrain", "finetune", "eval"}
