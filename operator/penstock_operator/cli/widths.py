"""Text on a terminal: how many columns it takes, and how it is made to take fewer.

Knows letters that are wide, and those that have no width or would move the cursor. Does not know what the text says.
"""

import unicodedata
from functools import lru_cache

CONTROL_CATEGORIES = ("Cc", "Cf", "Cs")
WITHOUT_WIDTH = ("Mn", "Me", "Cf")
ELLIPSIS = "…"
LETTERS_REMEMBERED = 4096


def printable(text: str) -> str:
    """Put into one line what would move the cursor, or paint: a name on a server may hold anything."""
    return "".join(" " if letter in "\n\t" else _visible(letter) for letter in text)


def _visible(letter: str) -> str:
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(letter) in CONTROL_CATEGORIES else letter


def width(text: str) -> int:
    """Return how many columns of a terminal the text takes."""
    return sum(map(_width, text))


@lru_cache(maxsize=LETTERS_REMEMBERED)
def _width(letter: str) -> int:
    if unicodedata.category(letter) in WITHOUT_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """Return as much of the beginning of a text as fits, with an ellipsis where there was more."""
    if width(text) <= columns:
        return text
    return _beginning(text, columns - 1) + ELLIPSIS if columns > 0 else ""


def elided(text: str, columns: int) -> str:
    """Return a name without its middle, as much as fits: names that differ often do so at one of their ends."""
    if width(text) <= columns:
        return text
    end = _beginning(text[::-1], (columns - 1) // 2)[::-1]
    return _beginning(text, columns - 1 - width(end)) + ELLIPSIS + end if columns > 0 else ""


def wrapped(text: str, columns: int) -> list[str]:
    """Return a text as lines that fit, broken between words; what follows the last space of a line goes on below."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and width(longer) > columns:
            lines.append(line)
            longer = word
        line = longer
    return [*lines, line] if line else lines


def _beginning(text: str, columns: int) -> str:
    taken = 0
    for position, letter in enumerate(text):
        taken += _width(letter)
        if taken > columns:
            return text[:position]
    return text
