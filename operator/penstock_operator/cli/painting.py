"""Lines of a screen: pieces of text, each with its style, put together and fitted into the columns that there are.

Pure. Knows styles, and tables that give up columns where a terminal is narrow. Does not know what is shown (screen.py).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Any

import click

from penstock_operator.cli.widths import cut, elided, printable, width

GAP = 3
SHORT_NAME, SHORTEST_NAME = 30, 8
"""To which length names are shortened: before a column of the table goes, and when none is left that could."""


class Style(StrEnum):
    PLAIN = "plain"
    QUIET = "quiet"
    STRONG = "strong"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


LOOKS: dict[Style, dict[str, Any]] = {
    Style.PLAIN: {},
    Style.QUIET: {"dim": True},
    Style.STRONG: {"bold": True},
    Style.GOOD: {"fg": "green"},
    Style.WARNING: {"fg": "yellow"},
    Style.BAD: {"fg": "red"},
}


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text that looks the same."""

    text: str
    style: Style = Style.PLAIN


Line = tuple[Piece, ...]
EMPTY: Line = ()


def line(text: str, style: Style = Style.PLAIN) -> Line:
    """Return a line of one piece, whatever the text holds."""
    return (Piece(printable(text), style),)


def width_of(pieces: Line) -> int:
    return sum(width(piece.text) for piece in pieces)


def painted(pieces: Line, columns: int, *, colour: bool) -> str:
    """Return a line as it is written, cut where the terminal ends."""
    is_too_long = width_of(pieces) > columns
    taken = accumulate((width(piece.text) for piece in pieces), initial=0)
    shown = []
    for piece, before in zip(pieces, taken, strict=False):
        text = cut(piece.text, columns - before) if is_too_long else piece.text
        shown.append(click.style(text, **LOOKS[piece.style]) if colour and text else text)
        if text != piece.text:
            break
    return "".join(shown).rstrip()


def apart(left: Line, right: Line, columns: int) -> Line:
    """Return a line with something at each end; what is at the right goes first where there is no room."""
    space = columns - width_of(left) - width_of(right)
    return (*left, Piece(" " * space), *right) if space >= GAP else left


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table that has to fit."""

    heading: str
    right: bool = False
    gives_way: int = 0
    """Of the columns that may go where there is no room, the one with the highest number goes first; 0 stays."""
    is_name: bool = False
    """Whether its cells may lose their middle."""
    least: int = 0
    """How wide it is at least: numbers grow, and the table is not to jump."""


def table(columns: Sequence[Column], rows: Sequence[Sequence[Line]], most: int) -> list[Line]:
    """Return the table's lines, the headings first, with the columns that there is room for."""
    kept = list(range(len(columns)))
    widths = [
        max(width(column.heading), column.least, *(width_of(row[number]) for row in rows), 0)
        for number, column in enumerate(columns)
    ]

    def room() -> int:
        return most - sum(widths[number] for number in kept) - GAP * (len(kept) - 1)

    def shorten_names(least: int) -> None:
        for number in kept:
            if columns[number].is_name and room() < 0:
                widths[number] = max(min(widths[number], least), widths[number] + room())

    shorten_names(SHORT_NAME)
    for number in sorted(kept, key=lambda each: columns[each].gives_way, reverse=True):
        if room() < 0 and columns[number].gives_way:
            kept.remove(number)
    shorten_names(SHORTEST_NAME)
    headings = [line(column.heading, Style.QUIET) for column in columns]
    return [_row([(columns[each], row[each], widths[each]) for each in kept]) for row in (headings, *rows)]


def _row(cells: Iterable[tuple[Column, Line, int]]) -> Line:
    pieces: list[Piece] = []
    for column, cell, wide in cells:
        if pieces:
            pieces.append(Piece(" " * GAP))
        shown = _shortened(cell, wide) if column.is_name else cell
        space = Piece(" " * (wide - width_of(shown)))
        pieces.extend((space, *shown) if column.right else (*shown, space))
    return tuple(pieces if not pieces or pieces[-1].text.strip() else pieces[:-1])


def _shortened(cell: Line, columns: int) -> Line:
    """Return a name without its middle; names are one piece each."""
    return tuple(Piece(elided(piece.text, columns), piece.style) for piece in cell)
