"""Specs with their defaults filled in, and the errors of specs that cannot be run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marin_chassis.engine import EngineError
from marin_contracts.chat import CHATML
from marin_contracts.tokenizer_files import TOKENIZER_FILES

BYTES = 256
_GENERATION_BLOCK = re.compile(r"\{%[-+]?\s*generation\s*[-+]?%\}")
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class TokenizerSettings:
    vocab_size: int
    min_frequency: int
    eos_token: str
    pad_token: str
    special_tokens: tuple[str, ...]
    chat_template: str
    text_field: str


def tokenizer_settings(spec: Mapping[str, Any]) -> TokenizerSettings:
    """Settings of a TrainTokenizerSpec. Raises :class:`EngineError` for one that no corpus could satisfy."""
    eos, pad = spec["eos_token"] or "<|endoftext|>", spec["pad_token"] or "<|pad|>"
    additional = spec["additional_special_tokens"] or ["<|im_start|>", "<|im_end|>"]
    special = (eos, pad, *additional)
    if len(set(special)) < len(special):
        raise EngineError(
            f"a special token is named twice: {', '.join(special)}",
            hint="give eos_token, pad_token and additional_special_tokens different names",
            reason="DUPLICATE_SPECIAL_TOKEN",
        )
    least = BYTES + len(special)
    if spec["vocab_size"] < least:
        raise EngineError(
            f"vocab_size {spec['vocab_size']} is too small: {BYTES} bytes and {len(special)} special tokens "
            f"need {least}",
            hint=f"set vocab_size to {least} or more; every entry beyond that is a learned merge",
            reason="VOCAB_TOO_SMALL",
        )
    template = spec["chat_template"] or CHATML
    _require_generation_block(template)
    return TokenizerSettings(
        spec["vocab_size"], spec["min_frequency"] or 2, eos, pad, special, template, spec["text_field"] or "text"
    )


def check_train_tokenizer(spec: Mapping[str, Any], roles: Mapping[str, str]) -> None:
    """Refuses a tokenizer job that cannot succeed. ``roles`` maps input roles to addresses."""
    _check_roles(roles, {"documents"})
    tokenizer_settings(spec)


def check_import_tokenizer(spec: Mapping[str, Any], roles: Mapping[str, str]) -> None:
    """Refuses an import whose spec does not say exactly which tokenizer is meant."""
    _check_roles(roles, set())
    hub, directory = spec["hub"], spec["directory"]
    if hub:
        _check_hub(hub)
    elif directory:
        _check_directory(directory)
    else:
        raise EngineError(
            "the spec names no source for the tokenizer",
            hint="set hub (repo and revision) or directory (path and sha256)",
            reason="NO_SOURCE",
        )
    if spec["chat_template"]:
        _require_generation_block(spec["chat_template"])


def check_tokenize(spec: Mapping[str, Any], roles: Mapping[str, str]) -> None:
    """Refuses a tokenize job that cannot succeed. ``roles`` maps input roles to addresses."""
    _check_roles(roles, {"documents", "tokenizer"})


def _check_hub(hub: Mapping[str, str]) -> None:
    if not all(hub["repo"].partition("/")):
        raise EngineError(
            f"hub.repo is '{hub['repo']}'",
            hint="name owner and repository, for example Qwen/Qwen3-0.6B-Base",
            reason="BAD_REPO",
        )
    if not _COMMIT.fullmatch(hub["revision"]):
        raise EngineError(
            f"hub.revision is '{hub['revision']}', which is no commit: a branch or tag can name other files tomorrow",
            hint=f"set it to the commit that the page of {hub['repo']} shows, 7 to 40 hexadecimal digits",
            reason="UNPINNED_REVISION",
        )


def _check_directory(directory: Mapping[str, str]) -> None:
    if not Path(directory["path"]).is_absolute():
        raise EngineError(
            f"directory.path is '{directory['path']}', and the service does not know what that is relative to",
            hint="give an absolute path",
            reason="RELATIVE_PATH",
        )
    if not _SHA256.fullmatch(directory["sha256"]):
        raise EngineError(
            f"directory.sha256 is '{directory['sha256']}', so nothing says what should lie in {directory['path']}",
            hint=f"set it to what this prints there: sha256sum {' '.join(TOKENIZER_FILES)} 2>/dev/null | sha256sum",
            reason="NO_DIGEST",
        )


def _require_generation_block(template: str) -> None:
    if not _GENERATION_BLOCK.search(template):
        raise EngineError(
            "the chat template has no {% generation %} block, so no token could be told apart as said by the assistant",
            hint="wrap what the assistant says in {% generation %} ... {% endgeneration %}, or leave it empty",
            reason="TEMPLATE_WITHOUT_GENERATION",
        )


def _check_roles(roles: Mapping[str, str], wanted: set[str]) -> None:
    if set(roles) != wanted:
        raise EngineError(
            f"the inputs have the roles {sorted(roles) or 'none'}, and the job needs {sorted(wanted) or 'none'}",
            hint=f"connect one artifact to each of {', '.join(sorted(wanted))}" if wanted else "connect no inputs",
            reason="WRONG_INPUTS",
        )
