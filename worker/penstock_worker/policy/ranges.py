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


def sequences(ranges: Iterable[Range]) -> Iterator[int]:
    for first, last in ranges:
        yield from range(first, last + 1)


def nth(ranges: Iterable[Range], number: int) -> int:
    """Return the sequence before which there are so many."""
    for first, last in ranges:
        if number <= last - first:
            return first + number
        number -= last - first + 1
    raise IndexError(number)


def as_text(ranges: Iterable[Range]) -> str:
    """Return ranges as people and headers have them: 1-3,7."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def as_distances(ranges: Iterable[Range]) -> str:
    """Return 5-7 and 9-9 as 5+2,2: how far it is from the last one, and how many follow."""
    parts, before = [], 0
    for first, last in ranges:
        more = f"+{last - first}" if last > first else ""
        parts.append(f"{first - before}{more}")
        before = last
    return ",".join(parts)


def from_distances(text: str) -> tuple[Range, ...]:
    """Read what `as_distances` returned; ValueError if it is nothing of the kind."""
    return tuple(_from_distances(text))


def _from_distances(text: str) -> Iterator[Range]:
    before = 0
    for part in text.split(","):
        distance, _, more = part.partition("+")
        first = before + int(distance)
        before = first + int(more or 0)
        if int(distance) < 1 or before < first:
            raise ValueError(f"{part} does not rise")
        yield first, before
