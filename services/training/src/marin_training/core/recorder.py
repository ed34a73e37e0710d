"""What a run says about itself while it trains: live metrics, and the losses that end up in the artifact."""

import json
import os
from collections.abc import Mapping
from typing import Any

from marin_chassis.engine import EngineError, Job

# Levanter's metric name -> ours.
METRICS = {
    "train/loss": "loss",
    "optim/learning_rate": "learning_rate",
    "throughput/tokens_per_second": "tokens_per_second",
    "throughput/duration": "step_seconds",
    "throughput/mfu": "mfu",
}


class Recorder:
    """Collects the metrics of the step that is running and publishes each step once.

    Levanter reports a step in pieces and runs its hooks a second time after the last step, so a step is open from
    :meth:`begin` to :meth:`publish` and what comes outside is dropped.

    Losses also go to ``scratch/losses.jsonl``, each before the step's checkpoint is saved: whichever checkpoint an
    attempt resumes from, the losses of all steps before it are there. Steps done twice are written twice; the last
    counts.
    """

    def __init__(self, job: Job, total_steps: int) -> None:
        self.job, self.total_steps = job, total_steps
        self.summary: dict[str, Any] = {}
        self._path = job.scratch / "losses.jsonl"
        self._losses = self._load()
        self._step: dict[str, float] | None = None

    @property
    def steps_done(self) -> int:
        return max(self._losses, default=-1) + 1

    def begin(self) -> None:
        self._step = {}

    def log(self, metrics: Mapping[str, Any], step: int | None) -> None:
        if self._step is None or step is None:
            return
        for name, ours in METRICS.items():
            if name in metrics:
                self._step[ours] = float(metrics[name])
        if "train/loss" in metrics:
            self._keep_loss(step, self._step["loss"])

    def publish(self, step: int) -> None:
        """``step`` is the number, from 0, of the step that just ended."""
        if self._step is None:
            return
        with open(self.job.record / "metrics.jsonl", "a", encoding="utf-8") as f:
            f.write(json.dumps({"step": step, **self._step}) + "\n")
        self.job.progress("train", step + 1, self.total_steps, **self._step)
        self._step = None

    def losses(self) -> list[float]:
        """The loss of every step. Raises :class:`EngineError` if some are missing."""
        missing = [s for s in range(self.total_steps) if s not in self._losses]
        if missing:
            raise EngineError(
                f"all {self.total_steps} steps are done, but no loss is on record for {missing[0]} to {missing[-1]}",
                hint=f"remove {self.job.scratch} and start the job again: its record does not match its checkpoint",
                reason="LOSSES_MISSING",
                code="DATA_LOSS",
            )
        return [self._losses[s] for s in range(self.total_steps)]

    def _keep_loss(self, step: int, loss: float) -> None:
        self._losses[step] = loss
        with open(self._path, "a", encoding="utf-8") as f:
            f.write(json.dumps({"step": step, "loss": loss}) + "\n")
            f.flush()
            os.fsync(f.fileno())

    def _load(self) -> dict[int, float]:
        if not self._path.exists():
            return {}
        *lines, tail = self._path.read_text().split("\n")
        if tail:  # cut off by a kill; the step is not in any checkpoint, so it will be done again
            self._path.write_text("".join(line + "\n" for line in lines))
        return {row["step"]: row["loss"] for row in map(json.loads, lines)}
