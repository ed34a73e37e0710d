"""Makes the word problems and conversations: ``python -m marin_samples.generate`` rewrites the shipped files.

Everything follows from one seed and from Python's ``random``, whose sequences do not change within a version line.
A test compares the shipped files with what is made here.
"""

import json
import random
from collections.abc import Iterator
from itertools import chain, cycle
from typing import Any

from marin_samples import ROOT, dialogues, templates_everyday, templates_work
from marin_samples.wording import Problem

SEED = 20260801
TRAIN, TEST = 400, 100
SOLVED, DIALOGUES = 320, 160
INSTRUCTION = 'Think step by step and give the final answer after "####".'
"""Follows the question of a solved problem, exactly as in the prompts that the data service makes of problems."""


def problems(seed: int = SEED) -> Iterator[dict[str, str]]:
    """Endless distinct problems, all templates in turn: ``{"question", "answer"}``."""
    rng, seen = random.Random(seed), set()
    for template in cycle(templates_everyday.TEMPLATES + templates_work.TEMPLATES):
        problem: Problem = template(rng)
        if problem.question not in seen:
            seen.add(problem.question)
            yield {"question": problem.question, "answer": problem.answer}


def conversations(solved: list[dict[str, str]], count: int, seed: int = SEED) -> list[dict[str, Any]]:
    """``solved`` problems as single turns and ``count`` distinct dialogues, mixed: ``{"messages": [...]}``."""
    rng = random.Random(seed + 1)
    turns = [[f"{p['question']} {INSTRUCTION}", p["answer"]] for p in solved]
    distinct: dict[str, list[str]] = {}
    for template in cycle(dialogues.TEMPLATES):
        if len(distinct) == count:
            break
        dialogue = template(rng)
        distinct.setdefault(dialogue[0], dialogue)
    rows = list(chain(turns, distinct.values()))
    rng.shuffle(rows)
    roles = ("user", "assistant")
    return [{"messages": [{"role": roles[i % 2], "content": t} for i, t in enumerate(row)]} for row in rows]


def files() -> dict[str, str]:
    """Every generated file: name in the package -> content."""
    source = problems()
    train = [next(source) for _ in range(TRAIN)]
    test = [next(source) for _ in range(TEST)]
    tables: dict[str, list[dict[str, Any]]] = {
        "problems/train.jsonl": train,
        "problems/test.jsonl": test,
        "conversations/train.jsonl": conversations(train[:SOLVED], DIALOGUES),
    }
    return {name: "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows) for name, rows in tables.items()}


if __name__ == "__main__":
    for name, content in files().items():
        target = ROOT / name
        target.parent.mkdir(exist_ok=True)
        target.write_text(content, encoding="utf-8", newline="\n")
