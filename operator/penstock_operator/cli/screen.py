"""What `penstock up` shows on a terminal: a snapshot, laid out for as many columns and rows as there are.

Pure. Knows what matters most where room is scarce: groups before what they read from, trouble before what is well, the
latest events. Does not write to terminals (terminal.py), nor know what stands in the tables (screen_sections.py).
"""

from collections.abc import Sequence
from datetime import tzinfo
from itertools import chain

from penstock_operator.cli import human
from penstock_operator.cli.painting import EMPTY, Line, Piece, Style, apart, line, painted
from penstock_operator.cli.screen_sections import Section, clock, event_lines, sections
from penstock_operator.cli.widths import printable
from penstock_operator.local.snapshot import Snapshot

LEAST_EVENTS = 3
"""So many events are kept where rows are scarce."""
ROWS_OF_GROUPS = 8
"""Groups have these before there is an event, and half of what is above them."""
LAST_EVENTS = 10
"""So many stay to be read in the end."""


def screen(snapshot: Snapshot, *, columns: int, rows: int, colour: bool, zone: tzinfo | None = None) -> list[str]:
    """Return the lines to show; times are told in the zone, or in that of this machine."""
    events = [event_lines(each, columns, zone) for each in snapshot.events[-rows:]]
    told = Piece(printable(snapshot.state), Style.WARNING) if snapshot.state else Piece("Ctrl-C ends it.", Style.QUIET)
    left = (Piece("Penstock", Style.STRONG), Piece(f", up for {_lasting(snapshot)}. ", Style.QUIET), told)
    header = apart(left, line(clock(snapshot.at, zone), Style.QUIET), columns)
    parts = _shared_out(rows - 1, *sections(snapshot, columns), events)
    return [painted(each, columns, colour=colour) for each in _below(header, parts)[:rows]]


def last_screen(snapshot: Snapshot, *, columns: int, colour: bool, zone: tzinfo | None = None) -> list[str]:
    """Return what is left to be read when everything has ended: what became of groups, and what happened last."""
    _, _, groups = sections(snapshot, columns)
    events = [event_lines(each, columns, zone) for each in snapshot.events[-LAST_EVENTS:]]
    header = (Piece("Penstock has ended.", Style.STRONG), Piece(f" It was up for {_lasting(snapshot)}.", Style.QUIET))
    parts = (groups.lines, list(chain.from_iterable(events)))
    return [painted(each, columns, colour=colour) for each in _below(header, parts)]


def _below(header: Line, parts: Sequence[list[Line]]) -> list[Line]:
    return [header, *chain.from_iterable([EMPTY, *part] for part in parts if part)]


def _lasting(snapshot: Snapshot) -> str:
    return human.duration((snapshot.at - snapshot.started).total_seconds())


def _shared_out(
    rows: int, connections: Section, streams: Section, groups: Section, events: Sequence[list[Line]]
) -> tuple[list[Line], list[Line], list[Line], list[Line]]:
    """Give rows to groups first, then to a few events, connections and streams; what is left has more events."""
    for_events = min(_height(list(chain.from_iterable(events[-LEAST_EVENTS:]))), max(0, rows - ROWS_OF_GROUPS) // 2)
    shown_groups = groups.fitted(rows - for_events - 1)
    spare = rows - for_events - _height(shown_groups)
    shown_connections = connections.fitted(spare - 1)
    spare -= _height(shown_connections)
    shown_streams = streams.fitted(spare - 1)
    spare -= _height(shown_streams)
    return shown_connections, shown_streams, shown_groups, _latest(events, spare + for_events - 1)


def _height(part: list[Line]) -> int:
    """Return how many rows a part takes, with the empty one before it."""
    return len(part) + 1 if part else 0


def _latest(events: Sequence[list[Line]], rows: int) -> list[Line]:
    """Return the last events that fit, each as a whole."""
    shown: list[Line] = []
    for event in reversed(events):
        if len(shown) + len(event) > rows:
            break
        shown = [*event, *shown]
    return shown
