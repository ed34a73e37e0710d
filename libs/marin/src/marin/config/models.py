"""What a model's path in a config means: a block of this config makes it, or it is an artifact from elsewhere."""

import difflib
from dataclasses import dataclass

from marin.config.schema import Config
from marin.config.text import artifact_name, without_alias


class UnknownModel(Exception):
    """``args`` are what is wrong and the fix."""


@dataclass(frozen=True)
class Made:
    """A checkpoint that the block ``stage`` of the config makes."""

    stage: str


@dataclass(frozen=True)
class Outside:
    """An artifact by its address; ``name@latest`` is resolved by the workflow service when a run is made."""

    address: str


def model_of(config: Config, path: str) -> Made | Outside:
    """The block whose output ``path`` is, with or without ``/latest`` or ``/final`` at its end; else the address of an
    artifact committed before, written with such an end or as ``name@version``. Raises UnknownModel."""
    made = {}
    if config.pretrain:
        made[artifact_name(config.pretrain.output.base_model)] = "pretrain"
    if config.finetune:
        made[artifact_name(config.finetune.output.instruct_model)] = "finetune"
    if "@" in path:
        name, _, version = path.strip("/").rpartition("@")
        if artifact_name(name) and version:
            return Outside(f"{artifact_name(name)}@{version}")
        raise UnknownModel(f"'{path}' is no address", "write name@version, as `marin artifacts list` prints it")
    base, aliased = without_alias(path)
    name = artifact_name(base)
    if name in made:
        return Made(made[name])
    if name is None:
        raise UnknownModel(
            f"'{path}' can be no artifact's name", "write an output of this config with /latest, or name@version"
        )
    if close := difflib.get_close_matches(name, [m for m in made if m], 1, 0.8):
        fix = (
            f"did you mean '/{close[0]}/latest'? An artifact from elsewhere is written {name}@latest or {name}@VERSION"
        )
        raise UnknownModel(f"no block of this config makes {path}", fix)
    if not aliased:
        fix = f"write {path.rstrip('/')}/latest for the newest artifact of that name, or name@version"
        raise UnknownModel(f"no block of this config makes {path}", fix)
    return Outside(f"{name}@latest")
