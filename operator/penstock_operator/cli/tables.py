"""Tables of text: columns aligned, nothing wrapped, numbers at their right edge.

Does not know what the cells mean, nor where they are printed, nor how wide a letter is (widths.py).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock_operator.cli.widths import printable, width

GAP = "   "


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
