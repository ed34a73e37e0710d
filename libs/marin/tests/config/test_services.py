"""On real services: run part of a config, change one field, and see what the plan says."""

import json
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def marin(tmp_path):
    def call(*args: str) -> subprocess.CompletedProcess[str]:
        command = [str(ROOT / "tools/marin"), *args]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)

    yield call
    call("down", "--workspace", "ws")


def test_one_changed_field_reruns_what_stands_on_it(marin, tmp_path):
    assert marin("init", "my-dna", "--template", "dna", "--workspace", "ws").returncode == 0
    config = ("ws/config.yaml", "--workspace", "ws")
    done = marin("run", *config, "--stages", "data")
    assert done.returncode == 0, done.stderr
    again = marin("plan", *config, "--stages", "data", "--output", "json")
    assert {p["action"] for p in json.loads(again.stdout)} == {"cached"}

    listed = json.loads(marin("artifacts", "list", "--job", "my-dna", "--workspace", "ws", "--output", "json").stdout)
    assert [(a["stage"], a["kind"]) for a in listed] == [("data", k) for k in ("documents", "tokenizer", "tokens")]
    logs = marin("logs", "--job", "my-dna", "--follow", "--workspace", "ws")
    assert logs.returncode == 0 and "==> tokenizer" in logs.stderr and "trained a vocabulary of 320" in logs.stdout

    data = tmp_path / "ws/data.yaml"
    data.write_text(data.read_text().replace("dedup: exact", "dedup: none"))
    plan = json.loads(marin("plan", *config, "--stages", "data", "--output", "json").stdout)
    assert {p["kind"]: (p["action"], p["diff"]) for p in plan} == {
        "documents": ("run", ["spec.dedup: DEDUP_EXACT -> DEDUP_NONE"]),
        "tokenizer": ("run", []),
        "tokens": ("run", []),
    }
    # The sequences hold no copy, so the rebuilt documents have the same bytes, and nothing above them runs.
    done = marin("run", *config, "--stages", "data")
    assert done.returncode == 0 and done.stderr.count("adopted") == 2, done.stderr
