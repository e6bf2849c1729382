"""What `penstock up` prints without a terminal: each event once, and the state of groups when it has changed."""

from dataclasses import replace
from datetime import UTC, timedelta

from penstock_operator.cli.plain_lines import PlainLines
from penstock_operator.local.snapshot import Event, Level
from tests.operator.cli.snapshots import BROKEN, EVENTS, NOW, ORDERS, SNAPSHOT

LATER = replace(SNAPSHOT, at=NOW + timedelta(seconds=6))


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
    lines = PlainLines(UTC)
    lines.of(SNAPSHOT)
    news = tuple(Event(NOW, Level.INFO, "", f"Event {number}.") for number in range(3))
    assert len(lines.of(replace(LATER, events=news))) == 3


def test_a_changed_group_is_printed_after_some_seconds() -> None:
    lines = PlainLines(UTC)
    lines.of(SNAPSHOT)
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
    lines = PlainLines(UTC)
    lines.of(SNAPSHOT)
    assert lines.how_groups_stand(SNAPSHOT) == []
    assert len(lines.how_groups_stand(replace(SNAPSHOT, groups=(replace(ORDERS, pending=0), BROKEN)))) == 1


def test_the_state_of_up_is_printed_once() -> None:
    lines = PlainLines(UTC)
    lines.of(SNAPSHOT)
    stopping = replace(SNAPSHOT, state="Stopping.")
    assert lines.of(stopping) == ["2026-01-31 12:01:23 Stopping."]
    assert lines.of(stopping) == []
