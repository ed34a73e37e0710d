"""Specs with their defaults filled in, and the errors of specs that cannot be run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from marin_chassis.engine import EngineError

BYTES = 256
CHATML = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}"
    "{{ '<|im_start|>assistant\n' }}"
    "{% generation %}{{ message['content'] + '<|im_end|>' }}{% endgeneration %}"
    "{{ '\n' }}"
    "{% else %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
_GENERATION_BLOCK = re.compile(r"\{%[-+]?\s*generation\s*[-+]?%\}")


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
    if not _GENERATION_BLOCK.search(template):
        raise EngineError(
            "the chat template has no {% generation %} block, so no token could be told apart as said by the assistant",
            hint="wrap what the assistant says in {% generation %} ... {% endgeneration %}, or leave it empty: ChatML",
            reason="TEMPLATE_WITHOUT_GENERATION",
        )
    return TokenizerSettings(
        spec["vocab_size"], spec["min_frequency"] or 2, eos, pad, special, template, spec["text_field"] or "text"
    )


def check_train_tokenizer(spec: Mapping[str, Any], roles: Mapping[str, str]) -> None:
    """Refuses a tokenizer job that cannot succeed. ``roles`` maps input roles to addresses."""
    _check_roles(roles, {"documents"})
    tokenizer_settings(spec)


def check_tokenize(spec: Mapping[str, Any], roles: Mapping[str, str]) -> None:
    """Refuses a tokenize job that cannot succeed. ``roles`` maps input roles to addresses."""
    _check_roles(roles, {"documents", "tokenizer"})


def _check_roles(roles: Mapping[str, str], wanted: set[str]) -> None:
    if set(roles) != wanted:
        raise EngineError(
            f"the inputs have the roles {sorted(roles) or 'none'}, and the job needs exactly {sorted(wanted)}",
            hint=f"connect one artifact to each of {', '.join(sorted(wanted))}",
            reason="WRONG_INPUTS",
        )
