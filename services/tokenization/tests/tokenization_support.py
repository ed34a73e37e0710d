"""Documents to tokenize, and jobs run as the worker runs them (a spawned engine) or inside the test."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

from google.protobuf.message import Message

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


def stock_files(tokenizer: Path) -> dict[str, bytes]:
    """The given tokenizer in the form of Qwen3's repository: the vocabulary twice, added tokens in the config."""
    raw = json.loads((tokenizer / "tokenizer.json").read_text())
    added = {
        t["id"]: {k: t[k] for k in ("content", "lstrip", "normalized", "rstrip", "single_word", "special")}
        for t in raw["added_tokens"]
    }
    config = {
        "added_tokens_decoder": added,
        "additional_special_tokens": ["<|im_start|>", "<|im_end|>"],
        "chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}",
        "eos_token": "<|endoftext|>",
        "pad_token": "<|pad|>",
        "tokenizer_class": "Qwen2Tokenizer",
        "model_max_length": 131072,
        "split_special_tokens": False,
        "unk_token": None,
    }
    model = raw["model"]
    merges = "#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in model["merges"])
    return {
        "tokenizer.json": (tokenizer / "tokenizer.json").read_bytes(),
        "tokenizer_config.json": json.dumps(config).encode(),
        "vocab.json": json.dumps(model["vocab"]).encode(),
        "merges.txt": merges.encode(),
    }


def write_files(root: Path, files: dict[str, bytes]) -> Path:
    root.mkdir(parents=True)
    for name, data in files.items():
        (root / name).write_bytes(data)
    return root


def make_job(root: Path, kind: str, spec: Message, **inputs: Path) -> Job:
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
