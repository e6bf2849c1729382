"""The tables of the screen: what stands in them of connections, streams and groups, and the words for events.

Pure. Knows columns, words and styles. Does not know how many rows there are (screen.py).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import chain

from penstock_operator.cli import human
from penstock_operator.cli.painting import Column, Line, Piece, Style, line, table
from penstock_operator.cli.widths import printable, wrapped
from penstock_operator.local.snapshot import (
    ConnectionShown,
    Event,
    GroupShown,
    Level,
    Phase,
    Snapshot,
    StreamShown,
)
from penstock_operator.plan.message_loss import new_losses

CONNECTION_COLUMNS = (
    Column(heading="CONNECTION", is_name=True),
    Column(heading="STATE"),
    Column(heading="SERVER", gives_way=1),
)
STREAM_COLUMNS = (
    Column(heading="STREAM", is_name=True),
    Column(heading="STATE"),
    Column(heading="MESSAGES", right=True, least=10),
    Column(heading="SIZE", right=True, least=8, gives_way=1),
)
GROUP_COLUMNS = (
    Column(heading="GROUP", is_name=True),
    Column(heading="STATE", least=8),
    Column(heading="WORKERS", right=True, gives_way=3),
    Column(heading="PENDING", right=True, least=9),
    Column(heading="UNACKED", right=True, least=7, gives_way=6),
    Column(heading="IN FLIGHT", right=True, gives_way=5),
    Column(heading="MSG/S", right=True, least=7, gives_way=1),
    Column(heading="SETTLED", right=True, least=9, gives_way=7),
    Column(heading="DEAD", right=True, gives_way=2),
    Column(heading="BATCHES", gives_way=4),
)
LEVELS = {Level.INFO: Style.PLAIN, Level.WARNING: Style.WARNING, Level.ERROR: Style.BAD}
PHASES = {
    Phase.WORKING: Level.INFO,
    Phase.IDLE: Level.INFO,
    Phase.FINISHED: Level.INFO,
    Phase.STARTING: Level.WARNING,
    Phase.STOPPING: Level.WARNING,
    Phase.STOPPED: Level.INFO,
    Phase.PAUSED: Level.WARNING,
    Phase.WAITING: Level.WARNING,
    Phase.CIRCUIT_OPEN: Level.ERROR,
    Phase.FAILED: Level.ERROR,
}
OK = "ok"
"""The verdict of a run that was well."""
INDENT = 2
LINES_OF_A_MESSAGE = 3
PRECISE_BELOW = 10
"""Slower rates have a tenth."""

Shown = ConnectionShown | StreamShown | GroupShown


@dataclass(frozen=True, slots=True)
class Block:
    """A row of a table, and what is said below it."""

    row: Line
    below: list[Line]
    level: Level

    @property
    def lines(self) -> list[Line]:
        return [self.row, *self.below]


@dataclass(frozen=True, slots=True)
class Section:
    """A table of which some rows can be left out."""

    headings: Line
    blocks: list[Block]

    @property
    def lines(self) -> list[Line]:
        return [self.headings, *chain.from_iterable(block.lines for block in self.blocks)] if self.blocks else []

    def fitted(self, rows: int) -> list[Line]:
        """Return as much as so many rows hold. What is well is left out first, and how much that is, is said."""
        if len(self.lines) <= rows:
            return self.lines
        brief = [block.lines if block.level is not Level.INFO else [block.row] for block in self.blocks]
        if sum(map(len, brief)) < rows:
            return [self.headings, *chain.from_iterable(brief)]
        shown: list[Line] = []
        left_out = len(brief)
        for _, lines in sorted(zip(self.blocks, brief, strict=True), key=lambda each: each[0].level is Level.INFO):
            room = rows - 2 - len(shown)
            if room <= 0:
                break
            shown += lines[:room]
            left_out -= 1
        return [self.headings, *shown, line(f"… and {left_out:,} more", Style.QUIET)] if shown else []


def sections(snapshot: Snapshot, columns: int) -> tuple[Section, Section, Section]:
    """Return the tables of connections, streams and groups."""
    every: Iterable[Shown] = chain(snapshot.connections, snapshot.streams, snapshot.groups)
    is_plain = len({each.namespace for each in every}) <= 1

    def name(shown: Shown) -> Line:
        return line(shown.name if is_plain else f"{shown.namespace}/{shown.name}")

    return (
        _section(
            CONNECTION_COLUMNS,
            [(name(each), _state(each), line(_server(each))) for each in snapshot.connections],
            [(each.message, each.level) for each in snapshot.connections],
            columns,
        ),
        _section(
            STREAM_COLUMNS,
            [
                (name(each), _state(each), line(human.number(each.messages)), line(human.size(each.bytes)))
                for each in snapshot.streams
            ],
            [(each.message, each.level) for each in snapshot.streams],
            columns,
        ),
        _section(
            GROUP_COLUMNS,
            [(name(each), *_group_cells(each)) for each in snapshot.groups],
            [_below(each) for each in snapshot.groups],
            columns,
        ),
    )


def _section(
    columns: Sequence[Column], rows: Sequence[Sequence[Line]], messages: Sequence[tuple[str, Level]], most: int
) -> Section:
    headings, *laid_out = table(columns, rows, most)
    blocks = [
        Block(row, _paragraph(text, Style.QUIET if level is Level.INFO else LEVELS[level], most), level)
        for row, (text, level) in zip(laid_out, messages, strict=True)
    ]
    return Section(headings, blocks)


def _below(group: GroupShown) -> tuple[str, Level]:
    """Return what is said below a group's row, and how much it concerns who reads it."""
    level, losses = PHASES[group.phase], [note.message for note in new_losses(None, group.loss)]
    if losses and level is Level.INFO:
        level = Level.WARNING
    return " ".join(filter(None, [group.message, *losses])) or group.scaling, level


def _state(shown: ConnectionShown | StreamShown) -> Line:
    return line(shown.state, _good_or(shown.level))


def _good_or(level: Level) -> Style:
    return Style.GOOD if level is Level.INFO else LEVELS[level]


def _server(connection: ConnectionShown) -> str:
    return f"{connection.url}, started here" if connection.is_embedded else connection.url


def _group_cells(group: GroupShown) -> tuple[Line, ...]:
    workers = group.workers
    return (
        line(group.phase.value, _good_or(PHASES[group.phase])),
        line(f"{workers.ready}/{workers.desired}", Style.WARNING if workers.ready < workers.desired else Style.PLAIN),
        line(human.number(group.pending)),
        line(human.number(group.ack_pending)),
        line(human.number(group.in_flight)),
        line(rate(group.messages_per_second)),
        line(human.number(group.settled)),
        line(human.number(group.dead_letters), Style.WARNING if group.dead_letters else Style.PLAIN),
        _batches(group),
    )


def rate(per_second: float | None) -> str:
    """Write a rate: slow ones with a tenth."""
    if per_second is None:
        return human.UNKNOWN
    return f"{per_second:.1f}" if 0 < per_second < PRECISE_BELOW else human.number(round(per_second))


def _batches(group: GroupShown) -> Line:
    pieces: list[Piece] = []
    for verdict, words in batches(group):
        pieces += [Piece(", ")] if pieces else []
        pieces.append(Piece(printable(words), Style.PLAIN if verdict == OK else Style.WARNING))
    return tuple(pieces) or line(human.UNKNOWN)


def batches(group: GroupShown) -> list[tuple[str, str]]:
    """Return each verdict that there was, and the words for how often: those that were well first."""
    in_order = sorted(group.verdicts.items(), key=lambda each: each[0] != OK)
    return [(verdict, f"{human.number(number)} {verdict}") for verdict, number in in_order if number]


def _paragraph(text: str, style: Style, columns: int) -> list[Line]:
    lines = wrapped(printable(text), columns - INDENT)
    if len(lines) > LINES_OF_A_MESSAGE:
        lines[LINES_OF_A_MESSAGE - 1 :] = [" ".join(lines[LINES_OF_A_MESSAGE - 1 :])]  # cut where the line ends
    return [(Piece(" " * INDENT), Piece(each, style)) for each in lines]


def clock(at: datetime, zone: tzinfo | None) -> str:
    return f"{at.astimezone(zone):%H:%M:%S}"


def event_lines(event: Event, columns: int, zone: tzinfo | None) -> list[Line]:
    """Return an event with its time, the words below each other."""
    time = f"{clock(event.at, zone)}  "
    words = _paragraph(told(event), LEVELS[event.level], columns - len(time) + INDENT)
    margins = [Piece(time, Style.QUIET), *[Piece(" " * len(time))] * (len(words) - 1)]
    return [(margin, *said[1:]) for margin, said in zip(margins, words, strict=True)]


def told(event: Event) -> str:
    """Return an event in words: how much it concerns who reads it, what it is about, and what happened."""
    level = "" if event.level is Level.INFO else f"{event.level}: "
    about = f"{event.about}: " if event.about else ""
    return f"{level}{about}{event.message}"
