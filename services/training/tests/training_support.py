"""Small inputs for training, and jobs run as the worker runs them: an engine process in an attempt directory."""

import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, SIGTERM

import numpy as np
from google.protobuf.message import Message
from levanter.store.cache import CacheMetadata, SerialCacheWriter, consolidate_shard_cache_ledgers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from marin.training.v1 import training_pb2 as pb
from marin_artifacts.identity import spec_dict
from marin_chassis.engine import Job, main as engine_main
from marin_training import engine
from marin_training.core.inputs import _fingerprint

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
VOCAB, PADDED, STEPS = 300, 384, 100
HANG_SECONDS = 300
ENVS = Path(os.environ.get("MARIN_ENVS_DIR") or Path(__file__).parents[3] / ".envs")


@dataclass(frozen=True)
class Disturbed:
    """One pretraining job in three attempts: ended by SIGTERM, by SIGKILL, and finished."""

    attempts: tuple[Job, Job, Job]
    codes: tuple[int, int, int]
    checkpoints_after_term: list[str]


@dataclass(frozen=True)
class Padded:
    """A model with more ids than its tokenizer, and a fine-tuning that starts from such a checkpoint.

    ``seen`` is what transformers says about ``tuned``.
    """

    pretrained: Job
    bare: Path
    tuned: Job
    seen: dict


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


def start(job: Job, fresh: bool = False) -> int:
    """Starts the engine on a job and returns its process id.

    A fresh process loads Levanter anew, as under a worker. The others are forks of this one, which has loaded it and
    has started no thread yet: the same code, ten seconds sooner.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # allocators run native threads from their import on
        pid = os.fork()
    if pid:
        return pid
    log = os.open(job.record / "log.txt", os.O_CREAT | os.O_WRONLY)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.argv = ["marin_training.engine", str(job.out.parent)]
    if fresh:
        os.execv(sys.executable, [sys.executable, "-m", *sys.argv])
    engine_main(engine.run)
    raise AssertionError("the engine ends its process")


def wait(job: Job, pid: int) -> int:
    """How the process ended: its exit status, or minus the signal."""
    give_up = time.monotonic() + HANG_SECONDS
    while time.monotonic() < give_up:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(pid, SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError((job.record / "log.txt").read_text()[-3000:])


def finished(job: Job) -> Job:
    """Runs a job in a process of its own to its end."""
    assert wait(job, start(job)) == 0, (job.record / "log.txt").read_text()[-3000:]
    return job


def signalled(job: Job, pid: int, step: int, signal: int) -> int:
    """Sends ``signal`` once ``step`` steps are done, and returns how the process ended."""
    give_up = time.monotonic() + HANG_SECONDS
    while not steps(job) or steps(job)[-1] < step:
        assert time.monotonic() < give_up and not os.waitpid(pid, os.WNOHANG)[0], (job.record / "log.txt").read_text()
        time.sleep(0.01)
    os.kill(pid, signal)
    return wait(job, pid)


def steps(job: Job) -> list[int]:
    """Steps (from 0) that this attempt has published."""
    path = job.record / "metrics.jsonl"
    return [json.loads(line)["step"] for line in path.read_text().splitlines()] if path.exists() else []


def tree(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def run_disturbed(root: Path, spec: pb.PretrainSpec, inputs: dict[str, Path]) -> Disturbed:
    first, second, third = (
        make_job(root / f"attempt-{n}", "checkpoint.pretrain", spec, inputs, root / "scratch") for n in (1, 2, 3)
    )
    termed = signalled(first, start(first, fresh=True), 10, SIGTERM)
    saved = sorted(p.parent.name for p in (root / "scratch" / "checkpoints").glob("step-*/metadata.json"))
    killed = signalled(second, start(second), 80, SIGKILL)
    return Disturbed((first, second, finished(third)), (termed, killed, 0), saved)


def run_tuned(root: Path, spec: pb.PretrainSpec, tokens: dict[str, Path], conversations: Path) -> tuple[Job, Job]:
    """Pretraining and a fine-tuning of its result."""
    plain = finished(make_job(root / "plain", "checkpoint.pretrain", spec, tokens))
    inputs = {"init": plain.out, "conversations": conversations}
    return plain, finished(make_job(root / "tuned", "checkpoint.sft", sft_spec(), inputs))


def run_padded(root: Path, tokens: Path, conversations: Path) -> Padded:
    spec = padded_spec(num_train_steps=2)
    pretrained = finished(make_job(root / "padded", "checkpoint.pretrain", spec, {"tokens": tokens}))
    bare = write_bare(root / "bare", pretrained, tokens)
    tuning = sft_spec(num_train_steps=2, pad_tokenizer_to_match_model=True)
    inputs = {"init": bare, "conversations": conversations}
    tuned = finished(make_job(root / "tuned-padded", "checkpoint.sft", tuning, inputs))
    script = Path(__file__).with_name("seen_by_transformers.py")
    python = ENVS / "inference" / "bin" / "python"
    seen = subprocess.run([python, script, tuned.out / "hf"], capture_output=True, text=True, timeout=HANG_SECONDS)
    assert seen.returncode == 0, seen.stderr[-3000:]
    return Padded(pretrained, bare, tuned, json.loads(seen.stdout))


def padded_spec(**changes) -> pb.PretrainSpec:
    model = pb.ModelConfig(vocab_size=PADDED)
    return pretrain_spec(model=model, pad_tokenizer_to_match_model=True, **changes)


def write_bare(root: Path, padded: Job, tokens: Path) -> Path:
    """The checkpoint with the tokenizer that it was padded from, as models lie on hubs."""
    shutil.copytree(padded.out / "hf", root / "hf")
    for file in (tokens / "tokenizer").iterdir():
        shutil.copyfile(file, root / "hf" / file.name)
    return root


def stock_tokenizer(root: Path) -> Path:
    """A tokenizer of Qwen3's shape: 151,643 entries, 26 added tokens after them, and a config that lists those."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: i for i, token in enumerate([*alphabet, *(f"Ġ{i}" for i in range(151_643 - 256))])}
    names = [
        "<|endoftext|>",
        "<|im_start|>",
        "<|im_end|>",
        *(f"<|extra_{i}|>" for i in range(21)),
        "<think>",
        "</think>",
    ]
    bpe = Tokenizer(models.BPE(vocab, []))
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    bpe.add_special_tokens(names)
    root.mkdir(parents=True)
    bpe.save(str(root / "tokenizer.json"))
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    config = {
        "added_tokens_decoder": {str(151_643 + i): {"content": name, **flags} for i, name in enumerate(names)},
        "eos_token": "<|endoftext|>",
        "pad_token": "<|endoftext|>",
        "tokenizer_class": "Qwen2Tokenizer",
    }
    (root / "tokenizer_config.json").write_text(json.dumps(config))
    return root
