"""What a push subscription answers and notices, each rule by itself, without a server."""

import pytest

from penstock_jetstream.core.actions import End, Report, Verify, WakeAt
from penstock_jetstream.core.push import Action, Publish, Push, Pushed, Raise
from penstock_jetstream.errors import (
    ConsumerDeletedError,
    GapError,
    HeartbeatMissedError,
    UnknownStatusError,
)

HEARTBEAT_SECONDS = 2.0


def pushed(**facts: float) -> Push:
    return Push(Pushed(**{"stream": "ORDERS", "consumer": "etl", **facts}))  # type: ignore[arg-type]  # by name


def heartbeat(machine: Push, now: float = 0, *, last: int = 0, stalled: str = "") -> list[Action]:
    headers = {"Nats-Last-Consumer": f"{last}", "Nats-Last-Stream": "0"}
    if stalled:
        headers["Nats-Consumer-Stalled"] = stalled
    return machine.status(100, "Idle Heartbeat", headers, reply="", now=now)


def flow_control(machine: Push, subject: str) -> list[Action]:
    return machine.status(100, "FlowControl Request", {}, reply=subject, now=0)


def gaps(actions: list[Action]) -> list[tuple[int, int]]:
    """Return what was expected and what came, of each gap that is reported."""
    errors = [action.error for action in actions if isinstance(action, Report)]
    return [(error.expected, error.got) for error in errors if isinstance(error, GapError)]


class TestHeartbeats:
    @pytest.mark.requirement("S-24")
    def test_the_alarm_sounds_after_three_intervals_of_silence(self) -> None:
        machine = pushed(heartbeat_seconds=HEARTBEAT_SECONDS)
        assert machine.connected(10) == [WakeAt(16)]
        assert machine.tick(15.9) == [WakeAt(16)]
        report, verify, wake = machine.tick(16)
        assert isinstance(report, Report)
        assert isinstance(report.error, HeartbeatMissedError)
        assert report.error.silent_seconds == 6
        assert (verify, wake) == (Verify(), WakeAt(22))

    @pytest.mark.requirement("S-24")
    def test_how_many_intervals_is_the_callers_choice(self) -> None:
        machine = pushed(heartbeat_seconds=HEARTBEAT_SECONDS, alarm_factor=1.5)
        assert machine.connected(10) == [WakeAt(13)]

    @pytest.mark.requirement("S-25", "X-01")
    @pytest.mark.parametrize("kind", ["message", "heartbeat", "flow control", "unknown status"])
    def test_whatever_comes_resets_the_timer(self, kind: str) -> None:
        """Nothing is set anew for it: the timer that is running finds, when it ends, that it is not yet time."""
        machine = pushed(heartbeat_seconds=HEARTBEAT_SECONDS)
        machine.connected(10)
        if kind == "message":
            machine.message(1, 15)
        elif kind == "heartbeat":
            heartbeat(machine, 15)
        else:
            machine.status(100 if kind == "flow control" else 777, kind, {}, reply="$JS.FC.x", now=15)
        assert machine.tick(16) == [WakeAt(21)]

    def test_no_alarm_sounds_while_there_is_no_link(self) -> None:
        machine = pushed(heartbeat_seconds=HEARTBEAT_SECONDS)
        machine.connected(10)
        machine.disconnected()
        assert machine.tick(60) == []
        assert machine.connected(70) == [WakeAt(76)]

    def test_a_consumer_without_heartbeats_may_be_silent(self) -> None:
        machine = pushed()
        assert machine.connected(10) == []
        assert machine.tick(1000) == []

    def test_an_alarm_that_finds_the_consumer_there_goes_on(self) -> None:
        assert pushed().verified(exists=True) == []

    def test_an_alarm_that_finds_the_consumer_gone_ends_the_subscription_with_an_error(self) -> None:
        (end,) = pushed().verified(exists=False)
        assert isinstance(end, End)
        assert isinstance(end.error, ConsumerDeletedError)


class TestGaps:
    @pytest.mark.requirement("S-26")
    def test_what_comes_in_order_is_no_gap(self) -> None:
        machine = pushed(is_new=True)
        assert [machine.message(sequence, 0) for sequence in (1, 2, 3)] == [[], [], []]
        assert heartbeat(machine, last=3) == []

    @pytest.mark.requirement("S-26")
    def test_a_message_that_skips_some_is_reported_once_and_is_not_the_end(self) -> None:
        machine = pushed(is_new=True)
        machine.message(1, 0)
        assert gaps(machine.message(4, 0)) == [(2, 4)]
        assert machine.message(5, 0) == []

    @pytest.mark.requirement("S-26")
    def test_a_heartbeat_tells_that_the_last_messages_were_lost(self) -> None:
        machine = pushed(is_new=True)
        machine.message(1, 0)
        assert gaps(heartbeat(machine, last=3)) == [(2, 4)]
        assert heartbeat(machine, last=3) == []
        assert machine.message(4, 0) == []

    @pytest.mark.requirement("S-26")
    def test_the_first_messages_of_a_new_consumer_are_missed_too(self) -> None:
        assert gaps(pushed(is_new=True).message(3, 0)) == [(1, 3)]

    @pytest.mark.requirement("S-26")
    @pytest.mark.parametrize("first", ["message", "heartbeat"])
    def test_a_consumer_that_was_there_before_may_begin_anywhere(self, first: str) -> None:
        machine = pushed()
        assert (machine.message(41, 0) if first == "message" else heartbeat(machine, last=41)) == []
        assert gaps(machine.message(43, 0)) == [(42, 43)]

    @pytest.mark.requirement("S-26", "X-14")
    def test_a_consumer_that_was_reset_is_told_and_is_not_the_end(self) -> None:
        machine = pushed(is_new=True)
        machine.message(1, 0)
        machine.message(2, 0)
        actions = machine.message(1, 0)
        assert gaps(actions) == [(3, 1)]
        assert "reset" in str(actions[0])
        assert machine.message(2, 0) == []

    @pytest.mark.requirement("S-26")
    def test_a_member_of_a_queue_sees_only_some_and_misses_none(self) -> None:
        machine = pushed(is_shared=True, is_new=True)
        assert machine.message(5, 0) == []
        assert heartbeat(machine, last=9) == []

    @pytest.mark.requirement("S-14")
    def test_a_message_that_somebody_sent_to_the_subject_by_hand_is_in_no_sequence(self) -> None:
        machine = pushed(is_new=True)
        assert machine.message(None, 0) == []
        assert machine.message(1, 0) == []


class TestFlowControl:
    @pytest.mark.requirement("S-27")
    def test_it_is_answered_at_once_when_nothing_is_buffered(self) -> None:
        assert flow_control(pushed(), "$JS.FC.a") == [Publish("$JS.FC.a")]

    @pytest.mark.requirement("S-27")
    def test_it_is_answered_when_what_came_before_it_has_been_handed_over(self) -> None:
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

    @pytest.mark.requirement("S-27")
    def test_handing_over_many_at_a_time_answers_all_that_is_due(self) -> None:
        machine = pushed()
        for sequence, subject in enumerate(("$JS.FC.a", "$JS.FC.b"), start=1):
            machine.message(sequence, 0)
            flow_control(machine, subject)
        assert machine.handed(2) == [Publish("$JS.FC.a"), Publish("$JS.FC.b")]

    @pytest.mark.requirement("S-29")
    def test_the_subject_is_answered_as_it_is_whatever_it_looks_like(self) -> None:
        assert flow_control(pushed(), "not.what we expect") == [Publish("not.what we expect")]

    @pytest.mark.requirement("S-30")
    def test_a_heartbeat_of_a_stalled_consumer_is_answered(self) -> None:
        """Its flow control request, or our answer to it, was lost."""
        assert heartbeat(pushed(), stalled="$JS.FC.a") == [Publish("$JS.FC.a")]

    @pytest.mark.requirement("S-30")
    def test_each_stall_is_answered_once_however_often_it_is_told(self) -> None:
        machine = pushed()
        flow_control(machine, "$JS.FC.a")
        assert heartbeat(machine, stalled="$JS.FC.a") == []
        assert heartbeat(machine, stalled="$JS.FC.b") == [Publish("$JS.FC.b")]
        assert heartbeat(machine, stalled="$JS.FC.a") == []

    @pytest.mark.requirement("S-30", "S-27")
    def test_a_consumer_that_stalls_because_we_are_slow_is_not_answered_before_we_are_done(self) -> None:
        machine = pushed(is_new=True)
        machine.message(1, 0)
        flow_control(machine, "$JS.FC.a")
        assert heartbeat(machine, last=1, stalled="$JS.FC.a") == []
        assert machine.handed(1) == [Publish("$JS.FC.a")]


class TestStatuses:
    @pytest.mark.requirement("S-32")
    @pytest.mark.parametrize("code", [404, 408])
    def test_no_messages_and_timeouts_are_nothing(self, code: int) -> None:
        assert pushed().status(code, "No Messages", {}, reply="", now=0) == []

    @pytest.mark.requirement("S-33")
    @pytest.mark.parametrize("code", [409, 503, 777])
    def test_any_other_status_is_raised_and_not_delivered(self, code: int) -> None:
        (action,) = pushed().status(code, "Something Else", {}, reply="", now=0)
        assert isinstance(action, Raise)
        assert isinstance(action.error, UnknownStatusError)
        assert (action.error.code, action.error.description) == (code, "Something Else")

    @pytest.mark.requirement("S-33")
    def test_a_consumer_that_was_deleted_is_the_end(self) -> None:
        (action,) = pushed().status(409, "Consumer Deleted", {}, reply="", now=0)
        assert isinstance(action, End)
        assert isinstance(action.error, ConsumerDeletedError)
