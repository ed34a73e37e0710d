"""The real command line on a workspace, for whole-system tests."""

import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Marin:
    """``./tools/marin`` on one workspace."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def __call__(self, *args: str, timeout: float = 900, **env: str) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end and returns it, whatever its exit code."""
        return subprocess.run(
            [str(ROOT / "tools/marin"), *args],
            cwd=ROOT,
            env={**os.environ, "MARIN_WORKSPACE": str(self.workspace), **env},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Starts a command; its output goes to ``<workspace>/../cli.log``."""
        log = open(self.workspace.parent / "cli.log", "a")  # noqa: SIM115 - belongs to the child
        env = {**os.environ, "MARIN_WORKSPACE": str(self.workspace)}
        return subprocess.Popen(
            [str(ROOT / "tools/marin"), *args], cwd=ROOT, env=env, stdout=log, stderr=log, text=True
        )

    def json(self, *args: str) -> object:
        """The JSON that a command prints; it must succeed."""
        done = self(*args, "--output", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def artifacts(self) -> dict[str, dict]:
        """Committed artifacts by address."""
        return {a["address"]: a for a in self.json("artifacts", "list")}
