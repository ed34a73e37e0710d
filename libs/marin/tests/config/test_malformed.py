"""Each malformed config gives one clear error: file, line, what, and the fix, soon."""

import os
import time

import pytest


def _edit(file, old, new):
    return lambda p: p.edit(file, old, new)


def _bomb(p):
    levels = "".join(
        f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}]\n"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    p.write("data.yaml", "a: &a [x, x]\n" + levels)


def _tokenizer(p):
    vocab = '{"model": {"vocab": {"a": 0, "b": 1, "c": 2}}, "added_tokens": [{"content": "<eos>"}]}'
    p.write("tok/tokenizer.json", vocab)
    p.edit("data.yaml", "tokenizer:\n    train:\n      vocab_size: 512", "tokenizer: tok/")
    p.edit("pretrain.yaml", "vocab_size: 512", "vocab_size: 3")


def _outside(p):
    (p.root.parent / "outside.yaml").write_text("name: x\n")
    p.edit("config.yaml", "- data.yaml", "- ../outside.yaml")


def _link(p):
    (p.root / "data.yaml").unlink()
    (p.root / "data.yaml").symlink_to("/etc/hostname")


def _circle(p):
    p.write("eval.yaml", "includes:\n  - more/again.yaml\n")
    p.write("more/again.yaml", "includes:\n  - ../eval.yaml\n")


def _pipe(p):
    (p.root / "data.yaml").unlink()
    os.mkfifo(p.root / "data.yaml")


def _bytes(file, content):
    return lambda p: p.write(file, content)


CASES = {
    # form of the text
    "tab": (
        _edit("data.yaml", "      type: jsonl\n      path: web/", "      type: jsonl\n\tpath: web/"),
        "data.yaml:5",
        "tab",
    ),
    "50 MB": (_bytes("data.yaml", b"#" * 50_000_000), "data.yaml:1", "MiB"),
    "bomb": (_bomb, "data.yaml:1", "anchors and aliases are not supported"),
    "anchor loop": (_bytes("data.yaml", "data: &d\n  sources: [*d]\n"), "data.yaml:1", "anchors and aliases"),
    "merge key": (_bytes("data.yaml", "data:\n  <<: {output: x}\n"), "data.yaml:2", "merge keys"),
    "tag": (_bytes("data.yaml", "data: !!python/object:os.system x\n"), "data.yaml:1", "tags are not supported"),
    "unclosed quote": (_edit("data.yaml", "path: web/", 'path: "web/'), "data.yaml:", "no YAML"),
    "bad indentation": (_edit("data.yaml", "  max_seq_len: 128", "   max_seq_len: 128"), "data.yaml:14", "no YAML"),
    "not UTF-8": (_bytes("data.yaml", "data:\n  output: /père/\n".encode("latin-1")), "data.yaml:2", "UTF-8"),
    "control character": (_bytes("data.yaml", b"data:\n  output: a\x00b\n"), "data.yaml:", "no YAML"),
    "second document": (lambda p: p.add("eval.yaml", "---\nname: two\n"), "eval.yaml:11", "second document"),
    "empty file": (_bytes("eval.yaml", ""), "eval.yaml:1", "empty"),
    "a list at the top": (_bytes("eval.yaml", "- eval\n"), "eval.yaml:1", "no blocks"),
    "deep nesting": (_bytes("eval.yaml", "eval: " + "[" * 40 + "]" * 40), "eval.yaml:1", "levels of nesting"),
    "abysmal nesting": (_bytes("eval.yaml", "eval: " + "[" * 50_000), "eval.yaml:1", "no YAML"),
    "key twice": (
        _edit("pretrain.yaml", "    num_layers: 2", "    num_layers: 2\n    num_layers: 3"),
        "pretrain.yaml:7",
        "twice",
    ),
    # includes
    "cyclic include": (_circle, "more/again.yaml:2", "circle: eval.yaml -> more/again.yaml -> eval.yaml"),
    "include outside": (_outside, "config.yaml:3", "outside"),
    "include link outside": (_link, "config.yaml:3", "outside"),
    "missing include": (_edit("config.yaml", "- eval.yaml", "- evil.yaml"), "config.yaml:6", "no file evil.yaml"),
    "included twice": (_edit("config.yaml", "- eval.yaml", "- data.yaml"), "config.yaml:6", "included twice"),
    "block in two files": (
        lambda p: p.add("config.yaml", "eval:\n  output: x\n"),
        "eval.yaml:1",
        "given twice, first in config.yaml:7",
    ),
    "a pipe": (_pipe, "data.yaml:1", "no regular file"),
    # form of values
    "unknown key": (_edit("data.yaml", "weight: 0.6", "wieght: 0.6"), "data.yaml:6", "did you mean 'weight'?"),
    "unknown block": (_edit("eval.yaml", "eval:", "evals:"), "eval.yaml:1", "did you mean 'eval'?"),
    "wrong type": (_edit("pretrain.yaml", "num_layers: 2", "num_layers: two"), "pretrain.yaml:6", "not a whole number"),
    "half a layer": (
        _edit("pretrain.yaml", "num_layers: 2", "num_layers: 2.5"),
        "pretrain.yaml:6",
        "not a whole number",
    ),
    "number as text": (_edit("pretrain.yaml", "lr: 3e-4", 'lr: "3e-4"'), "pretrain.yaml:14", "not a number"),
    "text as list": (
        _edit("eval.yaml", "metrics:\n    - accuracy\n    - pass@1", "metrics: accuracy"),
        "eval.yaml:7",
        "not a list",
    ),
    "negative lr": (_edit("pretrain.yaml", "lr: 3e-4", "lr: -3e-4"), "pretrain.yaml:14", "greater than 0"),
    "infinite lr": (_edit("pretrain.yaml", "lr: 3e-4", "lr: 1e999"), "pretrain.yaml:14", "lr is inf"),
    "missing key": (_edit("pretrain.yaml", "    hidden_size: 64\n", ""), "pretrain.yaml:2", "hidden_size is missing"),
    "empty value": (_edit("pretrain.yaml", "hidden_size: 64", "hidden_size:"), "pretrain.yaml:4", "is empty"),
    "unknown choice": (_edit("pretrain.yaml", "type: llama", "type: lama"), "pretrain.yaml:3", "did you mean 'llama'?"),
    "variable in a number": (
        _edit("pretrain.yaml", "lr: 3e-4", "lr: ${env:LR}"),
        "pretrain.yaml:14",
        "allowed in paths only",
    ),
    "unset variable": (
        _edit("data.yaml", "path: web/", "path: ${env:MARIN_TEST_UNSET}/web"),
        "data.yaml:5",
        "MARIN_TEST_UNSET is not set",
    ),
    "other variable": (_edit("data.yaml", "path: web/", "path: ${HOME}/web"), "data.yaml:5", "only ${env:NAME}"),
    # what values mean
    "duplicate source": (_edit("data.yaml", "name: code", "name: web"), "data.yaml:7", "two sources are named 'web'"),
    "weights sum to zero": (
        lambda p: (p.edit("data.yaml", "0.6", "0"), p.edit("data.yaml", "0.4", "0.0")),
        "data.yaml:6",
        "sum to zero",
    ),
    "one weight zero": (_edit("data.yaml", "0.4", "0"), "data.yaml:10", "nothing of it would be read"),
    "missing file": (_edit("data.yaml", "path: web/", "path: wob/a.jsonl"), "data.yaml:5", "there is no file"),
    "no such files there": (_edit("data.yaml", "path: web/", "path: ."), "data.yaml:5", "holds no .jsonl"),
    "other kind of file": (
        _edit("data.yaml", "type: jsonl\n      path: web/", "type: parquet\n      path: web/"),
        "data.yaml:5",
        "no .parquet",
    ),
    "wrong column": (
        _edit("data.yaml", "path: web/", "path: web/\n      column: body"),
        "data.yaml:5",
        "no field 'body'",
    ),
    "no conversations": (_edit("finetune.yaml", "path: sft/", "path: web/"), "finetune.yaml:4", "no field 'messages'"),
    "vocab below tokenizer": (
        _edit("pretrain.yaml", "vocab_size: 512", "vocab_size: 300"),
        "pretrain.yaml:9",
        "smaller than the tok",
    ),
    "vocab below tokenizer's file": (_tokenizer, "pretrain.yaml:9", "smaller than the tokenizer, which has 4 entries"),
    "no tokenizer there": (
        _edit("data.yaml", "tokenizer:\n    train:\n      vocab_size: 512", "tokenizer: web/"),
        "data.yaml:11",
        "holds no tokenizer.json",
    ),
    "vocab of another": (
        _edit("pretrain.yaml", "vocab_size: 512", "vocab_size: 640"),
        "pretrain.yaml:9",
        "512 entries",
    ),
    "unknown tokenizer": (
        _edit("data.yaml", "tokenizer:\n    train:\n      vocab_size: 512", "tokenizer: qwen2.5-tokeniser"),
        "data.yaml:11",
        "did you mean 'qwen2.5-tokenizer'?",
    ),
    "heads": (
        _edit("pretrain.yaml", "num_kv_heads: 2", "num_kv_heads: 3"),
        "pretrain.yaml:8",
        "no multiple of num_kv_heads",
    ),
    "warm-up too long": (
        _edit("pretrain.yaml", "warmup_steps: 10", "warmup_steps: 101"),
        "pretrain.yaml:15",
        "more than all 100",
    ),
    "pipeline": (
        _edit("pretrain.yaml", "data_parallel: 2", "pipeline_parallel: 2"),
        "pretrain.yaml:19",
        "pipeline_parallel 2 is not available yet",
    ),
    "tensor": (
        _edit("pretrain.yaml", "data_parallel: 2", "tensor_parallel: 2"),
        "pretrain.yaml:19",
        "tensor_parallel 2 is not",
    ),
    "tokens of nobody": (
        _edit("pretrain.yaml", "path: /data/tokenized/", "path: /data/tokens/"),
        "pretrain.yaml:11",
        "not what data.output",
    ),
    "model of nobody": (
        _edit("finetune.yaml", "/models/base/latest", "/models/bas/latest"),
        "finetune.yaml:2",
        "did you mean",
    ),
    "model without version": (
        _edit("eval.yaml", "/models/base/latest", "/other"),
        "eval.yaml:2",
        "no block of this config makes /other",
    ),
    "its own base": (
        _edit("finetune.yaml", "/models/base/latest", "/models/instruct/"),
        "finetune.yaml:2",
        "makes itself",
    ),
    "epochs and steps": (
        _edit("finetune.yaml", "epochs: 3", "epochs: 3\n    steps: 9"),
        "finetune.yaml:7",
        "both given",
    ),
    "benchmark not here": (
        _edit("eval.yaml", "- aime-smoke", "- humaneval"),
        "eval.yaml:6",
        "'humaneval' is not available yet",
    ),
    "benchmark unknown": (
        _edit("eval.yaml", "- aime-smoke", "- aime-smok"),
        "eval.yaml:6",
        "did you mean 'aime-smoke'?",
    ),
    "metric left out": (_edit("eval.yaml", "    - pass@1\n", ""), "eval.yaml:6", "pass@1, which metrics leaves out"),
    "target of nothing": (
        lambda p: p.add("eval.yaml", "  targets:\n    gsm8k-smok: 0.3\n"),
        "eval.yaml:12",
        "did you mean 'gsm8k-smoke'?",
    ),
    "target above 1": (
        lambda p: p.add("eval.yaml", "  targets:\n    gsm8k-smoke: 30\n"),
        "eval.yaml:12",
        "less than or equal to 1",
    ),
    "same output": (
        _edit("eval.yaml", "/reports/report.json", "/models/base"),
        "eval.yaml:10",
        "pretrain.yaml:21 has the same output",
    ),
    "output climbs": (_edit("eval.yaml", "/reports/report.json", "../reports"), "eval.yaml:10", "no artifact's name"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_clear_error(project, validate, case):
    change, where, what = CASES[case]
    change(project)
    start = time.monotonic()
    code, out, err = validate("config.yaml")
    seconds = time.monotonic() - start
    assert code == 1 and out == ""
    assert err.count("error: ") == 1 and err.count("\n  fix: ") == 1, err
    assert err.startswith(f"error: {where}") and what in err, err
    assert len(err) < 1000 and "Traceback" not in err
    assert seconds < 1


def test_there_are_at_least_40():
    assert len(CASES) >= 40


def test_the_project_without_a_change_is_valid(project, validate):
    assert validate("config.yaml") == (
        0,
        "config.yaml is valid: job small, stages data, pretrain, finetune, eval\n",
        "",
    )


def test_all_problems_are_listed_in_json(project, validate):
    import json

    project.edit("pretrain.yaml", "num_kv_heads: 2", "num_kv_heads: 3")
    project.edit("eval.yaml", "- aime-smoke", "- humaneval")
    code, out, err = validate("config.yaml", "--output", "json")
    report = json.loads(out)
    assert code == 1 and not err and report["valid"] is False
    assert [(p["where"], p["stage"]) for p in report["problems"]] == [
        ("pretrain.yaml:8", "pretrain"),
        ("eval.yaml:6", "eval"),
    ]


def test_a_problem_of_a_stage_that_is_not_asked_for_does_not_matter(project, validate):
    project.edit("eval.yaml", "- aime-smoke", "- humaneval")
    assert validate("config.yaml", "--stages", "data,finetune")[0] == 0
    project.edit("pretrain.yaml", "num_kv_heads: 2", "num_kv_heads: 3")
    assert validate("config.yaml", "--stages", "data")[0] == 0
    assert validate("config.yaml", "--stages", "finetune")[0] == 1, "it stands on pretrain"


def test_a_stage_that_is_not_there(project, validate):
    code, _, err = validate("config.yaml", "--stages", "data,finetun")
    assert code == 1 and "did you mean 'finetune'?" in err
