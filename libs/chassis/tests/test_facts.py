"""What an attempt's record says about the process."""

import subprocess
from pathlib import Path

from marin_chassis import facts


def test_a_checkout_is_named_by_its_commit_and_its_dirt(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("MARIN_GIT_REVISION", raising=False)
    monkeypatch.setattr(facts, "__file__", str(tmp_path / "facts.py"))
    assert "git_revision" not in facts.process_facts()

    def git(*args: str) -> str:
        identity = ("-c", "user.name=n", "-c", "user.email=e@example.com")
        return subprocess.run(
            ["git", *identity, *args], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    git("init")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-m", "first")
    clean = facts.process_facts()
    assert (clean["git_revision"], clean["git_dirty"]) == (git("rev-parse", "HEAD").strip(), "false")
    (tmp_path / "a").write_text("2")
    assert facts.process_facts()["git_dirty"] == "true"


def test_an_image_says_what_it_was_built_from(monkeypatch) -> None:
    monkeypatch.setenv("MARIN_GIT_REVISION", "abc")
    told = facts.process_facts()
    assert told["git_revision"] == "abc" and "git_dirty" not in told and told["python"].startswith("3.12")
