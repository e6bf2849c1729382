"""Whether a name is another one that was misspelt: at most two letters lack, are too many, wrong, or swapped.

Pure. Knows letters, and nothing of what the names name.
"""

from collections.abc import Iterable

MOST_SLIPS = 2


def meant(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that this one is a misspelling of, if there is one: the nearest."""
    found = [(slips, each) for each in known if (slips := slips_between(name, each)) <= MOST_SLIPS]
    return min(found)[1] if found else None


def slips_between(one: str, other: str, most: int = MOST_SLIPS) -> int:
    """Return how many letters make the difference; one more than `most` stands for all that is above."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    above: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, start=1):
        above, row, last = row, [place, *[most + 1] * len(other)], above
        for at in range(max(1, place - most), min(len(other), place + most) + 1):  # further aside are too many slips
            row[at] = min(above[at] + 1, row[at - 1] + 1, above[at - 1] + (letter != other[at - 1]))
            if place > 1 and at > 1 and letter == other[at - 2] and one[place - 2] == other[at - 1]:
                row[at] = min(row[at], last[at - 2] + 1)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
