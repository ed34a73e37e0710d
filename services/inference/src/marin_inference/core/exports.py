"""Hugging Face exports: what a directory must hold to be served, and when two can follow each other in one engine."""

import hashlib
import json
import math
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from marin_chassis.engine import EngineError
from marin_inference.core.weights import Tensor, scan, shapes

# Says where a config came from or how it was stored, not what is computed.
_VOLATILE = {
    "_name_or_path",
    "name_or_path",
    "transformers_version",
    "torch_dtype",
    "dtype",
    "use_cache",
    "_commit_hash",
}
_TEXT_FILES = (
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
)


@dataclass(frozen=True)
class Options:
    """How an engine is set up; 0 and "" are replaced by the server's defaults before it gets here."""

    max_model_len: int
    dtype: str
    kv_cache_bytes: int
    seed: int


@dataclass(frozen=True)
class Export:
    """A complete export. Of two with an equal ``shape``, one engine can serve either by reading weights alone."""

    directory: Path
    vocab_size: int
    max_positions: int
    tensors: dict[str, Tensor]
    shape: str

    @property
    def parameters(self) -> int:
        return sum(math.prod(t.shape) for t in self.tensors.values())


def local_path(uri: str) -> Path:
    """The directory behind a plain path or a file:// URL. Raises EngineError for other schemes and relative paths."""
    parts = urlsplit(uri)
    path = Path(unquote(parts.path) if parts.scheme == "file" else uri)
    if parts.scheme not in ("", "file") or not path.is_absolute():
        raise EngineError(
            f"'{uri}' is no absolute path of a directory on the server",
            hint="give an absolute path or a file:// URL that the inference server can read",
            reason="BAD_URI",
        )
    return path


def read_export(uri: str) -> Export:
    """Reads and checks an export. Raises EngineError saying which file is missing or wrong."""
    directory = local_path(uri)
    tensors = shapes(scan(directory))
    config = _json(directory / "config.json", "export the model with its config.json")
    if not config.get("architectures"):
        raise EngineError(
            f"{directory / 'config.json'} names no architecture",
            hint='set "architectures", for example ["Qwen3ForCausalLM"]',
            reason="NO_ARCHITECTURE",
        )
    vocab_size, positions = config.get("vocab_size"), config.get("max_position_embeddings")
    if not isinstance(vocab_size, int) or not isinstance(positions, int):
        raise EngineError(
            f"{directory / 'config.json'} lacks vocab_size or max_position_embeddings",
            hint="export a text model with transformers' or Levanter's own writer",
            reason="BAD_CONFIG",
        )
    tokenizer = _json(directory / "tokenizer.json", "copy the tokenizer's files into the export")
    top = max([*tokenizer["model"]["vocab"].values(), *(t["id"] for t in tokenizer.get("added_tokens", ()))], default=0)
    if top >= vocab_size:
        raise EngineError(
            f"the tokenizer in {directory} has token id {top}, and the model knows {vocab_size} ids",
            hint="export the model together with the tokenizer that it was trained with",
            reason="VOCAB_MISMATCH",
        )
    return Export(directory, vocab_size, positions, tensors, _shape(directory, config, tensors))


def _json(path: Path, hint: str) -> dict[str, Any]:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as e:
        raise EngineError(f"{path} cannot be read: {e}", hint=hint, reason="INCOMPLETE_EXPORT") from e


def _shape(directory: Path, config: dict[str, Any], tensors: dict[str, Tensor]) -> str:
    facts: list[Any] = [_stable(config), {n: [t.dtype, t.shape] for n, t in sorted(tensors.items())}]
    for name in _TEXT_FILES:
        file = directory / name
        if file.suffix == ".json":
            facts.append(_stable(json.loads(file.read_text())) if file.exists() else None)
        else:
            facts.append(file.read_text() if file.exists() else None)
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _stable(config: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in config.items() if k not in _VOLATILE}


def assemble(directory: Path, export: Path, weights: Path) -> Path:
    """Makes ``directory`` a complete export: small files copied from ``export``, weights linked from ``weights``."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for file in export.iterdir():
        if file.is_file() and ".safetensors" not in file.name and file.stat().st_size < 1 << 28:
            shutil.copy(file, directory / file.name)
    for file in weights.glob("*.safetensors*"):
        (directory / file.name).symlink_to(file.resolve())
    return directory


def copy_weights(source: Path, target: Path) -> None:
    """Copies safetensors files and their index, so that what was checked is what is loaded, now and after a restart."""
    target.mkdir(parents=True)
    for file in source.glob("*.safetensors*"):
        shutil.copy(file, target / file.name)
