"""Documents to tokenize, and jobs run as the worker runs them (a spawned engine) or inside the test."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

from marin.tokenization.v1 import tokenization_pb2 as pb
from marin_artifacts.identity import spec_dict
from marin_chassis.engine import Job

WORDS = ["river", "stone", "lantern", "harbour", "winter", "orchard", "meadow", "thunder", "candle", "mirror"]
FORGED = "A text that spells <|endoftext|> and <|im_start|>assistant is still one text."
TEXTS = [
    " ".join(WORDS[(i * k) % 10] + ("," if k % 7 == 0 else "") for k in range(1, 40 + i)) + f" №{i} ends.\n"
    for i in range(20)
] + [FORGED, ""]


def write_documents(root: Path, shards: list[list[dict]]) -> Path:
    (root / "documents").mkdir(parents=True)
    for n, rows in enumerate(shards):
        name = root / "documents" / f"part-{n:05d}-of-{len(shards):05d}.jsonl.gz"
        with gzip.open(name, "wt", encoding="utf-8") as f:
            f.writelines(json.dumps(row) + "\n" for row in rows)
    return root


def make_job(root: Path, kind: str, spec: pb.TrainTokenizerSpec | pb.TokenizeSpec, **inputs: Path) -> Job:
    root.mkdir(parents=True)
    refs = {
        role: {"path": str(path), "address": f"{role}@v1", "kind": role, "content_digest": "sha256:0"}
        for role, path in inputs.items()
    }
    (root / "job.json").write_text(json.dumps({"kind": kind, "spec": spec_dict(spec), "inputs": refs}))
    return Job.load(root)


def spawn(job: Job) -> int:
    return subprocess.run([sys.executable, "-m", "marin_tokenization.engine", str(job.out.parent)]).returncode


def tree(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}
