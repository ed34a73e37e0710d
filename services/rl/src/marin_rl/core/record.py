"""What a job leaves behind about its rollouts and steps: rollouts.parquet and training.json."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from marin_chassis.engine import write_json
from marin_rl.core.batch import Batch

SCHEMA = pa.schema(
    [
        pa.field("step", pa.int32()),
        pa.field("prompt_index", pa.int32()),  # row in train.parquet
        pa.field("group", pa.int32()),  # place of the prompt in the step
        pa.field("sample_index", pa.int32()),
        pa.field("prompt_ids", pa.list_(pa.int32())),
        pa.field("response_ids", pa.list_(pa.int32())),
        pa.field("logprobs", pa.list_(pa.float32())),  # the engine's
        pa.field("trainer_logprobs", pa.list_(pa.float32())),  # the trainer's, before the update of this step
        pa.field("reward", pa.float64()),
        pa.field("advantage", pa.float32()),  # mean over the response; equal on all tokens but for reinforce++
        pa.field("in_loss", pa.bool_()),
        pa.field("policy_version_min", pa.int32()),
        pa.field("policy_version_max", pa.int32()),
        pa.field("finish_reason", pa.string()),
        pa.field("text", pa.string()),
    ]
)


def rollout_rows(
    step: int, batch: Batch, advantages: torch.Tensor, trainer_logprobs: torch.Tensor
) -> list[dict[str, Any]]:
    """One row for each sample of a step, in order of (group, sample)."""
    rows = []
    means = (advantages.sum(1) / batch.response_mask.sum(1)).tolist()
    in_loss = batch.loss_mask.any(dim=1).tolist()
    trainer = trainer_logprobs.cpu().tolist()
    for g, group in enumerate(batch.groups):
        for i, sample in enumerate(group.samples):
            row = g * batch.rows_per_group + i
            rows.append(
                {
                    "step": step,
                    "prompt_index": group.problem.index,
                    "group": g,
                    "sample_index": i,
                    "prompt_ids": list(group.problem.prompt_ids),
                    "response_ids": list(sample.response_ids),
                    "logprobs": list(sample.logprobs),
                    "trainer_logprobs": trainer[row][: len(sample.response_ids)],
                    "reward": group.rewards[i],
                    "advantage": means[row],
                    "in_loss": in_loss[row],
                    "policy_version_min": min(v for v, _, _ in sample.versions),
                    "policy_version_max": max(v for v, _, _ in sample.versions),
                    "finish_reason": sample.finish_reason,
                    "text": group.texts[i],
                }
            )
    return rows


@dataclass(frozen=True)
class StepLog:
    """One file pair for each finished step below a scratch directory, so that a resumed job keeps what it had."""

    root: Path

    def write(self, step: int, rows: list[dict[str, Any]], facts: dict[str, Any]) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        part = self.root / "part"
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), part, compression="zstd")
        os.replace(part, self._file(step, "parquet"))
        write_json(self._file(step, "json"), facts)

    def facts(self, steps: int) -> list[dict[str, Any]]:
        return [json.loads(self._file(s, "json").read_text()) for s in range(1, steps + 1)]

    def merge_rollouts(self, steps: int, target: Path) -> None:
        """Writes the rows of steps 1..``steps`` as one file, one row group a step."""
        with pq.ParquetWriter(target, SCHEMA, compression="zstd") as writer:
            for step in range(1, steps + 1):
                writer.write_table(pq.read_table(self._file(step, "parquet"), schema=SCHEMA))

    def _file(self, step: int, suffix: str) -> Path:
        return self.root / f"{step:06d}.{suffix}"
