"""Texts in a config: where ``${env:NAME}`` is allowed, and artifact names made from paths."""

import os
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

_ENV = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
ALIASES = ("latest", "final")


def _expand(value: str) -> str:
    def of(match: re.Match[str]) -> str:
        found = os.environ.get(match.group(1), "")
        if not found:
            raise ValueError(f"the environment variable {match.group(1)} is not set")
        return found

    rest = _ENV.sub("", value)
    if "${" in rest:
        raise ValueError("only ${env:NAME} is replaced")
    return _ENV.sub(of, value)


def _no_variable(value: Any) -> Any:
    if isinstance(value, str) and "${" in value:
        raise ValueError(
            "variables such as ${env:NAME} are allowed in paths only, so that a config means the same everywhere"
        )
    return value


PathText = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(_expand)]
"""A path, an artifact's place or a tokenizer; ``${env:NAME}`` is replaced."""

Literally = BeforeValidator(_no_variable)
"""Marks a field in which a variable is an error that says so."""


def artifact_name(path: str) -> str | None:
    """The artifact name that a path stands for: ``/models/base-3b/`` is ``models/base-3b``. None if it can be none."""
    parts = [p for p in path.split("/") if p not in ("", ".")]
    return "/".join(parts) if parts and all(_PART.fullmatch(p) for p in parts) else None


def without_alias(path: str) -> tuple[str, bool]:
    """A model's path without a last ``latest`` or ``final``, and whether there was one."""
    head, _, last = path.rstrip("/").rpartition("/")
    return (head, True) if head and last in ALIASES else (path, False)
