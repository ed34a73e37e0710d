"""Writes the rows of gsm8k-smoke: ``python -m marin_evaluation.tasks.generate``. Same code, same bytes.

The problems are our own. Each template computes its answer, so that its parts cannot disagree. They share neither
templates nor wording with the problems that policies are trained on.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path

Problem = tuple[str, str, int]
SIZES = {"test": 32, "train": 8}
NAMES = ("Anouk", "Bram", "Chidi", "Dalia", "Emre", "Freya", "Goran", "Hana", "Ivo", "Jun", "Kirra", "Lotte")


def _ferry(r: random.Random, who: str) -> Problem:
    trips, seats, empty = r.randint(3, 9), r.randint(20, 60), r.randint(2, 15)
    total = trips * seats - empty
    return (
        f"A ferry with {seats} seats crosses {trips} times. In all {empty} seats stay empty. How many passengers ride?",
        f"There are {trips} * {seats} = {trips * seats} seats. {trips * seats} - {empty} = {total} are taken.",
        total,
    )


def _beads(r: random.Random, who: str) -> Problem:
    strings, per, lost = r.randint(4, 9), r.randint(12, 30), r.randint(3, 20)
    total = strings * per + lost
    return (
        f"{who} threads {strings} strings of {per} beads each and drops {lost} more. How many beads were in the box?",
        f"The strings hold {strings} * {per} = {strings * per}. With the rest {strings * per} + {lost} = {total}.",
        total,
    )


def _candle(r: random.Random, who: str) -> Problem:
    rate, hours, left = r.randint(2, 5), r.randint(3, 8), r.randint(4, 12)
    total = rate * hours + left
    return (
        f"A candle burns {rate} cm an hour. After {hours} hours {left} cm are left. How tall was it at first, in cm?",
        f"It lost {rate} * {hours} = {rate * hours} cm. It was {rate * hours} + {left} = {total} cm tall.",
        total,
    )


def _stairs(r: random.Random, who: str) -> Problem:
    floors, steps, rest = r.randint(4, 12), r.randint(14, 22), r.randint(2, 3)
    total = floors * steps - rest * steps
    return (
        f"A tower has {floors} floors of {steps} steps. {who} rides past {rest} floors. How many steps are climbed?",
        f"{floors} - {rest} = {floors - rest} floors are climbed. That is {floors - rest} * {steps} = {total} steps.",
        total,
    )


def _queue(r: random.Random, who: str) -> Problem:
    minutes, come, go = r.randint(5, 12), r.randint(6, 9), r.randint(2, 5)
    total = minutes * (come - go)
    return (
        f"Each minute {come} people join an empty queue and {go} leave it. How long is it after {minutes} minutes?",
        f"It grows by {come} - {go} = {come - go} a minute. In the end it is {minutes} * {come - go} = {total}.",
        total,
    )


def _tiles(r: random.Random, who: str) -> Problem:
    wide, long, spare = r.randint(6, 14), r.randint(15, 25), r.randint(5, 10)
    total = wide * long + spare
    return (
        f"{who} tiles a floor {wide} tiles wide and {long} long and keeps {spare} spare. How many tiles are bought?",
        f"The floor takes {wide} * {long} = {wide * long}. With the spare it is {wide * long} + {spare} = {total}.",
        total,
    )


def _share(r: random.Random, who: str) -> Problem:
    people, each, price = r.randint(3, 8), r.randint(5, 15), r.randint(1, 4)
    total = people * each - price
    return (
        f"{people} friends pay {each} coins each for a gift and get {price} back. How many coins does it cost?",
        f"Together they pay {people} * {each} = {people * each} coins. {people * each} - {price} = {total}.",
        total,
    )


def _tank(r: random.Random, who: str) -> Problem:
    pour, times, half = r.randint(3, 9), r.randint(2, 5) * 2, 2
    total = pour * times // half
    return (
        f"{who} pours {times} jugs of {pour} litres into a tank, then lets half of it out. How many litres are left?",
        f"{times} jugs hold {times} * {pour} = {times * pour} litres. Half of that is {times * pour} / 2 = {total}.",
        total,
    )


TEMPLATES: tuple[Callable[[random.Random, str], Problem], ...] = (
    _ferry, _beads, _candle, _stairs, _queue, _tiles, _share, _tank,
)  # fmt: skip


def rows(split: str, count: int) -> list[dict[str, str]]:
    """``count`` rows ``{"question", "answer"}``; the answer ends in ``#### N``. No row of "train" is one of "test"."""
    seen = {row["question"] for row in rows("test", SIZES["test"])} if split != "test" else set()
    generator, result = random.Random(f"gsm8k-smoke/{split}"), []
    while len(result) < count:
        template = TEMPLATES[len(result) % len(TEMPLATES)]
        question, reasoning, answer = template(generator, NAMES[len(result) % len(NAMES)])
        if question not in seen:
            seen.add(question)
            result.append({"question": question, "answer": f"{reasoning} #### {answer}"})
    return result


def main() -> None:
    for split, count in SIZES.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows(split, count))
        (Path(__file__).parent / "gsm8k_smoke" / f"{split}.jsonl").write_text(lines)


if __name__ == "__main__":
    main()
