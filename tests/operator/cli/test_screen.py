"""What `penstock up` shows: on any terminal the most important lines, and without one a line for each change."""

from dataclasses import replace
from datetime import UTC, timedelta

import click
from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.cli.plain_lines import PlainLines
from penstock_operator.cli.screen import last_screen, screen
from penstock_operator.cli.widths import width
from penstock_operator.local.snapshot import Event, Level, Phase, Snapshot
from tests.operator.cli.snapshots import BROKEN, EVENTS, NOW, ORDERS, SNAPSHOT, STARTED


def shown(snapshot: Snapshot = SNAPSHOT, *, columns: int = 110, rows: int = 30) -> list[str]:
    return screen(snapshot, columns=columns, rows=rows, colour=False, zone=UTC)


def test_all_objects_and_events_are_shown() -> None:
    assert shown() == [
        "Penstock, up for 83s. Ctrl-C ends it." + 65 * " " + "12:01:23",
        "",
        "CONNECTION   STATE       SERVER",
        "nats         Connected   nats://127.0.0.1:4222, started here",
        "",
        "STREAM        STATE     MESSAGES       SIZE",
        "orders        Ready      120,412   21.3 MiB",
        "orders-dead   Ready            3    2.0 KiB",
        "",
        "GROUP    STATE      WORKERS     PENDING   UNACKED   IN FLIGHT     MSG/S     SETTLED   DEAD   BATCHES",
        "orders   Working        2/3     120,412    20,000           2    43,120   1,203,000      3   41 ok, 1 data",
        "  pending 120,412 (2 batches), held 20,000: 2 → 3",
        "enrich   Failed         0/0           -         -           0         -           0      -   -",
        "  enrich.py:12: NameError: name 'custmers' is not defined. Correct it: it is read again when it is saved.",
        "",
        "12:00:00  Connection default/nats: A NATS server was started.",
        "12:01:20  warning: QueueGroup default/orders: Worker 1 was killed.",
        "12:01:21  error: QueueGroup default/enrich: The code is wrong.",
    ]


def test_a_narrow_terminal_keeps_what_matters_most() -> None:
    lines = shown(columns=46)
    assert "orders   Working      120,412    43,120      3" in lines
    assert "  enrich.py:12: NameError: name 'custmers' is" in lines, "what is to be done is wrapped, not cut"


def test_a_long_name_is_shortened_before_a_number_is_left_out() -> None:
    long = replace(ORDERS, name="orders-of-all-the-shops-that-we-have-in-europe")
    [row] = [line for line in shown(replace(SNAPSHOT, groups=(long,)), columns=80) if "120,412    43" in line]
    assert row.startswith("orders-of-all-t…have-in-europe   Working")


def test_namespaces_are_shown_where_there_are_several() -> None:
    elsewhere = replace(BROKEN, namespace="shop")
    lines = shown(replace(SNAPSHOT, groups=(ORDERS, elsewhere)))
    assert any(line.startswith("shop/enrich ") for line in lines)
    assert any(line.startswith("default/orders ") for line in lines)


def test_on_a_low_terminal_failed_groups_come_first_and_the_rest_is_counted() -> None:
    well = tuple(replace(ORDERS, name=f"orders-{number}") for number in range(30))
    lines = shown(replace(SNAPSHOT, groups=(*well, BROKEN)), rows=16)
    assert len(lines) <= 16
    assert any(line.startswith("enrich") for line in lines)
    assert any(line.startswith("orders-0") for line in lines)
    assert any(line.startswith("… and ") for line in lines)
    assert "12:01:21  error: QueueGroup default/enrich: The code is wrong." in lines
    assert any(line.startswith("enrich") for line in shown(rows=5))


def test_the_latest_events_fill_the_remaining_rows() -> None:
    many = tuple(replace(EVENTS[0], at=STARTED + timedelta(seconds=number)) for number in range(100))
    snapshot = replace(SNAPSHOT, events=many)
    lines = shown(snapshot, rows=50)
    assert (len(lines), lines[-1][:8]) == (50, "12:01:39")
    assert shown(snapshot, rows=12)[-1].startswith("12:01:39")
    last = last_screen(replace(snapshot, state="Stopping."), columns=110, colour=False, zone=UTC)
    assert last[0] == "Penstock has ended. It was up for 83s."
    assert last[2].startswith("GROUP")
    assert not any(line.startswith(("STREAM", "CONNECTION")) for line in last)
    assert len([line for line in last if "was started" in line]) == 10


def test_the_heading_has_the_state_of_up() -> None:
    assert shown(replace(SNAPSHOT, state="Stopping."))[0].startswith("Penstock, up for 83s. Stopping.")
    assert shown(Snapshot(at=NOW, started=STARTED)) == [shown()[0]], "without objects there is no more"


def test_a_slow_rate_is_not_rounded_to_zero() -> None:
    lines = shown(replace(SNAPSHOT, groups=(replace(ORDERS, messages_per_second=0.42),)))
    assert any(" 0.4 " in line for line in lines)


def test_without_colour_the_words_are_the_same() -> None:
    for phase in Phase:
        snapshot = replace(SNAPSHOT, groups=(replace(ORDERS, phase=phase), BROKEN))
        painted = screen(snapshot, columns=110, rows=30, colour=True, zone=UTC)
        assert [click.unstyle(line) for line in painted] == shown(snapshot)
        assert painted != shown(snapshot)
        assert any(phase.value in line for line in painted)


texts = st.text(max_size=40) | st.sampled_from(("注文", "e\u0301" * 9, "\x1b[31m", "a" * 300))


@given(
    columns=st.integers(1, 160),
    rows=st.integers(1, 40),
    names=st.lists(texts, max_size=8),
    message=texts,
    levels=st.tuples(st.sampled_from(Phase), st.sampled_from(Level)),
)
def test_the_screen_fits_any_terminal_with_any_text(
    columns: int, rows: int, names: list[str], message: str, levels: tuple[Phase, Level]
) -> None:
    phase, level = levels
    snapshot = replace(
        SNAPSHOT,
        groups=tuple(replace(ORDERS, name=name, message=message, phase=phase) for name in names),
        events=tuple(replace(EVENTS[0], message=f"{name} {message}", level=level) for name in names),
        streams=tuple(replace(SNAPSHOT.streams[0], name=name, state=message) for name in names),
        connections=tuple(replace(SNAPSHOT.connections[0], namespace=name, message=message) for name in names),
        state=message,
    )
    lines = screen(snapshot, columns=columns, rows=rows, colour=False, zone=UTC)
    assert len(lines) <= rows
    for line in (*lines, *last_screen(snapshot, columns=columns, colour=False, zone=UTC)):
        assert width(line) <= columns
        assert not set("\x1b\n\r") & set(line)


LATER = replace(SNAPSHOT, at=NOW + timedelta(seconds=6))


def printed() -> PlainLines:
    """Return lines that have printed the snapshot."""
    lines = PlainLines(UTC)
    lines.of(SNAPSHOT)
    return lines


def test_each_event_is_printed_once() -> None:
    lines = PlainLines(UTC)
    first = lines.of(replace(SNAPSHOT, groups=()))
    assert first == [
        "2026-01-31 12:00:00 Connection default/nats: A NATS server was started.",
        "2026-01-31 12:01:20 warning: QueueGroup default/orders: Worker 1 was killed.",
        "2026-01-31 12:01:21 error: QueueGroup default/enrich: The code is wrong.",
    ]
    news = Event(NOW, Level.INFO, "", "All is well.")
    assert lines.of(replace(LATER, groups=(), events=(*EVENTS[1:], news))) == ["2026-01-31 12:01:23 All is well."]


def test_events_after_forgotten_ones_are_printed() -> None:
    lines = printed()
    news = tuple(Event(NOW, Level.INFO, "", f"Event {number}.") for number in range(3))
    assert len(lines.of(replace(LATER, events=news))) == 3


def test_a_changed_group_is_printed_after_some_seconds() -> None:
    lines = printed()
    assert lines.of(LATER) == []
    busy = replace(ORDERS, in_flight=1)
    soon = replace(LATER, at=LATER.at + timedelta(seconds=1), groups=(busy, BROKEN))
    assert lines.of(soon) == []
    [line] = lines.of(replace(soon, at=LATER.at + timedelta(seconds=5)))
    assert line == (
        "2026-01-31 12:01:34 QueueGroup default/orders: Working, 2 of 3 workers, 120,412 pending, 20,000 unacked, "
        "1 in flight, 43,120 msg/s, 1,203,000 settled, 3 dead, batches: 41 ok, 1 data"
    )


def test_unprinted_states_of_groups_are_printed_at_the_end() -> None:
    lines = printed()
    assert lines.how_groups_stand(SNAPSHOT) == []
    assert len(lines.how_groups_stand(replace(SNAPSHOT, groups=(replace(ORDERS, pending=0), BROKEN)))) == 1


def test_the_state_of_up_is_printed_once() -> None:
    lines = printed()
    stopping = replace(SNAPSHOT, state="Stopping.")
    assert lines.of(stopping) == ["2026-01-31 12:01:23 Stopping."]
    assert lines.of(stopping) == []
