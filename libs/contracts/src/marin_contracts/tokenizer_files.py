"""Which files of a directory are its tokenizer, and the digest that identifies them."""

import hashlib
from pathlib import Path

TOKENIZER_FILES = (
    "added_tokens.json",
    "chat_template.jinja",
    "merges.txt",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
)
"""In byte order."""


def tokenizer_digest(directory: Path) -> str:
    """SHA-256 in hex of what ``sha256sum`` prints for the tokenizer files in a directory; empty if there are none."""
    sums = [
        f"{hashlib.sha256((directory / file).read_bytes()).hexdigest()}  {file}\n"
        for file in TOKENIZER_FILES
        if (directory / file).is_file()
    ]
    return hashlib.sha256("".join(sums).encode()).hexdigest() if sums else ""
