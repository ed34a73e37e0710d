"""Floors, independence of services, one layout, small files."""

import os
import statistics
import subprocess
import sys

import pytest
from whole_system import ROOT

SERVICES = sorted(p.name for p in (ROOT / "services").iterdir() if (p / "requirements.lock").exists())
STAGES = ("data", "tokenization", "training", "rl", "evaluation")


def sources():
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.proto"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / line for line in listed.stdout.splitlines() if "_pb2" not in line and (ROOT / line).exists()]


def test_imports_keep_to_the_floors():
    places = [*ROOT.glob("services/*/src"), *ROOT.glob("libs/*/src"), ROOT / "libs/marin"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def test_there_are_eight_services():
    assert sorted(("catalog", "workflow", "inference", *STAGES)) == SERVICES


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_laid_out_like_the_others(name):
    root, package = ROOT / "services" / name, ROOT / "services" / name / "src" / f"marin_{name}"
    for path in ("README.md", "pyproject.toml", "requirements.in", "requirements.lock", "tests"):
        assert (root / path).exists(), path
    for module in ("__init__.py", "__main__.py", "setup.py", "servicer.py", "core/__init__.py"):
        assert (package / module).exists(), module
    if name in STAGES:
        assert (package / "engine.py").exists()
    assert len((package / "__main__.py").read_text().splitlines()) <= 50


def test_files_are_small():
    lengths = [len(p.read_text().splitlines()) for p in sources()]
    assert max(lengths) <= 800
    assert statistics.median(lengths) <= 200


@pytest.mark.parametrize("lock", sorted(ROOT.rglob("requirements.lock")), ids=lambda p: str(p.parent.relative_to(ROOT)))
def test_locks_are_hashed_and_name_no_registry(lock):
    if ".envs" in lock.parts:
        return
    text = lock.read_text()
    pins = [line for line in text.splitlines() if line[:1].isalnum()]
    assert pins and "://" not in text
    assert text.count("--hash=sha256:") >= len(pins)


def test_torch_is_one_version_everywhere():
    pins = {
        line.split()[0]
        for lock in ROOT.glob("services/*/requirements.lock")
        for line in lock.read_text().splitlines()
        if line.startswith("torch==")
    }
    assert len(pins) == 1
