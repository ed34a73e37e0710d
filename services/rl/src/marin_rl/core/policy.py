"""The policy that is trained: a causal language model in torch, its log-probabilities, and its weights by name."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from skyrl.backends.skyrl_train.utils.torch_utils import logprobs_from_logits
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from marin_chassis.engine import EngineError, write_json

WEIGHTS = "model.safetensors"
_NOT_COPIED = {"config.json", "model.safetensors.index.json"}


def load_model(directory: Path, device: torch.device, trainable: bool) -> PreTrainedModel:
    """The export below ``directory`` in float32. Raises :class:`EngineError` if it is incomplete."""
    if not (directory / "config.json").is_file():
        raise EngineError(
            "the policy artifact has no hf/config.json",
            hint="connect a checkpoint with an hf/ export (checkpoint.pretrain, checkpoint.sft or policy)",
            reason="NO_HF_EXPORT",
            code="FAILED_PRECONDITION",
        )
    model, info = AutoModelForCausalLM.from_pretrained(
        directory, dtype=torch.float32, attn_implementation="sdpa", local_files_only=True, output_loading_info=True
    )
    if info["missing_keys"] or info["mismatched_keys"]:
        wrong = sorted(map(str, [*info["missing_keys"], *info["mismatched_keys"]]))
        raise EngineError(
            f"the policy export lacks or misshapes {len(wrong)} tensors, first {wrong[0]}",
            hint="rebuild the checkpoint: weights that are not there would be filled in at random",
            reason="BAD_HF_EXPORT",
            code="FAILED_PRECONDITION",
        )
    return model.to(device).eval().requires_grad_(trainable)  # eval: dropout would break the match with the engine


def load_tokenizer(directory: Path, vocab_size: int) -> Any:
    """The tokenizer of the export; raises :class:`EngineError` if it has ids that the model does not have."""
    tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
    if len(tokenizer) > vocab_size:
        raise EngineError(
            f"the policy's tokenizer has {len(tokenizer)} ids and its model only {vocab_size}",
            hint="export the checkpoint with the tokenizer that it was trained with",
            reason="VOCAB_MISMATCH",
            code="FAILED_PRECONDITION",
        )
    return tokenizer


def response_logprobs(
    model: PreTrainedModel, prompt: tuple[int, ...], responses: list[tuple[int, ...]], temperature: float
) -> torch.Tensor:
    """Log-probability of each response token in nats, shape [len(responses), longest response], float32.

    All responses follow one prompt, so right padding needs no attention mask: a causal model never looks at what comes
    later. Places after the end of a response hold the log-probability of padding and must be masked.
    """
    width = max(map(len, responses))
    rows = [prompt + r + (0,) * (width - len(r)) for r in responses]
    ids = torch.tensor(rows, device=model.device)
    logits = model(input_ids=ids, use_cache=False, logits_to_keep=width + 1).logits[:, :-1].float()
    return logprobs_from_logits(logits / temperature, ids[:, len(prompt) :])


@torch.no_grad()
def sequence_logprobs(model: PreTrainedModel, ids: tuple[int, ...]) -> tuple[float, ...]:
    """Log-probability of each token but the first given those before it, at temperature 1."""
    return tuple(response_logprobs(model, ids[:1], [ids[1:]], 1.0)[0].tolist())


def weights(model: PreTrainedModel) -> dict[str, torch.Tensor]:
    """Tensors as an export holds them, by name: contiguous, on the CPU, tied ones once."""
    seen: dict[int, str] = {}
    tensors = {}
    for name, parameter in model.state_dict().items():
        if seen.setdefault(parameter.data_ptr(), name) == name:
            tensors[name] = parameter.detach().cpu().contiguous()
    return dict(sorted(tensors.items()))


def weights_digest(tensors: dict[str, torch.Tensor]) -> str:
    """sha256 over names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.numpy().data)
    return digest.hexdigest()


def save_export(model: PreTrainedModel, source: Path, target: Path) -> None:
    """Writes weights in float32 beside the config, tokenizer, chat template and generation config of ``source``.

    The files of ``source`` are copied as they are, so the export's bytes depend on nothing but weights and input.
    """
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.iterdir()):
        if file.is_file() and file.name not in _NOT_COPIED and file.suffix not in (".safetensors", ".bin"):
            shutil.copyfile(file, target / file.name)
    config = json.loads((source / "config.json").read_text())
    config.pop("_name_or_path", None)
    config.pop("torch_dtype", None)
    write_json(target / "config.json", config | {"dtype": "float32"})
    save_file(weights(model), target / WEIGHTS, metadata={"format": "pt"})
    (target / WEIGHTS).chmod(0o644)  # safetensors makes it readable for the owner alone, and other services read it


def load_weights(model: PreTrainedModel, file: Path) -> None:
    """Puts the tensors of a file written by :func:`save_export` back into ``model``."""
    tensors = load_file(file)
    with torch.no_grad():
        state = model.state_dict()
        for name, tensor in tensors.items():
            state[name].copy_(tensor)
