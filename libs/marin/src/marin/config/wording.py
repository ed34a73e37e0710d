"""Turns pydantic's errors into problems with places, in one wording."""

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from marin.config.problems import Problem, suggestion
from marin.config.schema import TOKENIZER_FORMS, Config
from marin.config.yaml_source import Key

if TYPE_CHECKING:
    from marin.config.load import Places

_WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "model_type": "a block of keys",
    "dict_type": "a block of keys",
    "finite_number": "a finite number",
}


def problems_of(error: ValidationError, places: "Places", values: dict[str, Any]) -> list[Problem]:
    """One problem for each error, in the order of the models."""
    return [_problem(e, places, values) for e in error.errors(include_url=False, include_context=True)]


def _problem(error: ErrorDetails, places: "Places", values: dict[str, Any]) -> Problem:
    path = _path(error["loc"], values)
    dotted = _dotted(path)
    where = places.at(*path)
    kind, value = error["type"], error["input"]
    if kind == "extra_forbidden":
        known = _fields(path[:-1])
        block = f"in {_dotted(path[:-1])}" if path[:-1] else "at the top"
        fix = suggestion(str(path[-1]), known, f"keys {block} are: {', '.join(known)}")
        return Problem(where, f"{dotted}: unknown key", fix)
    if kind == "missing":
        return Problem(where, f"{dotted} is missing", f"add `{path[-1]}:` to {_dotted(path[:-1]) or 'the file'}")
    if kind == "value_error":
        text = str(error["ctx"]["error"])
        fix = "write the value itself" if "${" in text else "set it, or write the path itself"
        return Problem(where, f"{dotted}: {text}", fix)
    if value is None:
        return Problem(where, f"{dotted} is empty", "write a value, or remove the key")
    if kind == "literal_error":
        return _choice(where, dotted, value, error)
    if kind in _WANTED:
        return Problem(where, f"{dotted} is {_shown(value)}, not {_WANTED[kind]}", f"write {_WANTED[kind]}")
    return Problem(where, f"{dotted} is {_shown(value)}: {_limit(error)}", "correct the value")


def _choice(where: str, dotted: str, value: Any, error: ErrorDetails) -> Problem:
    known = [w.strip("'") for w in error["ctx"]["expected"].replace(" or ", ", ").split(", ")]
    fix = f"choose from: {', '.join(known)}"
    return Problem(where, f"{dotted} is {_shown(value)}, which is not known", suggestion(str(value), known, fix))


def _limit(error: ErrorDetails) -> str:
    text = error["msg"].removeprefix("Input ").removeprefix("String ").removeprefix("List ")
    if error["type"] == "string_pattern_mismatch":
        return "it may hold letters, digits, '.', '_' and '-', and starts with a letter or digit"
    return "it " + text if text.startswith("should") else text


def _path(loc: tuple[Key, ...], values: Any) -> tuple[Key, ...]:
    """``loc`` without the names that pydantic adds for the forms of a union."""
    path: list[Key] = []
    for part in loc:
        if part in TOKENIZER_FORMS and path[-1:] == ["tokenizer"]:
            continue
        path.append(part)
    return tuple(path)


def _dotted(path: tuple[Key, ...]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _fields(path: tuple[Key, ...]) -> list[str]:
    """Keys that the block at ``path`` may have."""
    model: type[BaseModel] | None = Config
    for part in path:
        if isinstance(part, str) and model is not None:
            model = _model_in(model.model_fields[part].annotation)
    return [f.alias or name for name, f in (model.model_fields if model else {}).items() if f.alias != "$schema"]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        if found := _model_in(inner):
            return found
    return None


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a block" if isinstance(value, dict) else "a list"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
