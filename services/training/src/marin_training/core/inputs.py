"""Looks at the inputs before anything heavy is loaded: do tokens, tokenizer and model fit together?"""

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from marin_chassis.engine import EngineError, Job
from marin_training.core.spec import token_sources

_TOKENIZER_FILES = ("tokenizer*", "special_tokens*", "added_tokens*", "vocab*", "merges*", "chat_template*")
_FAMILIES = {"qwen3": "MODEL_FAMILY_QWEN3", "llama": "MODEL_FAMILY_LLAMA"}


@dataclass(frozen=True)
class TokenSource:
    """One token cache of the mixture."""

    name: str
    cache: Path
    weight: float
    tokens: int


@dataclass(frozen=True)
class InitCheckpoint:
    """A Hugging Face checkpoint to start from."""

    path: Path
    family: str
    max_seq_len: int
    vocab_size: int


def token_inputs(job: Job) -> tuple[list[TokenSource], Path]:
    """The mixture and its one tokenizer. Raises :class:`EngineError` if the caches disagree about what an id means."""
    sources, fingerprints, tokenizer = [], {}, None
    for name, (role, weight) in token_sources(job.inputs, job.spec["mixture_weights"]).items():
        artifact = job.input(role)
        ledger_path = artifact.path / "cache" / "train" / "shard_ledger.json"
        tokenizer = artifact.path / "tokenizer"
        if not ledger_path.is_file() or not (tokenizer / "tokenizer.json").is_file():
            raise EngineError(
                f"{artifact.address} (role '{role}') holds no token cache: {ledger_path} or its tokenizer is missing",
                hint="connect an artifact of kind tokens",
                reason="NO_TOKEN_CACHE",
                code="FAILED_PRECONDITION",
            )
        ledger = json.loads(ledger_path.read_text())
        fingerprints[artifact.address] = _fingerprint(tokenizer)
        written_with = ledger["metadata"]["preprocessor_metadata"]["tokenizer"]
        if written_with != fingerprints[artifact.address]:
            raise EngineError(
                f"the cache of {artifact.address} was written with tokenizer {written_with}, and beside it lies "
                f"{fingerprints[artifact.address]}",
                hint="tokenize the documents again",
                reason="TOKENIZER_MISMATCH",
                code="FAILED_PRECONDITION",
            )
        tokens = ledger["field_counts"]["input_ids"]
        if tokens < job.spec["seq_len"]:
            raise EngineError(
                f"{artifact.address} has {tokens} tokens, less than one sequence of {job.spec['seq_len']}",
                hint="give more documents or lower seq_len",
                reason="TOO_FEW_TOKENS",
            )
        sources.append(TokenSource(name, artifact.path / "cache" / "train", weight, tokens))
    if len(set(fingerprints.values())) > 1:
        listed = ", ".join(f"{address} {value}" for address, value in fingerprints.items())
        raise EngineError(
            f"the token caches were made with different tokenizers: {listed}",
            hint="tokenize all documents of a mixture with one tokenizer",
            reason="TOKENIZER_MISMATCH",
        )
    return sources, tokenizer


def init_checkpoint(job: Job) -> InitCheckpoint:
    """The checkpoint to fine-tune. Raises :class:`EngineError` if it cannot be, or not with this spec."""
    artifact = job.input("init")
    path = artifact.path / "hf"
    if not (path / "config.json").is_file() or not (path / "tokenizer.json").is_file():
        raise EngineError(
            f"{artifact.address} holds no hf/config.json with a tokenizer beside it",
            hint="the input with role 'init' must be a checkpoint: an artifact with a Hugging Face directory hf/",
            reason="NO_CHECKPOINT",
            code="FAILED_PRECONDITION",
        )
    config = json.loads((path / "config.json").read_text())
    if config["model_type"] not in _FAMILIES:
        raise EngineError(
            f"{artifact.address} is a '{config['model_type']}' model, and only {sorted(_FAMILIES)} can be fine-tuned",
            hint="start from a checkpoint of one of these families",
            reason="UNKNOWN_MODEL_FAMILY",
        )
    longest = config["max_position_embeddings"]
    if job.spec["seq_len"] > longest:
        raise EngineError(
            f"seq_len {job.spec['seq_len']} is longer than the {longest} tokens that {artifact.address} was built for",
            hint=f"lower seq_len to {longest} or less",
            reason="SEQUENCE_TOO_LONG",
        )
    return InitCheckpoint(path, _FAMILIES[config["model_type"]], longest, config["vocab_size"])


def stage_tokenizer(source: Path, target: Path, chat_template: str = "") -> Path:
    """Copies the tokenizer's files, with another chat template if one is given."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for pattern in _TOKENIZER_FILES:
        for file in source.glob(pattern):
            shutil.copyfile(file, target / file.name)
    if chat_template:
        (target / "chat_template.jinja").write_text(chat_template)
        config_path = target / "tokenizer_config.json"
        config: dict[str, Any] = json.loads(config_path.read_text())
        config.pop("chat_template", None)  # where older tokenizers keep it, and where it would win
        config_path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    return target


def token_ids(tokenizer: Path, names: list[str]) -> list[int]:
    """Ids of the tokens that end a generation. No names: the tokenizer's eos token."""
    config = json.loads((tokenizer / "tokenizer_config.json").read_text())
    eos = config.get("eos_token")
    names = names or [eos["content"] if isinstance(eos, dict) else eos]
    vocab = Tokenizer.from_file(str(tokenizer / "tokenizer.json"))
    ids = [vocab.token_to_id(name) if name else None for name in names]
    if None in ids:
        raise EngineError(
            f"generation_eos_tokens names {names[ids.index(None)]!r}, which is no entry of the tokenizer",
            hint="name tokens of the tokenizer, or none for its eos token",
            reason="UNKNOWN_TOKEN",
        )
    return ids


def _fingerprint(tokenizer: Path) -> str:
    return "sha256:" + hashlib.sha256((tokenizer / "tokenizer.json").read_bytes()).hexdigest()
