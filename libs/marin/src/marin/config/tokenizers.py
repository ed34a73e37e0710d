"""Which tokenizer a config means: one to be trained, a directory, a known name, or the address of an artifact."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from marin.config.problems import suggestion

KNOWN = {
    "qwen2.5-tokenizer": "Qwen/Qwen2.5-0.5B",
    "qwen3-tokenizer": "Qwen/Qwen3-0.6B",
    "llama3-tokenizer": "meta-llama/Llama-3.2-1B",
}
"""Names that may be written in place of a directory, and the hub repository that each stands for."""


class BadTokenizer(Exception):
    """``args`` are what is wrong and the fix."""


@dataclass(frozen=True)
class Tokenizer:
    """Exactly one of ``directory`` and ``address`` is set. ``vocab_size`` is 0 where only the artifact knows it."""

    directory: Path | None = None
    address: str = ""
    vocab_size: int = 0


def find(text: str, folder: Path) -> Tokenizer:
    """The tokenizer that a name or path in a config means. Raises BadTokenizer."""
    place = Path(text) if Path(text).is_absolute() else folder / text
    if place.is_dir():
        return _directory(place)
    if text in KNOWN:
        return _known(text)
    if "@" in text and "/" in text:
        return Tokenizer(address=text.strip("/"))
    names = f"name a directory with tokenizer.json, one of {', '.join(KNOWN)}, or write `train: {{vocab_size: 32000}}`"
    raise BadTokenizer(f"there is no tokenizer '{text}'", suggestion(text, KNOWN, names))


def _known(name: str) -> Tokenizer:
    mirror = os.environ.get("MARIN_HUB_MIRROR", "")
    if mirror and (Path(mirror) / KNOWN[name]).is_dir():
        return _directory(Path(mirror) / KNOWN[name])
    raise BadTokenizer(
        f"'{name}' is {KNOWN[name]} on the hub, and no copy of it is here",
        f"copy its tokenizer files to a directory and name that, or to DIR/{KNOWN[name]} and set MARIN_HUB_MIRROR=DIR",
    )


def _directory(place: Path) -> Tokenizer:
    path = place / "tokenizer.json"
    try:
        tokenizer = json.loads(path.read_bytes())
        vocab = tokenizer["model"]["vocab"]
        words = set(vocab) if isinstance(vocab, dict) else {entry[0] for entry in vocab}
        words |= {token["content"] for token in tokenizer.get("added_tokens") or ()}
    except FileNotFoundError:
        raise BadTokenizer(
            f"{place} holds no tokenizer.json", "name the directory that Hugging Face's save_pretrained wrote"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, IndexError) as e:
        raise BadTokenizer(
            f"{path} is no tokenizer: {e}", "replace it with the file that save_pretrained wrote"
        ) from None
    return Tokenizer(directory=place.resolve(), vocab_size=len(words))
