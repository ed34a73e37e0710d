"""Word problems about things that people have, share and buy. Each function is one template with its wordings."""

import random

from marin_samples.wording import FRUITS, GOODS, NAMES, TOYS, Problem, two_names


def boxes_and_loose(rng: random.Random) -> Problem:
    name, thing = rng.choice(NAMES), rng.choice(TOYS)
    boxes, each, loose = rng.randint(2, 9), rng.randint(3, 12), rng.randint(2, 15)
    p = Problem(
        rng.choice(
            (
                f"{name} keeps {thing} in {boxes} boxes with {each} in each box, and {loose} more lie on the table. "
                f"How many {thing} does {name} have?",
                f"There are {each} {thing} in each of {name}'s {boxes} boxes. {name} finds {loose} more under the bed. "
                f"How many {thing} are there in all?",
            )
        )
    )
    boxed = p.step("In the boxes there are", boxes, "*", each, thing)
    p.step("With the others that makes", boxed, "+", loose, thing)
    return p


def given_away(rng: random.Random) -> Problem:
    name, friend = two_names(rng)
    thing, a, b = rng.choice(TOYS), rng.randint(15, 60), rng.randint(5, 25)
    gone = rng.randint(3, a + b - 4)
    p = Problem(
        rng.choice(
            (
                f"{name} has {a} {thing} and gets {b} more as a present. Then {name} gives {gone} to {friend}. "
                f"How many {thing} are left?",
                f"After a fair {name} owns {b} new {thing} beside the {a} at home. {friend} is given {gone} of them. "
                f"How many {thing} does {name} keep?",
            )
        )
    )
    total = p.step(f"At first {name} has", a, "+", b, thing)
    p.step("After the gift there are", total, "-", gone, thing)
    return p


def shared_equally(rng: random.Random) -> Problem:
    name, thing = rng.choice(NAMES), rng.choice(FRUITS)
    friends, each, eaten = rng.randint(3, 8), rng.randint(2, 9), rng.randint(2, 9)
    total = friends * each + eaten
    p = Problem(
        rng.choice(
            (
                f"{name} picks {total} {thing}, keeps {eaten} for later and shares the rest equally among "
                f"{friends} friends. How many {thing} does each friend get?",
                f"From a basket of {total} {thing}, {eaten} are set aside and {friends} neighbours of {name} "
                f"share the others equally. How many {thing} are there for each neighbour?",
            )
        )
    )
    rest = p.step("To be shared there are", total, "-", eaten, thing)
    p.step("Each gets", rest, "/", friends, thing)
    return p


def change_from_note(rng: random.Random) -> Problem:
    name, good = rng.choice(NAMES), rng.choice(GOODS)
    count, price = rng.randint(2, 8), rng.randint(2, 11)
    note = next(n for n in (20, 50, 100) if n > count * price)
    p = Problem(
        rng.choice(
            (
                f"{name} buys {count} {good} for ${price} each and pays with a ${note} note. How many dollars "
                "come back?",
                f"A stall sells {good} at ${price} apiece. {name} takes {count} and hands over ${note}. "
                f"How many dollars of change does {name} get?",
            )
        )
    )
    cost = p.step(f"The {good} cost", count, "*", price, "dollars")
    p.step("The change is", note, "-", cost, "dollars")
    return p


def two_prices(rng: random.Random) -> Problem:
    name = rng.choice(NAMES)
    first, second = rng.sample(GOODS, 2)
    a, b, pa, pb = rng.randint(2, 6), rng.randint(2, 6), rng.randint(2, 12), rng.randint(2, 12)
    p = Problem(
        f"{name} orders {a} {first} at ${pa} each and {b} {second} at ${pb} each. How many dollars is the whole order?"
    )
    one = p.step(f"The {first} cost", a, "*", pa, "dollars")
    two = p.step(f"The {second} cost", b, "*", pb, "dollars")
    p.step("Together that is", one, "+", two, "dollars")
    return p


def saving_up(rng: random.Random) -> Problem:
    name, good = rng.choice(NAMES), rng.choice(("bicycle", "guitar", "tent", "telescope", "camera"))
    weekly, weeks, has = rng.randint(4, 15), rng.randint(3, 12), rng.randint(5, 40)
    price = weekly * weeks + has
    p = Problem(
        rng.choice(
            (
                f"A {good} costs ${price}. {name} has ${has} and saves ${weekly} a week. "
                f"After how many weeks can {name} buy it?",
                f"{name} wants a {good} for ${price}, already has ${has}, and puts ${weekly} aside each week. "
                f"How many weeks does that take?",
            )
        )
    )
    missing = p.step("Still missing are", price, "-", has, "dollars")
    p.step("That takes", missing, "/", weekly, "weeks")
    return p


def twice_as_many(rng: random.Random) -> Problem:
    (name, friend), thing = two_names(rng), rng.choice(TOYS)
    a, factor, word = rng.randint(4, 30), *rng.choice(((2, "twice"), (3, "three times"), (4, "four times")))
    p = Problem(
        rng.choice(
            (
                f"{name} has {a} {thing}. {friend} has {word} as many. How many {thing} do they have together?",
                f"{friend} collected {word} as many {thing} as {name}, who collected {a}. How many are that for both?",
            )
        )
    )
    other = p.step(f"{friend} has", a, "*", factor, thing)
    p.step("Both have", a, "+", other, thing)
    return p


def older_than(rng: random.Random) -> Problem:
    name, friend = two_names(rng)
    age, more, years = rng.randint(5, 14), rng.randint(2, 20), rng.randint(2, 15)
    p = Problem(
        f"{name} is {age} years old. {friend} is {more} years older. How old will {friend} be in {years} years?"
    )
    now = p.step(f"Now {friend} is", age, "+", more, "years old")
    p.step("Later that will be", now, "+", years, "years")
    return p


def discount(rng: random.Random) -> Problem:
    name, good = rng.choice(NAMES), rng.choice(("jacket", "lamp", "chair", "backpack", "watch"))
    off, count, price = rng.randint(2, 9), rng.randint(2, 5), rng.randint(12, 40)
    p = Problem(
        f"A {good} costs ${price}, and today each is ${off} cheaper. {name} buys {count}. How many dollars does "
        f"{name} pay?"
    )
    now = p.step("Today's price is", price, "-", off, "dollars")
    p.step("All of them cost", now, "*", count, "dollars")
    return p


TEMPLATES = (
    boxes_and_loose,
    given_away,
    shared_equally,
    change_from_note,
    two_prices,
    saving_up,
    twice_as_many,
    older_than,
    discount,
)
