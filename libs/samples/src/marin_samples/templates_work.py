"""Word problems about work, trips, time and rows of things. Each function is one template with its wordings."""

import random

from marin_samples.wording import ANIMALS, FRUITS, GOODS, NAMES, PLACES, Problem, two_names


def rows_of_seats(rng: random.Random) -> Problem:
    place = rng.choice(PLACES)
    rows, seats = rng.randint(4, 12), rng.randint(5, 12)
    empty = rng.randint(3, rows * seats // 2)
    p = Problem(
        rng.choice(
            (
                f"The {place} sets up {rows} rows of {seats} chairs for a talk, and {empty} chairs stay empty. "
                f"How many chairs are taken?",
                f"For a concert at the {place} there are {rows} rows with {seats} seats each. {empty} seats are free. "
                f"How many people sit there?",
            )
        )
    )
    total = p.step("In all there are", rows, "*", seats, "seats")
    p.step("Taken are", total, "-", empty, "seats")
    return p


def pages_left(rng: random.Random) -> Problem:
    name = rng.choice(NAMES)
    per_day, days, left = rng.randint(6, 25), rng.randint(3, 9), rng.randint(10, 90)
    p = Problem(
        f"A book has {per_day * days + left} pages. {name} reads {per_day} pages a day for {days} days. "
        f"How many pages are left to read?"
    )
    read = p.step(f"{name} has read", per_day, "*", days, "pages")
    p.step("Left are", per_day * days + left, "-", read, "pages")
    return p


def hourly_pay(rng: random.Random) -> Problem:
    name, place = rng.choice(NAMES), rng.choice(PLACES)
    pay, a, b = rng.randint(8, 20), rng.randint(2, 7), rng.randint(2, 7)
    p = Problem(
        rng.choice(
            (
                f"At the {place} {name} earns ${pay} an hour. {name} works {a} hours on Friday and {b} hours on "
                f"Saturday. How many dollars does {name} earn?",
                f"{name} helps at the {place} for {a} hours one day and {b} hours the next, at ${pay} an hour. "
                f"What is the pay in dollars?",
            )
        )
    )
    hours = p.step(f"{name} works", a, "+", b, "hours")
    p.step("The pay is", hours, "*", pay, "dollars")
    return p


def trays(rng: random.Random) -> Problem:
    name, food = rng.choice(NAMES), rng.choice(("rolls", "buns", "biscuits", "tarts", "muffins"))
    boxes, count = rng.choice((2, 3, 4, 6)), rng.randint(2, 6)
    each = boxes * rng.randint(2, 5)
    p = Problem(
        f"{name} bakes {count} trays of {each} {food} and packs them into {boxes} equal boxes. "
        f"How many {food} are in each box?"
    )
    total = p.step(f"{name} bakes", count, "*", each, food)
    p.step("Each box holds", total, "/", boxes, food)
    return p


def legs(rng: random.Random) -> Problem:
    name = rng.choice(NAMES)
    two, four = rng.choice(("hens", "ducks", "geese")), rng.choice(("goats", "sheep", "rabbits", "cows"))
    a, b = rng.randint(3, 15), rng.randint(2, 12)
    p = Problem(f"{name} looks after {a} {two} and {b} {four}. How many legs do these animals have in all?")
    one = p.step(f"The {two} have", a, "*", 2, "legs")
    other = p.step(f"The {four} have", b, "*", 4, "legs")
    p.step("Together they have", one, "+", other, "legs")
    return p


def eggs(rng: random.Random) -> Problem:
    name, days = rng.choice(NAMES), rng.randint(2, 7)
    hens, each = rng.randint(3, 9), rng.randint(1, 3)
    used = rng.randint(1, hens * each * days - 1)
    p = Problem(
        f"{name}'s {hens} hens lay {each} {'eggs' if each > 1 else 'egg'} each every day. After {days} days "
        f"{name} has used {used} of the eggs. How many eggs remain?"
    )
    daily = p.step("A day brings", hens, "*", each, "eggs")
    total = p.step("All days bring", daily, "*", days, "eggs")
    p.step("There remain", total, "-", used, "eggs")
    return p


def bus_stops(rng: random.Random) -> Problem:
    start, on, off = rng.randint(8, 30), rng.randint(3, 15), rng.randint(2, 8)
    on2 = rng.randint(2, 10)
    first, second = rng.sample(PLACES, 2)
    p = Problem(
        f"A bus carries {start} people. At the {first} {off} get off and {on} get on. At the {second} {on2} more "
        "get on. How many people are on the bus now?"
    )
    after = p.step("After those who leave there are", start, "-", off, "people")
    mid = p.step(f"After the {first} there are", after, "+", on, "people")
    p.step(f"After the {second} there are", mid, "+", on2, "people")
    return p


def distance(rng: random.Random) -> Problem:
    (name, friend), days = two_names(rng), rng.randint(2, 9)
    a, b = rng.randint(2, 9), rng.randint(10, 18)
    p = Problem(
        rng.choice(
            (
                f"{name} walks {a} km a day and {friend} cycles {b} km a day. After {days} days, how many more km has "
                f"{friend} gone than {name}?",
                f"Every day {friend} rides {b} km while {name} walks {a} km. By how many km is {friend} ahead "
                f"after {days} days?",
            )
        )
    )
    daily = p.step("The difference in a day is", b, "-", a, "km")
    p.step("After all days it is", daily, "*", days, "km")
    return p


def crates_sold(rng: random.Random) -> Problem:
    name, fruit = rng.choice(NAMES), rng.choice(FRUITS)
    crates, each, price = rng.randint(3, 9), rng.randint(4, 12), rng.randint(2, 5)
    sold = rng.randint(1, crates - 1)
    p = Problem(
        f"{name} brings {crates} crates of {each} {fruit} to the market and sells {sold} of the crates at "
        f"${price} a piece of fruit. How many dollars does {name} take in?"
    )
    count = p.step("Sold are", sold, "*", each, fruit)
    p.step("That brings", count, "*", price, "dollars")
    return p


def teams(rng: random.Random) -> Problem:
    size, groups, away = rng.randint(3, 8), rng.randint(3, 9), rng.randint(2, 6)
    here = size * groups
    p = Problem(
        f"A club at the {rng.choice(PLACES)} has {here + away} members. Today {away} are away, and the others "
        f"form teams of {size}. How many teams are there?"
    )
    present = p.step("Present are", here + away, "-", away, "members")
    p.step("They form", present, "/", size, "teams")
    return p


def feed(rng: random.Random) -> Problem:
    name, animal = rng.choice(NAMES), rng.choice(ANIMALS)
    count, each, days = rng.randint(3, 9), rng.randint(2, 5), rng.randint(2, 7)
    p = Problem(
        f"Each of {name}'s {count} {animal} eats {each} cups of grain a day. How many cups do they need for "
        f"{days} days?"
    )
    daily = p.step("In a day they eat", count, "*", each, "cups")
    p.step("For all days that is", daily, "*", days, "cups")
    return p


def profit(rng: random.Random) -> Problem:
    name, good = rng.choice(NAMES), rng.choice(GOODS)
    count, cost, price = rng.randint(4, 12), rng.randint(2, 8), rng.randint(9, 16)
    p = Problem(
        f"{name} makes {count} {good}. The material for each costs ${cost}, and each is sold for ${price}. "
        f"How many dollars are earned after costs?"
    )
    each = p.step("Each one earns", price, "-", cost, "dollars")
    p.step("All of them earn", each, "*", count, "dollars")
    return p


def half_then_more(rng: random.Random) -> Problem:
    (name, friend), total, more = two_names(rng), 2 * rng.randint(6, 40), rng.randint(1, 5)
    good = rng.choice(GOODS)
    p = Problem(
        f"{name} has {total} {good} to sell. Half of them sell in the morning and {more} in the afternoon; "
        f"{friend} takes the rest home. How many {good} does {friend} take?"
    )
    half = p.step("Half of them is", total, "/", 2, good)
    p.step("The rest is", half, "-", more, good)
    return p


TEMPLATES = (
    rows_of_seats,
    pages_left,
    hourly_pay,
    trays,
    legs,
    eggs,
    bus_stops,
    distance,
    crates_sold,
    teams,
    feed,
    profit,
    half_then_more,
)
