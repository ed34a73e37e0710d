"""Short dialogues of our own making: small requests that have one right reply."""

import random
from collections.abc import Callable

from marin_samples.wording import FRUITS, GOODS, NAMES, PLACES, TOYS

Turns = list[str]
"""What user and assistant say in turn, the user first."""

WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
OPPOSITES = (
    ("hot", "cold"),
    ("early", "late"),
    ("open", "closed"),
    ("heavy", "light"),
    ("wide", "narrow"),
    ("near", "far"),
    ("empty", "full"),
    ("quiet", "loud"),
    ("rough", "smooth"),
    ("dry", "wet"),
)
WORDS = tuple(w for w in (*FRUITS, *GOODS, *TOYS, *PLACES) if " " not in w)


def greeting(rng: random.Random) -> Turns:
    name = rng.choice(NAMES)
    ask = rng.choice(("Hello, I am {}.", "Hi! My name is {}.", "Good morning, {} here."))
    return [ask.format(name), f"Hello {name}! What can I do for you?"]


def next_day(rng: random.Random) -> Turns:
    day, ahead = rng.randrange(7), rng.randint(1, 3)
    ask = f"Which day comes {ahead} days after {WEEK[day]}?" if ahead > 1 else f"Which day follows {WEEK[day]}?"
    return [ask, f"It is {WEEK[(day + ahead) % 7]}."]


def opposite(rng: random.Random) -> Turns:
    a, b = rng.choice(OPPOSITES)
    a, b = (a, b) if rng.random() < 0.5 else (b, a)
    return [f'What is the opposite of "{a}"?', f'The opposite of "{a}" is "{b}".']


def upper(rng: random.Random) -> Turns:
    word = rng.choice(WORDS)
    return [f'Write "{word}" in capital letters.', word.upper()]


def spelled(rng: random.Random) -> Turns:
    word = rng.choice(WORDS)
    return [f'Spell the word "{word}".', "-".join(word)]


def sorted_words(rng: random.Random) -> Turns:
    words = rng.sample(WORDS, 3)
    return [f"Put these words in alphabetical order: {', '.join(words)}.", ", ".join(sorted(words))]


def bullet_list(rng: random.Random) -> Turns:
    words = rng.sample(WORDS, 3)
    return [f"Make a list of {words[0]}, {words[1]} and {words[2]}.", "\n".join(f"- {w}" for w in words)]


def larger(rng: random.Random) -> Turns:
    a, b = rng.sample(range(10, 100), 2)
    return [f"Which number is larger, {a} or {b}?", f"{max(a, b)} is larger than {min(a, b)}."]


def sum_and_double(rng: random.Random) -> Turns:
    a, b = rng.randint(2, 40), rng.randint(2, 40)
    return [f"What is {a} + {b}?", f"{a} + {b} = {a + b}.", "And twice that?", f"2 * {a + b} = {2 * (a + b)}."]


def meeting(rng: random.Random) -> Turns:
    name, place, day = rng.choice(NAMES), rng.choice(PLACES), rng.choice(WEEK)
    return [
        f"Ask {name} in one sentence to meet me at the {place} on {day}.",
        f"Dear {name}, can we meet at the {place} on {day}?",
        "Thank you.",
        "You are welcome!",
    ]


TEMPLATES: tuple[Callable[[random.Random], Turns], ...] = (
    greeting,
    next_day,
    opposite,
    upper,
    spelled,
    sorted_words,
    bullet_list,
    larger,
    sum_and_double,
    meeting,
)
