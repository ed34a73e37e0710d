"""Decides whether a document stays. Measures after Gopher (Rae et al. 2021, arXiv:2112.11446, table A1)."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Filters:
    """Bounds on normalised text; 0 switches a bound off. ``marin.data.v1.Filters`` describes each."""

    min_text_length: int = 0
    max_text_length: int = 0
    max_repetition: float = 0.0
    max_top_trigram: float = 0.0
    min_alphabetic_words: float = 0.0

    def reason(self, text: str) -> str | None:
        """Why this text is dropped, or None. The first bound that it breaks counts."""
        if not text:
            return "empty"
        if len(text) < self.min_text_length:
            return "too_short"
        if self.max_text_length and len(text) > self.max_text_length:
            return "too_long"
        if self.max_repetition and repeated_lines(text) > self.max_repetition:
            return "repetitive_lines"
        if self.max_top_trigram and top_trigram(text) > self.max_top_trigram:
            return "repetitive_words"
        if self.min_alphabetic_words and alphabetic_words(text) < self.min_alphabetic_words:
            return "not_text"
        return None


def repeated_lines(text: str) -> float:
    """Fraction of the characters of non-blank lines that is in lines equal to an earlier one."""
    lines = [line for line in map(str.strip, text.split("\n")) if line]
    seen: set[str] = set()
    repeated = 0
    for line in lines:
        if line in seen:
            repeated += len(line)
        seen.add(line)
    return repeated / max(1, sum(map(len, lines)))


def top_trigram(text: str) -> float:
    """Fraction of the words' characters that the most frequent group of 3 words covers; 0 if none occurs twice.

    An occurrence that overlaps an earlier one adds only its new words, so the value stays below or at 1.
    """
    words = text.split()
    groups = list(zip(words, words[1:], words[2:], strict=False))
    if not groups:
        return 0.0
    counts = Counter(groups)
    most = max(counts.values())
    if most < 2:
        return 0.0
    group = max((g for g, n in counts.items() if n == most), key=lambda g: (sum(map(len, g)), g))
    starts = [i for i, g in enumerate(groups) if g == group]
    covered = sum(sum(map(len, words[i : min(i + 3, j)])) for i, j in pairwise([*starts, len(words)]))
    return covered / sum(map(len, words))


def alphabetic_words(text: str) -> float:
    """Fraction of words that hold at least one letter; 1 for a text without words."""
    words = text.split()
    return sum(any(map(str.isalpha, word)) for word in words) / len(words) if words else 1.0
