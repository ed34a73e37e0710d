"""Makes tokenizer and model agree about how many ids there are."""

import json
from pathlib import Path

from tokenizers import AddedToken, Tokenizer

from marin_chassis.engine import EngineError


def check_vocab(model_size: int, tokenizer: Path, what: str, pad: bool) -> int:
    """The model's vocabulary: ``model_size``, or the tokenizer's own size where that is 0.

    Raises :class:`EngineError` if the two sizes differ, unless ``pad`` allows the tokenizer to be the smaller one.
    """
    size = Tokenizer.from_file(str(tokenizer / "tokenizer.json")).get_vocab_size()
    if model_size in (0, size) or (pad and model_size > size):
        return model_size or size
    fill = "set pad_tokenizer_to_match_model, or " if model_size > size else ""
    raise EngineError(
        f"{what} has a vocabulary of {model_size}, and the tokenizer one of {size}",
        hint=f"{fill}use the tokenizer that the model was made for (in pretraining, model.vocab_size 0 takes any)",
        reason="VOCAB_MISMATCH",
        model_vocab=str(model_size),
        tokenizer_vocab=str(size),
    )


def pad_tokenizer(tokenizer: Path, size: int) -> None:
    """Fills the tokenizer in this directory up to ``size`` ids with special tokens ``<|padding_ID|>``, in place.

    A model gives every row of its embedding a probability, so each of these ids can be sampled; without an entry its
    text would be None. Raises :class:`EngineError` if a library still does not see ``size`` entries.
    """
    vocabulary = Tokenizer.from_file(str(tokenizer / "tokenizer.json"))
    missing = range(vocabulary.get_vocab_size(), size)
    if not missing:
        return
    vocabulary.add_special_tokens([AddedToken(_name(i), special=True, normalized=False) for i in missing])
    vocabulary.save(str(tokenizer / "tokenizer.json"))
    _extend_config(tokenizer / "tokenizer_config.json", missing)

    from transformers import AutoTokenizer

    seen = AutoTokenizer.from_pretrained(tokenizer)
    if None in seen.convert_ids_to_tokens(list(range(size))) or len(seen) != size:
        raise EngineError(
            f"the tokenizer could not be padded to {size} ids: transformers sees {len(seen)}",
            hint="use a tokenizer whose ids are 0 to size - 1, or a model of the tokenizer's own size",
            reason="TOKENIZER_NOT_PADDED",
        )


def _extend_config(path: Path, missing: range) -> None:
    # Some classes of transformers build their tokenizer anew from this table, and know no token that is not in it.
    config = json.loads(path.read_text())
    if "added_tokens_decoder" not in config:
        return
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    config["added_tokens_decoder"] |= {str(i): {"content": _name(i), **flags} for i in missing}
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def _name(token_id: int) -> str:
    return f"<|padding_{token_id}|>"
