"""Chance, from a seed: each use has a source of its own, so that one draw more of one kind changes no other.

Knows distributions. Does not know what for.
"""

import math
from random import Random

MANY = 50
"""From so many expected events on, their number is as good as normally distributed."""


def source(seed: int, use: str) -> Random:
    return Random(f"{seed}/{use}")  # noqa: S311 - a simulation needs the same chance again, not a secret one


def around(chance: Random, median: float, spread: float) -> float:
    """Draw a time: lognormal, as times are that nobody bounds from above."""
    return median * math.exp(chance.gauss(0, spread))


def events(chance: Random, expected: float) -> int:
    """Draw how many of them there were: Poisson."""
    if expected <= 0:
        return 0
    if expected > MANY:
        return max(0, round(chance.gauss(expected, math.sqrt(expected))))
    limit, product, number = math.exp(-expected), chance.random(), 0
    while product > limit:
        product *= chance.random()
        number += 1
    return number
