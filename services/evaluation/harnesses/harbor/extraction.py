"""Finds the integer in an answer to a competition problem."""

import re

_BOXED = re.compile(r"\\boxed\{\s*0*(\d{1,3})\s*\}")
# Alone: no part of a longer number, a decimal, a percentage or a negative number. A full stop may follow.
_ALONE = re.compile(r"(?<![\d.,-])0*(\d{1,3})(?![\d%]|[.,]\d)")


def extract(answer: str) -> str | None:
    r"""The last ``\boxed{}`` integer from 0 to 999, else the last such integer that stands alone, else None."""
    found = _BOXED.findall(answer) or _ALONE.findall(answer)
    return found[-1] if found else None
