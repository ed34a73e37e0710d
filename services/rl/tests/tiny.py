"""A tiny policy, its problems and its job directory, made on the spot."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

VOCAB = 512
SPECIAL = ["<|endoftext|>", "<|pad|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
WORDS = "Tom has four apples and buys seven more how many does he have now The answer is #### 11"


def make_policy(directory: Path, seed: int = 0, template: str | None = TEMPLATE) -> Path:
    """A random Qwen3 of 0.9 M parameters with a byte-level tokenizer and a chat template, as an hf/ export."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([WORDS], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=SPECIAL[0], pad_token=SPECIAL[1])
    if template:
        fast.chat_template = template
    fast.save_pretrained(directory)
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=VOCAB,
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=256,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=[0, 3],
        pad_token_id=1,
    )
    model = Qwen3ForCausalLM(config)
    model.generation_config.eos_token_id = [0, 3]
    model.save_pretrained(directory)
    return directory


def make_problems(directory: Path, env_class: str, count: int = 4, truths: list[Any] | None = None) -> Path:
    rows = [
        {
            "data_source": "made-here",
            "prompt": [{"role": "user", "content": f"Tom has {i} apples and buys {i + 3} more. How many?"}],
            "env_class": env_class,
            "reward_spec": {"method": "rule", "ground_truth": truths[i] if truths else str(2 * i + 3)},
            "extra_info": {"split": "train", "index": i},
        }
        for i in range(count)
    ]
    directory.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), directory / "train.parquet")
    return directory


def make_job(
    root: Path, policy: Path, problems: Path, spec: dict[str, Any], endpoint: str = "", scratch: Path | None = None
) -> Path:
    """An attempt directory as the worker writes it. ``policy`` and ``problems`` are out/ directories."""
    root.mkdir(parents=True)
    inputs = {
        role: {"path": str(path), "address": f"{role}@v1", "kind": kind, "content_digest": role}
        for role, path, kind in (("policy", policy, "checkpoint.sft"), ("problems", problems, "problems"))
    }
    job = {
        "kind": "policy",
        "spec": spec,
        "inputs": inputs,
        "build_id": "b1",
        "build_key": "k1",
        "endpoints": {"inference": endpoint} if endpoint else {},
        "scratch": str(scratch or root / "scratch"),
    }
    (root / "job.json").write_text(json.dumps(job))
    return root


def toy_spec(**changes: Any) -> dict[str, Any]:
    """The toy task of the whole-loop test: a quarter of the vocabulary is rewarded."""
    return {
        "env_class": "token_share",
        "token_share": {"target_token_ids": list(range(256, 256 + VOCAB // 4))},
        "steps": 40,
        "prompts_per_step": 4,
        "samples_per_prompt": 16,
        "max_prompt_tokens": 128,
        "max_new_tokens": 16,
        "temperature": 1.0,
        "learning_rate": 2e-3,
        "use_kl_loss": True,
        "kl_loss_coef": 1e-3,
        "checkpoint_every_steps": 10,
        "seed": 17,
    } | changes
