"""``marin init``, the published schema, and the file that explains every field."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from marin.cli.__main__ import main
from marin.config.compile import compile_graph
from marin.config.load import load
from marin.config.schema import json_schema
from marin.config.yaml_source import number_or_text
from marin.templates import TEMPLATES

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("template", TEMPLATES)
def test_each_template_is_a_valid_project_within_a_second(template, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    start = time.monotonic()
    assert main(["init", "my-job", "--template", template]) == 0
    assert time.monotonic() - start < 1
    assert main(["validate", "my-job/config.yaml"]) == 0
    project = load(Path("my-job/config.yaml"))
    assert project.name == "my-job" and compile_graph(project).nodes
    assert json.loads(Path("my-job/config.schema.json").read_text()) == json_schema()
    assert "{{" not in "".join(p.read_text() for p in Path("my-job").glob("*.*"))


def test_init_never_overwrites(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    (tmp_path / "x/config.yaml").write_text("mine")
    assert main(["init", "x"]) == 1
    assert "there is a config.yaml already" in capsys.readouterr().err
    assert [p.name for p in (tmp_path / "x").iterdir()] == ["config.yaml"]


@pytest.mark.parametrize(
    ("args", "words"),
    [(["x", "--template", "lama"], "did you mean 'llama'?"), (["a/b"], "no job's name"), (["-"], "no job's name")],
)
def test_init_names_what_is_wrong(args, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["init", *args]) == 1
    assert words in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_every_field_is_described_in_the_schema_and_in_the_book(capsys):
    assert main(["validate", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    book = (ROOT / "docs/config.md").read_text()
    for block in (schema, *schema["$defs"].values()):
        assert block["description"]
        for name, field in block["properties"].items():
            # A description equal to that of the block it refers to is left out there.
            assert field.get("description") or field.get("$ref"), name
            assert re.search(rf"`(\w+\[\]\.)?{name}`", book) or name == "$schema", name
        assert block["additionalProperties"] is False


def test_validating_loads_nothing_heavy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["init", "x"])
    heavy = "{'grpc', 'google.protobuf', 'jax', 'torch', 'apache_beam', 'vllm', 'numpy'} & set(sys.modules)"
    script = (
        "import sys; from marin.cli.__main__ import main; code = main(['validate', 'x/config.yaml']); "
        f"heavy = {heavy}; sys.exit(str(heavy) if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3e-4", 3e-4), ("1E3", 1000.0), ("+.5", 0.5), ("2.", 2.0), ("-7", -7), ("0", 0), ("true", True), ("~", None),
        ("yes", "yes"), ("010", "010"), ("0x1f", "0x1f"), ("1_000", "1_000"), ("e5", "e5"), (".", "."), ("-", "-"),
        ("1:30", "1:30"), (".nan", ".nan"), ("2026-08-01", "2026-08-01"),
    ],
)  # fmt: skip
def test_plain_scalars_mean_what_they_look_like(text, value):
    assert number_or_text(text) == value and type(number_or_text(text)) is type(value)


def test_bundled_benchmarks_are_task_sets_of_the_evaluation_service():
    from marin.config.benchmarks import AVAILABLE

    source = (ROOT / "services/evaluation/src/marin_evaluation/core/tasksets.py").read_text()
    assert all(f'TaskSet("{name}"' in source for name in AVAILABLE)
