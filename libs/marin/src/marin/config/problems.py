"""What is wrong with a config: each problem says where, what, and the fix."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """``where`` is ``file:line``. A problem with a ``stage`` matters only where that stage is to run."""

    where: str
    what: str
    fix: str
    stage: str = ""


class ConfigError(Exception):
    """A config that cannot be used. ``problems`` holds all that was found, the first of them is the message."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        first = self.problems[0]
        more = len(self.problems) - 1
        self.message = f"{first.where}: {first.what}"
        self.hint = first.fix + (f" (`marin validate` shows {more} more)" if more else "")
        self.reason = "BAD_CONFIG"
        super().__init__(f"{self.message}\n  fix: {self.hint}")


def suggestion(word: str, known: Iterable[str], otherwise: str) -> str:
    """``did you mean …?`` for a near miss, else ``otherwise``."""
    close = difflib.get_close_matches(word, list(known), 1)
    return f"did you mean '{close[0]}'?" if close else otherwise
