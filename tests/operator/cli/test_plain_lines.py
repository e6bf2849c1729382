"""What `penstock up` says without a terminal: each event once, and how groups stand when that has changed."""

from dataclasses import replace
from datetime import UTC, timedelta

from penstock_operator.cli.plain_lines import PlainLines
from penstock_operator.local.snapshot import Event, Level
from tests.operator.cli.snapshots import BROKEN, EVENTS, NOW, ORDERS, SNAPSHOT

LATER = replace(SNAPSHOT, at=NOW + timedelta(seconds=6))


def test_each_event_is_a_line_said_once() -> None:
    said = PlainLines(UTC)
    first = said.of(replace(SNAPSHOT, groups=()))
    assert first == [
        "2026-01-31 12:00:00 Connection default/nats: A NATS server was started.",
        "2026-01-31 12:01:20 warning: QueueGroup default/orders: Worker 1 was killed.",
        "2026-01-31 12:01:21 error: QueueGroup default/enrich: The code is wrong.",
    ]
    news = Event(NOW, Level.INFO, "", "All is well.")
    assert said.of(replace(LATER, groups=(), events=(*EVENTS[1:], news))) == ["2026-01-31 12:01:23 All is well."]


def test_events_that_were_all_forgotten_meanwhile_leave_no_gap_in_what_follows() -> None:
    said = PlainLines(UTC)
    said.of(SNAPSHOT)
    news = tuple(Event(NOW, Level.INFO, "", f"Event {number}.") for number in range(3))
    assert len(said.of(replace(LATER, events=news))) == 3


def test_a_group_is_told_of_when_something_has_changed_and_some_seconds_have_passed() -> None:
    said = PlainLines(UTC)
    said.of(SNAPSHOT)
    assert said.of(LATER) == []
    busy = replace(ORDERS, in_flight=1)
    soon = replace(LATER, at=LATER.at + timedelta(seconds=1), groups=(busy, BROKEN))
    assert said.of(soon) == []
    [line] = said.of(replace(soon, at=LATER.at + timedelta(seconds=5)))
    assert line == (
        "2026-01-31 12:01:34 QueueGroup default/orders: Working, 2 of 3 workers, 120,412 pending, 20,000 unacked, "
        "1 in flight, 43,120 msg/s, 1,203,000 settled, 3 dead, batches: 41 ok, 1 data"
    )


def test_in_the_end_it_is_said_how_groups_stand_if_that_was_not_said_yet() -> None:
    said = PlainLines(UTC)
    said.of(SNAPSHOT)
    assert said.how_groups_stand(SNAPSHOT) == []
    assert len(said.how_groups_stand(replace(SNAPSHOT, groups=(replace(ORDERS, pending=0), BROKEN)))) == 1


def test_what_up_itself_does_is_said_once() -> None:
    said = PlainLines(UTC)
    said.of(SNAPSHOT)
    stopping = replace(SNAPSHOT, state="Stopping.")
    assert said.of(stopping) == ["2026-01-31 12:01:23 Stopping."]
    assert said.of(stopping) == []
