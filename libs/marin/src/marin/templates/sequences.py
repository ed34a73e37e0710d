"""Synthetic DNA and protein sequences with something to learn in them: a Markov chain, and motifs that come back."""

import json
import random

_AMINO = "ACDEFGHIKLMNPQRSTVWY"


def dna(count: int = 1500, seed: int = 7) -> str:
    """JSON lines {"text"} of 300 to 900 bases."""
    return _lines("ACGT", ("TATAAT", "TTGACA", "GGAGGT"), count, (300, 900), seed)


def protein(count: int = 1500, seed: int = 11) -> str:
    """JSON lines {"text"} of 80 to 400 residues, each starting with methionine."""
    return _lines(_AMINO, ("GKST", "HEXXH".replace("X", "A"), "CPYC"), count, (80, 400), seed, first="M")


def _lines(
    alphabet: str, motifs: tuple[str, ...], count: int, lengths: tuple[int, int], seed: int, first: str = ""
) -> str:
    rng = random.Random(seed)
    likely = {a: rng.choices(alphabet, k=3) for a in alphabet}
    lines = []
    for _ in range(count):
        text = first or rng.choice(alphabet)
        length = rng.randint(*lengths)
        while len(text) < length:
            if rng.random() < 0.02:
                text += rng.choice(motifs)
            elif rng.random() < 0.6:
                text += rng.choice(likely[text[-1]])
            else:
                text += rng.choice(alphabet)
        lines.append(json.dumps({"text": text[:length]}))
    return "\n".join(lines) + "\n"
