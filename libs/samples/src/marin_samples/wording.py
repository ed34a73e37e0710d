"""What templates are filled with, and the little grammar that they need."""

import random
from dataclasses import dataclass, field

# fmt: off
NAMES = (
    "Aisha", "Bruno", "Chiara", "Dmitri", "Elif", "Farid", "Greta", "Hana", "Ivan", "Jasmin",
    "Kofi", "Lena", "Mateo", "Nadia", "Omar", "Petra", "Quentin", "Rosa", "Samir", "Tova",
    "Uma", "Viktor", "Wanda", "Xenia", "Yusuf", "Zola", "Amara", "Benito", "Carys", "Davi",
)
# fmt: on
FRUITS = ("apples", "pears", "plums", "peaches", "lemons", "oranges", "figs", "mangoes")
TOYS = ("marbles", "stickers", "beads", "toy cars", "shells", "stamps", "buttons", "cards")
GOODS = ("notebooks", "candles", "mugs", "brushes", "scarves", "lanterns", "baskets", "kites")
ANIMALS = ("hens", "ducks", "goats", "sheep", "rabbits", "geese")
PLACES = ("library", "bakery", "school", "museum", "garden centre", "harbour", "theatre", "workshop")


@dataclass
class Problem:
    """A question with its worked answer. ``answer`` ends in ``#### N``, as grade-school problem sets have it."""

    question: str
    steps: list[str] = field(default_factory=list)
    result: int = 0

    def step(self, text: str, a: int, op: str, b: int, unit: str = "") -> int:
        """Adds the line "text a op b = c unit." and gives c, which must be a whole number and not below zero."""
        value = {"+": a + b, "-": a - b, "*": a * b, "/": a // b if b else -1}[op]
        if value < 0 or (op == "/" and a % b):
            raise ValueError(f"a template makes {a} {op} {b}")
        self.steps.append(f"{text} {a} {op} {b} = {value}{' ' + unit if unit else ''}.")
        self.result = value
        return value

    @property
    def answer(self) -> str:
        return "\n".join([*self.steps, f"#### {self.result}"])


def two_names(rng: random.Random) -> tuple[str, str]:
    first, second = rng.sample(NAMES, 2)
    return first, second
