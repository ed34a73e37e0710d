"""Small inputs for training, and jobs run as the worker runs them: an engine process in an attempt directory."""

import gzip
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from google.protobuf.message import Message
from levanter.store.cache import CacheMetadata, SerialCacheWriter, consolidate_shard_cache_ledgers
from marin.training.v1 import training_pb2 as pb
from marin_artifacts.identity import spec_dict
from marin_chassis.engine import Job
from marin_training.core.inputs import _fingerprint
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

WORDS = [
    "river",
    "stone",
    "lantern",
    "harbour",
    "winter",
    "orchard",
    "meadow",
    "thunder",
    "candle",
    "mirror",
    "copper",
    "silver",
]
SPECIAL = ["<|endoftext|>", "<|pad|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' }}"
    "{% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] + '<|im_end|>' }}{% endgeneration %}"
    "{% else %}{{ m['content'] + '<|im_end|>' }}{% endif %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
VOCAB, STEPS = 300, 100
HANG_SECONDS = 300


def write_tokens(root: Path) -> Path:
    """An artifact of kind tokens, as the tokenization service lays it out."""
    rng = random.Random(0)
    texts = [" ".join(rng.choices(WORDS, k=120)) for _ in range(60)]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        texts,
        trainers.BpeTrainer(vocab_size=VOCAB, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False),
    )
    hf = PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token=SPECIAL[0], pad_token=SPECIAL[1])
    hf.chat_template = TEMPLATE
    hf.save_pretrained(root / "tokenizer")
    cache, exemplar = root / "cache" / "train", {"input_ids": np.zeros((0,), np.int32)}
    metadata = CacheMetadata({"tokenizer": _fingerprint(root / "tokenizer"), "vocab_size": VOCAB})
    with SerialCacheWriter(str(cache / "part-0"), exemplar, metadata=metadata, shard_name="part-0") as writer:
        writer.write_batch([{"input_ids": np.asarray([*bpe.encode(t).ids, 0], np.int32)} for t in texts])
    consolidate_shard_cache_ledgers([str(cache / "part-0")], str(cache), exemplar, metadata)
    return root


def write_conversations(root: Path, rows: list) -> Path:
    (root / "conversations").mkdir(parents=True)
    with gzip.open(root / "conversations" / "part-00000-of-00001.jsonl.gz", "wt", encoding="utf-8") as f:
        f.writelines(json.dumps(row) + "\n" for row in rows)
    return root


def chat(question: str, answer: str) -> dict:
    turns = [("system", "Be brief."), ("user", question), ("assistant", answer)]
    return {"id": question, "messages": [{"role": r, "content": c} for r, c in turns]}


CHATS = [chat(f"after {a}?", f"{b} and {a}") for a in WORDS for b in WORDS if a != b]


def pretrain_spec(**changes) -> pb.PretrainSpec:
    model = pb.ModelConfig(
        family=pb.MODEL_FAMILY_QWEN3,
        max_seq_len=64,
        hidden_dim=32,
        intermediate_dim=64,
        num_layers=2,
        num_heads=2,
        num_kv_heads=1,
        head_dim=16,
        tie_word_embeddings=True,
    )
    optimizer = pb.OptimizerConfig(learning_rate=1e-2, weight_decay=0.1, warmup=0.1, min_lr_ratio=0.1, max_grad_norm=1)
    spec = pb.PretrainSpec(
        model=model,
        optimizer=optimizer,
        num_train_steps=STEPS,
        train_batch_size=4,
        seq_len=64,
        z_loss_weight=1e-4,
        seed=7,
        checkpoint_every_steps=25,
    )
    spec.MergeFrom(pb.PretrainSpec(**changes))
    return spec


def sft_spec(**changes) -> pb.SftSpec:
    spec = pb.SftSpec(
        optimizer=pb.OptimizerConfig(learning_rate=5e-3, warmup=0.1, beta2=0.98, max_grad_norm=1),
        num_train_steps=40,
        train_batch_size=4,
        seq_len=64,
        generation_eos_tokens=["<|endoftext|>", "<|im_end|>"],
    )
    spec.MergeFrom(pb.SftSpec(**changes))
    return spec


def make_job(root: Path, kind: str, spec: Message, inputs: dict[str, Path], scratch: Path | None = None) -> Job:
    root.mkdir(parents=True)
    refs = {
        role: {"path": str(path), "address": f"{role}@v1", "kind": role, "content_digest": "sha256:0"}
        for role, path in inputs.items()
    }
    job = {"kind": kind, "spec": spec_dict(spec), "inputs": refs, "scratch": str(scratch or root / "scratch")}
    (root / "job.json").write_text(json.dumps(job))
    return Job.load(root)


def spawn(job: Job) -> subprocess.Popen:
    with open(job.record / "log.txt", "w") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "marin_training.engine", str(job.out.parent)], stdout=log, stderr=log
        )


def signal_at_step(job: Job, process: subprocess.Popen, step: int, signal: int) -> int:
    """Sends ``signal`` once ``step`` steps are done, and returns how the process ended."""
    give_up = time.monotonic() + HANG_SECONDS
    while len(steps(job)) == 0 or steps(job)[-1] < step:
        if process.poll() is not None or time.monotonic() > give_up:
            process.kill()
            raise AssertionError((job.record / "log.txt").read_text()[-3000:])
        time.sleep(0.01)
    process.send_signal(signal)
    return process.wait(HANG_SECONDS)


def steps(job: Job) -> list[int]:
    """Steps (from 0) that this attempt has published."""
    path = job.record / "metrics.jsonl"
    return [json.loads(line)["step"] for line in path.read_text().splitlines()] if path.exists() else []


def tree(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}
