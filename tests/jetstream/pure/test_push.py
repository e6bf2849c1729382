"""What a push subscription answers and notices, each rule by itself, without a server."""

from collections.abc import Callable

import pytest

from penstock_jetstream.core.actions import Report, Verify, WakeAt
from penstock_jetstream.core.push import Action, Publish, Push, Pushed, Raise
from penstock_jetstream.errors import ConsumerDeletedError, GapError, HeartbeatMissedError, UnknownStatusError
from tests.jetstream.pure.driving import end_error

HEARTBEAT_SECONDS = 2.0


def pushed(**facts: float) -> Push:
    return Push(Pushed(**{"stream": "ORDERS", "consumer": "etl", **facts}))  # type: ignore[arg-type]  # by name


def heartbeat(machine: Push, now: float = 0, *, last: int = 0, stalled: str = "") -> list[Action]:
    headers = {"Nats-Last-Consumer": f"{last}", "Nats-Last-Stream": "0"}
    if stalled:
        headers["Nats-Consumer-Stalled"] = stalled
    return machine.status(100, "Idle Heartbeat", headers, reply="", now=now)


def flow_control(machine: Push, subject: str, now: float = 0) -> list[Action]:
    return machine.status(100, "FlowControl Request", {}, reply=subject, now=now)


def gaps(actions: list[Action]) -> list[tuple[int, int]]:
    """Return what was expected and what arrived, of each gap that is reported."""
    errors = [action.error for action in actions if isinstance(action, Report)]
    return [(error.expected, error.got) for error in errors if isinstance(error, GapError)]


# Heartbeats


@pytest.mark.requirement("S-24")
def test_a_heartbeat_is_missed_after_three_intervals_of_silence_or_as_many_as_configured() -> None:
    machine = pushed(heartbeat_seconds=HEARTBEAT_SECONDS)
    assert machine.connected(10) == [WakeAt(16)]
    assert machine.tick(15.9) == [WakeAt(16)]
    report, *actions = machine.tick(16)
    assert isinstance(report, Report)
    assert isinstance(report.error, HeartbeatMissedError)
    assert report.error.silent_seconds == 6
    assert actions == [Verify(), WakeAt(22)]
    assert pushed(heartbeat_seconds=HEARTBEAT_SECONDS, alarm_factor=1.5).connected(10) == [WakeAt(13)]
    machine.disconnected()
    assert machine.tick(60) == []
    assert machine.connected(70) == [WakeAt(76)]
    without_heartbeats = pushed()
    assert without_heartbeats.connected(10) == []
    assert without_heartbeats.tick(1000) == []


ARRIVALS: dict[str, Callable[[Push], object]] = {
    "message": lambda machine: machine.message(1, 15),
    "heartbeat": lambda machine: heartbeat(machine, 15),
    "flow control": lambda machine: flow_control(machine, "$JS.FC.x", 15),
    "unknown status": lambda machine: machine.status(777, "Unknown", {}, reply="", now=15),
}


@pytest.mark.requirement("S-25", "X-01")
def test_anything_that_arrives_resets_the_timer(subtests: pytest.Subtests) -> None:
    """No new timer is set: the one that is running finds, when it ends, that it is not yet time."""
    for name, arrive in ARRIVALS.items():
        with subtests.test(name):
            machine = pushed(heartbeat_seconds=HEARTBEAT_SECONDS)
            machine.connected(10)
            arrive(machine)
            assert machine.tick(16) == [WakeAt(21)]


@pytest.mark.requirement("S-33")
def test_a_consumer_that_is_gone_or_deleted_ends_the_subscription_with_an_error() -> None:
    assert pushed().verified(exists=True) == []
    assert isinstance(end_error(pushed().verified(exists=False)), ConsumerDeletedError)
    deleted = pushed().status(409, "Consumer Deleted", {}, reply="", now=0)
    assert isinstance(end_error(deleted), ConsumerDeletedError)


# Gaps


@pytest.mark.requirement("S-14", "S-26")
def test_messages_in_order_those_of_other_publishers_and_those_of_other_members_are_no_gap() -> None:
    machine = pushed(is_new=True)
    assert machine.message(None, 0) == [], "published to the subject by hand"
    assert [machine.message(sequence, 0) for sequence in (1, 2, 3)] == [[], [], []]
    assert heartbeat(machine, last=3) == []
    member = pushed(is_shared=True, is_new=True)
    assert member.message(5, 0) == []
    assert heartbeat(member, last=9) == []


@pytest.mark.requirement("S-26", "X-14")
def test_a_gap_is_reported_once_whether_a_message_or_a_heartbeat_or_a_reset_shows_it() -> None:
    machine = pushed(is_new=True)
    assert gaps(machine.message(3, 0)) == [(1, 3)], "a new consumer begins with its first message"
    assert gaps(machine.message(6, 0)) == [(4, 6)]
    assert machine.message(7, 0) == []
    assert gaps(heartbeat(machine, last=9)) == [(8, 10)]
    assert heartbeat(machine, last=9) == []
    assert machine.message(10, 0) == []
    reset = machine.message(1, 0)
    assert gaps(reset) == [(11, 1)]
    assert "reset" in str(reset[0])
    assert machine.message(2, 0) == []
    for first in ("message", "heartbeat"):
        existing = pushed()
        assert (existing.message(41, 0) if first == "message" else heartbeat(existing, last=41)) == []
        assert gaps(existing.message(43, 0)) == [(42, 43)]


# Flow control


@pytest.mark.requirement("S-27", "S-29", "S-30")
def test_flow_control_and_a_stalled_heartbeat_are_answered_at_once_when_nothing_is_buffered() -> None:
    """A consumer stalls when its flow control request, or our answer to it, was lost."""
    for subject in ("$JS.FC.a", "not.what we expect"):
        assert flow_control(pushed(), subject) == [Publish(subject)]
    assert heartbeat(pushed(), stalled="$JS.FC.a") == [Publish("$JS.FC.a")]


@pytest.mark.requirement("S-27")
def test_flow_control_is_answered_when_what_arrived_before_it_has_been_handed_over() -> None:
    machine = pushed()
    machine.message(1, 0)
    machine.message(2, 0)
    assert flow_control(machine, "$JS.FC.a") == []
    machine.message(3, 0)
    assert machine.answers_at == 2
    assert machine.handed(1) == []
    assert machine.handed(2) == [Publish("$JS.FC.a")]
    assert machine.answers_at is None
    assert machine.handed(3) == []
    for sequence, subject in enumerate(("$JS.FC.b", "$JS.FC.c"), start=4):
        machine.message(sequence, 0)
        flow_control(machine, subject)
    assert machine.handed(5) == [Publish("$JS.FC.b"), Publish("$JS.FC.c")]


@pytest.mark.requirement("S-30", "S-27")
def test_each_stall_is_answered_once_and_not_before_the_user_caught_up() -> None:
    machine = pushed()
    flow_control(machine, "$JS.FC.a")
    assert heartbeat(machine, stalled="$JS.FC.a") == []
    assert heartbeat(machine, stalled="$JS.FC.b") == [Publish("$JS.FC.b")]
    assert heartbeat(machine, stalled="$JS.FC.a") == []
    machine = pushed(is_new=True)
    machine.message(1, 0)
    flow_control(machine, "$JS.FC.a")
    assert heartbeat(machine, last=1, stalled="$JS.FC.a") == []
    assert machine.handed(1) == [Publish("$JS.FC.a")]


# Statuses


@pytest.mark.requirement("S-32", "S-33")
def test_no_messages_and_timeouts_are_ignored_and_any_other_status_is_raised() -> None:
    for code in (404, 408):
        assert pushed().status(code, "No Messages", {}, reply="", now=0) == []
    for code in (409, 503, 777):
        (action,) = pushed().status(code, "Something Else", {}, reply="", now=0)
        assert isinstance(action, Raise)
        assert isinstance(action.error, UnknownStatusError)
        assert (action.error.code, action.error.description) == (code, "Something Else")
