"""Turns what a finished run left in scratch into the artifact."""

import json
import shutil
import struct
from pathlib import Path
from typing import Any

from marin_chassis.engine import EngineError, Job, write_json
from marin_training.core.recorder import Recorder

_EMBEDDING = "model.embed_tokens.weight"
_DTYPES = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}


def finish(job: Job, recorder: Recorder, tokenizer: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Writes ``out/hf``, ``out/training.json`` and ``record/checkpoints``; returns the engine's result.

    ``facts`` joins ``training.json``: like everything there it must be the same in every run of the same build.
    """
    last = f"step-{job.spec['num_train_steps'] - 1}"
    job.progress("export")
    _copy_model(job.scratch / "export" / last, tokenizer, job.out / "hf")
    shutil.copytree(job.scratch / "checkpoints" / last, job.record / "checkpoints" / last)
    losses = recorder.losses()
    steps, batch, seq_len = job.spec["num_train_steps"], job.spec["train_batch_size"], job.spec["seq_len"]
    training = {
        "num_train_steps": steps,
        "train_batch_size": batch,
        "seq_len": seq_len,
        "tokens_seen": steps * batch * seq_len,
        "parameter_count": int(recorder.summary["parameter_count"]),
        "first_loss": losses[0],
        "last_loss": losses[-1],
        "losses": losses,
        **facts,
    }
    write_json(job.out / "training.json", training)
    job.log(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} in {steps} steps")
    return {
        "summary": {k: v for k, v in training.items() if k != "losses"},
        "headline": f"loss {losses[0]:.2f} -> {losses[-1]:.2f}",
    }


def _copy_model(source: Path, tokenizer: Path, target: Path) -> None:
    # The tokenizer comes from where the tokens came from, byte for byte: Levanter's export writes its own rendering.
    shutil.copytree(tokenizer, target)
    for pattern in ("generation_config.json", "*.safetensors", "*.safetensors.index.json"):
        for file in sorted(source.glob(pattern)):
            shutil.copyfile(file, target / file.name)
    config = json.loads((source / "config.json").read_text())
    embedding = _embedding(target)
    rows, dtype = embedding["shape"][0], _DTYPES[embedding["dtype"]]
    if not config.get("architectures") or config["vocab_size"] != rows:
        raise EngineError(
            f"the export is not loadable: architectures {config.get('architectures')}, vocab_size "
            f"{config['vocab_size']} with {rows} embedding rows",
            hint="this is a fault of the exporter; report it with the build id",
            reason="BAD_EXPORT",
            code="INTERNAL",
        )
    # A leftover of speech models; an engine that honours it could not end an answer at its first token.
    config.pop("begin_suppress_tokens", None)
    config["dtype"] = dtype
    write_json(target / "config.json", config)


def _embedding(model: Path) -> dict[str, Any]:
    """Shape and dtype of the embedding, from the headers of the safetensors files (8 bytes of length, then JSON)."""
    for file in sorted(model.glob("*.safetensors")):
        with open(file, "rb") as f:
            header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        if _EMBEDDING in header:
            return header[_EMBEDDING]
    raise EngineError(
        f"the export holds no tensor {_EMBEDDING}",
        hint="this is a fault of the exporter; report it with the build id",
        reason="BAD_EXPORT",
        code="INTERNAL",
    )
