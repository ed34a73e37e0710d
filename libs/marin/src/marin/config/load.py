"""From a main file to a checked config: includes, limits, models, and the places that errors name."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from marin.config import yaml_source
from marin.config.problems import ConfigError, Problem
from marin.config.schema import STAGES, Config
from marin.config.wording import problems_of
from marin.config.yaml_source import Document, Key

MAX_FILES = 32


@dataclass(frozen=True)
class Places:
    """Where each value of the merged config stands."""

    main: Document
    owner: dict[str, Document]

    def file(self, path: tuple[Key, ...]) -> Document:
        """The file of the block that ``path`` starts with."""
        return self.owner.get(str(path[0]), self.main) if path else self.main

    def known(self, path: tuple[Key, ...]) -> bool:
        return path in self.file(path).lines

    def at(self, *path: Key) -> str:
        """``file:line`` of a value, or of the nearest block around it."""
        document = self.file(path)
        while path and path not in document.lines:
            path = path[:-1]
        return f"{document.shown}:{document.lines.get(path, 1)}"

    def folder(self, *path: Key) -> Path:
        """Where relative paths of this value start."""
        return self.file(path).path.parent


@dataclass(frozen=True)
class Project:
    """A config whose form is right. ``name`` is that of the job."""

    path: Path
    name: str
    config: Config
    places: Places

    @property
    def stages(self) -> list[str]:
        """The blocks that the config has, in the order in which they run."""
        return [s for s in STAGES if getattr(self.config, s) is not None]


def load(path: Path) -> Project:
    """Reads the main file and what it includes. Raises ConfigError with all problems of form."""
    main, owner = _collect(path.absolute())
    values = {key: owner[key].value[key] for key in owner}
    places = Places(main, owner)
    try:
        config = Config.model_validate(values)
    except ValidationError as e:
        raise ConfigError(problems_of(e, places, values)) from None
    project = Project(main.path, config.name or _directory_name(main.path), config, places)
    if not project.stages:
        raise ConfigError([Problem(f"{main.shown}:1", "there is no block", f"write one of {', '.join(STAGES)}")])
    return project


def _collect(path: Path) -> tuple[Document, dict[str, Document]]:
    """The main document, and for each top-level key the document that holds it."""
    root = path.resolve().parent
    main = yaml_source.read(path, _shown(path))
    owner: dict[str, Document] = {}
    seen: dict[Path, str] = {}

    def add(document: Document, chain: tuple[Path, ...]) -> None:
        seen[document.path.resolve()] = document.shown
        for key in document.value:
            if key == "includes":
                continue
            if key in owner:
                first = owner[key]
                what = f"'{key}' is given twice, first in {first.shown}:{first.lines[(key,)]}"
                raise ConfigError([Problem(_line(document, (key,)), what, "keep one of them")])
            owner[key] = document
        for i, name in enumerate(_includes(document)):
            target = _included(document, i, name, root)
            real = target.resolve()
            where = _line(document, ("includes", i))
            if real in chain:
                circle = " -> ".join(_shown(p) for p in (*chain[chain.index(real) :], real))
                raise ConfigError(
                    [Problem(where, f"includes go in a circle: {circle}", "remove one of these includes")]
                )
            if real in seen:
                raise ConfigError([Problem(where, f"{seen[real]} is included twice", "keep one of the includes")])
            if len(seen) >= MAX_FILES:
                raise ConfigError([Problem(where, f"more than {MAX_FILES} files are included", "put blocks together")])
            add(yaml_source.read(target, _shown(target)), (*chain, real))

    add(main, (path.resolve(),))
    return main, owner


def _includes(document: Document) -> list[Any]:
    names = document.value.get("includes")
    if names is None and "includes" not in document.value:
        return []
    if not isinstance(names, list):
        what = "includes is no list"
        raise ConfigError(
            [Problem(_line(document, ("includes",)), what, "write one file on each line: `  - data.yaml`")]
        )
    return names


def _included(document: Document, index: int, name: Any, root: Path) -> Path:
    where = _line(document, ("includes", index))
    if not isinstance(name, str) or not name:
        raise ConfigError([Problem(where, "an include is no file name", "write a path such as data.yaml")])
    if "${" in name:
        raise ConfigError([Problem(where, "an include holds a variable", "write the file's own path")])
    target = Path(os.path.normpath(document.path.parent / name))
    if not target.resolve().is_relative_to(root):
        what = f"{name} lies outside the directory of the main file ({root})"
        raise ConfigError([Problem(where, what, "move or copy it below that directory")])
    if not target.exists():
        raise ConfigError([Problem(where, f"there is no file {name}", f"write it, or correct the path: {target}")])
    return target


def _line(document: Document, path: tuple[Key, ...]) -> str:
    return f"{document.shown}:{document.lines.get(path, 1)}"


def _shown(path: Path) -> str:
    """The path as a person would type it here."""
    near = os.path.relpath(path)
    return str(path) if near.startswith("..") else near


def _directory_name(path: Path) -> str:
    clean = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in path.resolve().parent.name)
    return clean.lstrip("._-") or "config"
