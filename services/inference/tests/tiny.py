"""A model small enough for tests: Qwen3 of 0.7 M parameters with tied embeddings, and its tokenizer."""

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

VOCAB = 512
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LINES = [
    f"{i} apples and {j} pears make {i + j} fruits; the quick fox counts them." for i in range(40) for j in range(10)
]


def make_tokenizer(path: Path) -> None:
    """Trains a byte-level BPE on a few sentences and writes it with a ChatML template."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|pad|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(LINES, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>", pad_token="<|pad|>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(path)


def make_model(seed: int, **overrides: int) -> Qwen3ForCausalLM:
    """Random weights, wide enough that distributions are far from uniform and differ between seeds."""
    sizes = dict(
        vocab_size=VOCAB, hidden_size=128, intermediate_size=256, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, head_dim=32, max_position_embeddings=512, tie_word_embeddings=True, eos_token_id=0,
        bos_token_id=0, initializer_range=0.08,
    )  # fmt: skip
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(Qwen3Config(**{**sizes, **overrides})).to(torch.float32).eval()


def export(path: Path, seed: int, **overrides: int) -> Path:
    """Writes a complete Hugging Face export: config, safetensors, tokenizer, generation config."""
    model = make_model(seed, **overrides)
    model.save_pretrained(path)
    make_tokenizer(path)
    (path / "generation_config.json").write_text(json.dumps({"eos_token_id": 0, "pad_token_id": 1}))
    return path


@torch.no_grad()
def log_probs(model: Qwen3ForCausalLM, token_ids: list[int]) -> list[float]:
    """Log-probability of each token given those before it, by transformers; one fewer than token_ids."""
    logits = model(torch.tensor([token_ids])).logits[0].float()
    scores = torch.log_softmax(logits[:-1], dim=-1)
    return scores.gather(1, torch.tensor(token_ids[1:])[:, None])[:, 0].tolist()
