"""The task sets that come with the service."""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from marin_evaluation.core.harnesses import HARBOR, LM_EVAL, Harness

_ROOT = Path(__file__).resolve().parents[1] / "tasks"


@dataclass(frozen=True)
class TaskSet:
    """``primary`` is the (metric, filter) that stands for the set in headlines. ``binary`` scores are 0 or 1."""

    name: str
    harness: Harness
    folder: str
    primary: tuple[str, str]
    max_fewshot: int
    binary: bool = True

    @property
    def path(self) -> Path:
        return _ROOT / self.folder

    @property
    def size(self) -> int:
        """How many samples there are."""
        if self.harness is HARBOR:
            return len(list(self.path.glob("*/task.toml")))
        return len((self.path / "test.jsonl").read_text().splitlines())

    @property
    def digest(self) -> str:
        """Identity of questions, prompts and graders: sha256 over names and contents of all files."""
        return _digest(self.path)


@cache
def _digest(root: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        total.update(f"{path.relative_to(root).as_posix()}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


TASK_SETS = {
    t.name: t
    for t in (
        TaskSet("gsm8k-smoke", LM_EVAL, "gsm8k_smoke", ("exact_match", "flexible-extract"), max_fewshot=8),
        TaskSet("aime-smoke", HARBOR, "aime_smoke", ("reward", "none"), max_fewshot=0),
    )
}
