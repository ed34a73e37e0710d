"""Wrong input: one paragraph with the fix, an exit code that is not 0, and no half artifact."""

import gzip
import json
import socket
import textwrap

import pytest
from whole_system import ROOT

pytestmark = pytest.mark.slow


def documents(tmp_path, n=300):
    rows = [
        {"text": f"This is document number {i}, with a few more words than the filter asks for. " * 3} for i in range(n)
    ]
    return "".join(json.dumps(r) + "\n" for r in rows).encode()


def missing(tmp_path):
    return tmp_path / "nowhere.jsonl"


def corrupt_gzip(tmp_path):
    path = tmp_path / "corrupt.jsonl.gz"
    data = bytearray(gzip.compress(documents(tmp_path)))
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    return path


def truncated_gzip(tmp_path):
    path = tmp_path / "short.jsonl.gz"
    data = gzip.compress(documents(tmp_path))
    path.write_bytes(data[: len(data) * 2 // 3])
    return path


def empty(tmp_path):
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"")
    return path


def bad_row(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(documents(tmp_path) + b'{"text": "no end\n')
    return path


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    from whole_system import Marin

    system = Marin(tmp_path_factory.mktemp("wrong") / "ws")
    yield system
    system("down")


@pytest.mark.parametrize("corpus", [missing, corrupt_gzip, truncated_gzip, empty, bad_row], ids=lambda f: f.__name__)
def test_a_bad_corpus_is_named_and_leaves_nothing(shared, tmp_path, corpus):
    path = corpus(tmp_path)
    version = corpus.__name__.replace("_", "-")
    done = shared("run", "iceball-micro", "--stage", "fineweb", "--version", version, "--corpus", str(path))
    paragraph = done.stderr[done.stderr.index("error:") :]
    assert done.returncode == 1
    assert path.stem in paragraph and "fix:" in paragraph and "Traceback" not in paragraph
    assert len(paragraph.strip().splitlines()) <= 4
    assert not [a for a in shared.artifacts() if a.endswith(f"@{version}")]


def test_an_unknown_stage_and_experiment_suggest_the_right_one(marin):
    done = marin("run", "iceball-micro", "--stage", "pretraim")
    assert done.returncode == 1 and "did you mean 'pretrain'?" in done.stderr
    done = marin("run", "iceball-mini")
    assert done.returncode == 1 and "did you mean 'iceball-micro'?" in done.stderr


def test_a_taken_port_is_named(marin):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        done = marin("plan", "iceball-micro", MARIN_PORT_BASE=str(port - 1))
    assert done.returncode == 1 and str(port) in done.stderr and "fix:" in done.stderr


def test_a_workspace_that_cannot_be_written_is_named(marin):
    done = marin("plan", "iceball-micro", "--workspace", "/proc/marin")
    assert done.returncode == 1 and "/proc/marin" in done.stderr and "fix:" in done.stderr


def test_a_vocabulary_that_does_not_fit_is_an_error_before_training(shared):
    script = textwrap.dedent(f"""
        from dataclasses import replace
        from pathlib import Path
        from experiments.post_training import iceball_profiles as profiles
        from experiments.post_training.iceball_micro import build_workflow
        from marin.execution.lazy import lower
        from marin.execution.step_runner import StepRunner

        cpu = profiles.PROFILES["cpu"]
        profiles.PROFILES["cpu"] = replace(cpu, model=replace(cpu.model, vocab_size=4096))
        StepRunner(Path({str(shared.workspace)!r})).run([lower(build_workflow("vocab", "cpu").pretrain)])
    """)
    import subprocess

    done = subprocess.run(
        [str(ROOT / ".envs/client/bin/python"), "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1
    assert "4096" in done.stderr and "2048" in done.stderr and "fix:" in done.stderr
    assert "checkpoints/iceball-micro-pretrain@vocab" not in shared.artifacts()
