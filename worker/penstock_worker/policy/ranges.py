"""Sequences of messages as ranges: what a batch's id is made of, and what its user is shown.

Knows numbers only.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from math import inf

Range = tuple[int, int]
"""First and last, both of it."""


def ranges_of(sequences: Iterable[int]) -> tuple[Range, ...]:
    """Return rising sequences as ranges: 1, 2, 3, 7 is 1-3, 7-7."""
    return tuple(_runs(sequences))


def _runs(sequences: Iterable[int]) -> Iterator[Range]:
    first = last = None
    for sequence in sequences:
        if last is not None and sequence == last + 1:
            last = sequence
            continue
        if first is not None and last is not None:
            yield first, last
        first = last = sequence
    if first is not None and last is not None:
        yield first, last


def contains(ranges: Sequence[Range], sequence: int) -> bool:
    place = bisect_right(ranges, (sequence, inf))
    return place > 0 and sequence <= ranges[place - 1][1]


def as_text(ranges: Iterable[Range]) -> str:
    """Return ranges as people and headers have them: 1-3,7."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
