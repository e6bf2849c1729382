"""Tables of text: columns aligned, nothing wrapped, numbers at their right edge.

Knows how wide text is on a terminal. Does not know what the cells mean, nor where they are printed.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

GAP = "   "
CONTROL_CATEGORIES = ("Cc", "Cf", "Cs")
WITHOUT_WIDTH = ("Mn", "Me", "Cf")


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading, and which edge its cells keep to."""

    heading: str
    right: bool = False


def lines(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the table's lines, the headings first."""
    table = [[column.heading for column in columns], *([printable(cell) for cell in row] for row in rows)]
    widths = [max(map(width, cells)) for cells in zip(*table, strict=True)]
    return [_line(columns, row, widths) for row in table]


def _line(columns: Sequence[Column], row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [_padded(cell, column, wide) for cell, column, wide in zip(row, columns, widths, strict=True)]
    return GAP.join(cells).rstrip()


def _padded(cell: str, column: Column, wide: int) -> str:
    space = " " * (wide - width(cell))
    return space + cell if column.right else cell + space


def printable(text: str) -> str:
    """Put into one line what would move the cursor, or paint: a name on a server may hold anything."""
    return "".join(" " if letter in "\n\t" else _visible(letter) for letter in text)


def _visible(letter: str) -> str:
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(letter) in CONTROL_CATEGORIES else letter


def width(text: str) -> int:
    """Return how many columns of a terminal the text takes."""
    return sum(_width(letter) for letter in text)


def _width(letter: str) -> int:
    if unicodedata.category(letter) in WITHOUT_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
