"""Resumable state of a job in its scratch directory: weights, optimizer, and how far it got.

Nothing random is carried from step to step (prompt order, sampling seeds and torch's seed follow from (seed, step)), so
this is all that is needed to go on as if nothing had happened.
"""

import json
import os
import shutil
from pathlib import Path

import torch
from transformers import PreTrainedModel

from marin_chassis.engine import EngineError, write_json
from marin_rl.core.policy import load_weights, save_export

_STATE = "state.json"


class Checkpoints:
    """Keeps the newest checkpoint below ``root``. A directory appears under its name only when it is complete."""

    def __init__(self, root: Path, identity: str) -> None:
        """``identity`` says which job this is; a checkpoint of another job is refused."""
        self._root, self._identity = root, identity

    def save(self, step: int, model: PreTrainedModel, optimizer: torch.optim.Optimizer, source: Path) -> Path:
        """Writes the state after ``step``, then removes older ones."""
        target = self._root / f"step-{step:06d}"
        part = self._root / "part"
        shutil.rmtree(part, ignore_errors=True)
        save_export(model, source, part / "hf")
        torch.save(optimizer.state_dict(), part / "optimizer.pt")
        write_json(part / _STATE, {"step": step, "identity": self._identity})
        _sync(part)
        shutil.rmtree(target, ignore_errors=True)
        os.replace(part, target)
        for old in self._complete():
            if old != target:
                shutil.rmtree(old)
        return target

    def newest(self) -> Path | None:
        found = self._complete()
        return found[-1] if found else None

    def restore(self, path: Path, model: PreTrainedModel, optimizer: torch.optim.Optimizer) -> int:
        """Puts the state back; returns its step."""
        state = json.loads((path / _STATE).read_text())
        if state["identity"] != self._identity:
            raise EngineError(
                f"the scratch directory holds a checkpoint of another job (step {state['step']})",
                hint="give each build a scratch directory of its own, or empty this one",
                reason="FOREIGN_CHECKPOINT",
                code="FAILED_PRECONDITION",
            )
        load_weights(model, path / "hf" / "model.safetensors")
        optimizer.load_state_dict(torch.load(path / "optimizer.pt", weights_only=True))
        return state["step"]

    def _complete(self) -> list[Path]:
        return sorted(self._root.glob("step-*"))


def _sync(directory: Path) -> None:
    for path in directory.rglob("*"):
        if path.is_file():
            with open(path, "rb") as f:
                os.fsync(f.fileno())
