"""What Consume does, by example. Times are in seconds; each message has 100 bytes unless a test says otherwise."""

import pytest

from penstock_jetstream import errors
from penstock_jetstream.core.actions import End, Pinned, Pull, Resubscribe, Unpinned, Unsubscribe, Verify
from penstock_jetstream.core.consume import REACTIONS, TRANSITIONS, Consume, Signal, State, Then
from penstock_jetstream.core.statuses import Kind
from tests.jetstream.pure.driving import (
    SIZE,
    STATUSES,
    batches,
    consume,
    consumed,
    end_error,
    only,
    pulls,
    reported,
    started,
    status,
    wake_at,
)

TOO_LARGE = "409 Message Size Exceeds MaxBytes"
NO_PINS = "400 Bad Request - Not a Pinned Client Priority consumer"


@pytest.mark.requirement("C-25", "C-30", "C-31", "C-32", "C-33", "C-35", "C-37", "P-05")
def test_the_first_pull_asks_for_the_whole_buffer_and_the_next_when_half_of_it_is_processed() -> None:
    machine = consume(max_messages=10)
    assert pulls(machine.start(0)) == [{"batch": 10, "expires": 30_000_000_000, "idle_heartbeat": 15_000_000_000}]
    assert machine.pending == 10
    assert machine.arrived(6, 6 * SIZE, 1) == []
    assert (machine.pending, machine.in_flight, machine.buffered_messages) == (10, 4, 6)
    assert machine.processed(4, 4 * SIZE, 2) == []
    assert machine.pending == 6, "one above the threshold"
    assert batches(machine.processed(1, SIZE, 3)) == [5]
    assert machine.pending == 10


@pytest.mark.requirement("C-22", "C-31", "C-32", "C-33", "C-35")
def test_a_byte_limit_refills_in_the_same_way_with_a_batch_that_does_not_matter() -> None:
    machine = consume(max_bytes=1000)
    first = pulls(machine.start(0))
    machine.arrived(6, 600, 1)
    assert machine.processed(4, 400, 2) == []
    second = pulls(machine.processed(1, 100, 3))
    assert [(pull["batch"], pull["max_bytes"]) for pull in first + second] == [(1_000_000, 1000), (1_000_000, 500)]
    assert machine.pending == 1000


def test_no_request_asks_for_more_messages_than_the_user_allows() -> None:
    """The allowance replaces the one before, and counts from the messages processed by then."""
    machine = consume(max_messages=10)
    machine.allow(12, 0)
    assert batches(machine.start(0)) == [10]
    assert batches(consumed(machine, 10, 1)) == [2]
    assert consumed(machine, 2, 2) == []
    assert batches(machine.allow(None, 3)) == [10]
    machine = consume(max_messages=10)
    machine.allow(10, 0)
    asked = batches(machine.start(0))
    for now in range(1, 6):
        assert batches(consumed(machine, 10, now)) == []
        asked += batches(machine.allow(10, now))
    assert asked == [10] * 6
    machine = consume(max_bytes=1000)
    machine.allow(7, 0)
    first = pulls(machine.start(0))
    assert consumed(machine, 7, 1) == []
    assert machine.allow(5, 2) == [], "the first request may bring more, as only its bytes are limited"
    second = pulls(machine.status(status("409 Batch Completed", request=1, size_bytes=300), 3))
    assert [(pull["batch"], pull["max_bytes"]) for pull in first + second] == [(7, 1000), (5, 1000)]


@pytest.mark.requirement("C-26", "C-27", "C-35")
def test_a_threshold_of_the_maximum_or_of_zero_makes_neither_a_request_per_message_nor_a_stall() -> None:
    machine = consume(max_messages=10, threshold_messages=10)
    asked = batches(machine.start(0))
    machine.arrived(5, 5 * SIZE, 1)
    for _ in range(5):
        asked += batches(machine.processed(1, SIZE, 2))
    assert asked == [10, 1, 1], "three open requests are enough: they count against max_waiting"
    asked += batches(machine.arrived(2, 2 * SIZE, 3))
    assert asked == [10, 1, 1, 3], "each open request got one message in turn, which completed the second"
    machine = started(max_messages=2, threshold_messages=0)
    machine.arrived(2, 2 * SIZE, 1)
    assert [batches(machine.processed(1, SIZE, 2)) for _ in range(2)] == [[], [2]]
    machine = started(max_messages=1)
    assert [batches(consumed(machine, 1, second)) for second in range(1, 6)] == [[1]] * 5


@pytest.mark.requirement("C-31")
def test_thousands_of_messages_are_counted_in_one_call_but_none_that_never_arrived() -> None:
    machine = started()
    machine.arrived(1, SIZE, 1)
    with pytest.raises(errors.UsageError, match="fewer came"):
        machine.processed(2, 2 * SIZE, 2)
    assert batches(consumed(started(max_messages=100_000), 60_000, 1)) == [60_000]


# Statuses


def after_four_unanswered_requests(machine: Consume) -> float:
    """Answer the first four requests with 503, and return when the fifth was made."""
    now = 0.0
    for request in range(1, 5):
        now = wake_at(machine.status(status("503 ", request=request), now))
        machine.tick(now)
    return now


@pytest.mark.requirement("C-34", "C-42", "C-44")
def test_what_an_ended_request_had_left_is_subtracted_and_requested_again(subtests: pytest.Subtests) -> None:
    for text in ("408 Request Timeout", "408 Interest Expired", "409 Batch Completed"):
        with subtests.test(text):
            machine = started()
            machine.arrived(3, 3 * SIZE, 1)
            actions = machine.status(status(text, request=1, messages=7, size_bytes=0), 30)
            assert (batches(actions), reported(actions)) == ([7], []), "three are still buffered"
            assert machine.pending == 10


@pytest.mark.requirement("C-34")
def test_a_status_that_arrives_before_its_last_messages_leaves_room_for_them_until_the_expiry() -> None:
    """In a cluster messages wait for a quorum, statuses do not."""
    machine = started()
    assert batches(machine.status(status("408 Request Timeout", request=1, messages=4), 30)) == []
    assert machine.in_flight == 6
    assert batches(machine.arrived(6, 6 * SIZE, 30.1)) == []
    assert batches(machine.processed(6, 6 * SIZE, 30.1)) == [10]
    machine = started()
    machine.status(status("408 Request Timeout", request=1, messages=4), 29)
    assert batches(machine.tick(30)) == [10], "last messages that never arrive are not awaited"


@pytest.mark.requirement("C-40", "S-33")
def test_a_final_status_ends_it_once_with_an_error_that_names_the_consumer(subtests: pytest.Subtests) -> None:
    kinds = {
        "409 Consumer Deleted": errors.ConsumerDeletedError,
        "409 Consumer is push based": errors.PushBasedError,
        "400 Bad Request - Priority Group missing": errors.BadRequestError,
        "412 Required Api Level": errors.RequiredLevelError,
    }
    for text, kind in kinds.items():
        with subtests.test(text):
            machine = started()
            error = end_error(machine.status(status(text, request=1), 1))
            assert isinstance(error, kind)
            assert "etl" in str(error)
            assert "ORDERS" in str(error)
            assert machine.state is State.ENDED
            assert machine.status(status(text, request=1), 2) == []


@pytest.mark.requirement("C-41", "C-44", "S-33")
def test_a_status_that_may_pass_is_reported_and_retried_with_a_backoff_of_at_most_two_heartbeats(
    subtests: pytest.Subtests,
) -> None:
    cases = {
        "409 Exceeded MaxRequestBatch of 5": "RequestRefusedError",
        "409 Exceeded MaxRequestExpires of 5s": "RequestRefusedError",
        "409 Exceeded MaxRequestMaxBytes of 5": "RequestRefusedError",
        "409 Exceeded MaxWaiting": "RequestRefusedError",
        "409 Server Shutdown": "RequestLostError",
        "503 ": "NoLeaderOrMissingError",
        "418 I'm a teapot": "UnknownStatusError",
    }
    for text, error in cases.items():
        with subtests.test(text):
            machine = started()
            now, waits = 0.0, []
            for request in range(1, 8):
                actions = machine.status(status(text, request=request), now)
                assert (reported(actions), batches(actions)) == ([error], [])
                waits.append(wake_at(actions) - now)
                now = wake_at(actions)
                assert batches(machine.tick(now)) == [10]
            assert waits == [1, 2, 4, 8, 10, 10, 10]
    with subtests.test("naive: wait 8 s although a leader was elected, where a lost request is noticed after 4 s"):
        machine = started(expires_seconds=10, idle_heartbeat_seconds=2)
        second, asked_at = 0, []
        for request in range(1, 6):
            machine.status(status("503 ", request=request), second)
            second = next(later for later in range(second + 1, 60) if batches(machine.tick(later)))
            asked_at.append(second)
        assert asked_at == [1, 3, 7, 11, 15]


@pytest.mark.requirement("C-41")
def test_only_a_heartbeat_of_the_latest_request_ends_a_series_of_failures() -> None:
    """Naive: any heartbeat does. Then one old request is enough to repeat a refused one every second, forever."""
    machine = started()
    now = after_four_unanswered_requests(machine)
    machine.status(status("100 Idle Heartbeat", request=5), now + 15)
    assert wake_at(machine.status(status("503 ", request=5), now + 20)) == now + 21
    machine = started()
    assert batches(consumed(machine, 5, 1)) == [5]
    now = 1.0
    for request, wait in zip(range(2, 6), (1, 2, 4, 8), strict=True):
        machine.status(status("100 Idle Heartbeat", request=1), now)
        actions = machine.status(status("409 Exceeded MaxRequestBatch of 1", request=request), now)
        assert wake_at(actions) == now + wait
        now += wait
        machine.tick(now)
    assert machine.requests == 6


@pytest.mark.requirement("C-41")
def test_requests_that_fail_while_open_together_count_as_one_failure() -> None:
    """Naive: what was open when another failed never counts. Then the 503 of request 3 is answered at once."""
    machine = started()
    assert batches(consumed(machine, 5, 1)) == [5]
    assert wake_at(machine.status(status("503 ", request=1), 2)) == 3
    assert batches(machine.status(status("503 ", request=2), 2)) == []
    assert batches(machine.tick(3)) == [10]
    machine = started()
    consumed(machine, 5, 1)
    assert batches(machine.status(status("409 Leadership Change", request=1), 2)) == [5]
    assert batches(machine.status(status("409 Leadership Change", request=2), 3)) == [5]
    assert batches(machine.status(status("503 ", request=3), 4)) == []
    assert batches(machine.status(status("503 ", request=4), 4)) == []


@pytest.mark.requirement("C-42", "C-44")
def test_a_leadership_change_loses_the_request_and_it_pulls_again_at_once_and_once() -> None:
    machine = started()
    machine.arrived(6, 6 * SIZE, 1)
    machine.processed(3, 3 * SIZE, 1)
    actions = machine.status(status("409 Leadership Change", request=1), 2)
    assert batches(actions) == [7], "no header says what is left: all that had not arrived"
    assert reported(actions) == ["RequestLostError"]
    machine = started()
    consumed(machine, 5, 1)
    assert batches(machine.status(status("409 Leadership Change", request=2), 2)) == [10]
    assert machine.status(status("409 Leadership Change", request=1), 2) == []


@pytest.mark.requirement("C-42")
def test_a_request_that_ends_early_is_repeated_at_once_but_the_next_one_after_a_second(
    subtests: pytest.Subtests,
) -> None:
    cases: dict[str, list[str]] = {
        "404 No Messages": [],
        "408 Requests Pending": [],
        "408 Interest Expired": [],
        "408 Request Timeout": [],
        "409 Leadership Change": ["RequestLostError"],
    }
    for text, reports in cases.items():
        with subtests.test(text):
            machine = started()
            left = 10 if text == "408 Request Timeout" else None
            first = machine.status(status(text, request=1, messages=left), 1)
            assert (batches(first), reported(first)) == ([10], reports)
            second = machine.status(status(text, request=2, messages=left), 1.01)
            assert (batches(second), reported(second), wake_at(second)) == ([], reports, 2.01)
            assert batches(machine.tick(2.01)) == [10]
    with subtests.test("requests that last until their expiry follow each other without a pause"):
        machine = started()
        for request in range(1, 100):
            expiry = status("408 Request Timeout", request=request, messages=10)
            assert batches(machine.status(expiry, 30 * request)) == [10]


# Bytes


@pytest.mark.requirement("C-34", "C-41", "C-42")
def test_a_message_too_large_for_a_request_is_requested_when_more_of_the_buffer_is_free() -> None:
    machine = started(max_bytes=250)
    machine.arrived(2, 184, 1)
    too_large = status(TOO_LARGE, request=1, messages=999_998, size_bytes=66)
    assert machine.status(too_large, 1) == [], "184 are buffered, which is above the threshold"
    assert machine.pending == 184
    assert [pull["max_bytes"] for pull in pulls(machine.processed(1, 92, 2))] == [158]
    # It fits only the empty buffer.
    machine = started(max_bytes=1000)
    machine.arrived(5, 500, 1)
    actions = machine.status(status(TOO_LARGE, request=1, size_bytes=500), 1)
    assert [pull["max_bytes"] for pull in pulls(actions)] == [500]
    actions = machine.status(status(TOO_LARGE, request=2, messages=1_000_000, size_bytes=500), 2)
    assert (pulls(actions), reported(actions)) == ([], []), "the same pull would be refused again"
    assert pulls(machine.processed(4, 400, 3)) == []
    assert [pull["max_bytes"] for pull in pulls(machine.processed(1, 100, 4))] == [1000]
    # It fits no request.
    machine = started(max_bytes=1000)
    actions = machine.status(status(TOO_LARGE, request=1, messages=1_000_000, size_bytes=1000), 0.01)
    assert (reported(actions), pulls(actions)) == (["MessageTooLargeError"], [])
    assert [pull["max_bytes"] for pull in pulls(machine.tick(wake_at(actions)))] == [1000]


# Silence


@pytest.mark.requirement("C-50", "C-51")
def test_two_missed_heartbeats_are_reported_and_followed_by_a_new_pull(subtests: pytest.Subtests) -> None:
    machine = consume(expires_seconds=60, idle_heartbeat_seconds=5)
    assert wake_at(machine.start(0)) == 10
    machine.arrived(3, 3 * SIZE, 3)
    assert wake_at(machine.tick(10)) == 13, "two heartbeats after the last sign of life"
    actions = machine.tick(13)
    assert (reported(actions), batches(actions), wake_at(actions)) == (["HeartbeatMissedError"], [7], 23)
    for text in ("100 Idle Heartbeat", "408 Request Timeout"):
        with subtests.test("a sign of life", text=text):
            machine = started(expires_seconds=60, idle_heartbeat_seconds=5)
            machine.status(status(text, request=1, messages=10), 9.9)
            assert reported(machine.tick(10)) == []
            assert reported(machine.tick(19.9)) == ["HeartbeatMissedError"]
    with subtests.test("no heartbeat is due while nothing is requested"):
        machine = started(expires_seconds=10)
        machine.arrived(10, 10 * SIZE, 1)
        assert reported(machine.tick(11)) == []
        assert reported(machine.tick(1000)) == []
        assert batches(machine.processed(10, 10 * SIZE, 2000)) == [10]
        assert reported(machine.tick(2009)) == []
        assert reported(machine.tick(2010)) == ["HeartbeatMissedError"]
    with subtests.test("a machine that wakes late listens first: what the server sent is in the socket"):
        machine = started()
        actions = machine.tick(3600)
        assert (reported(actions), wake_at(actions)) == ([], 3601), "its expiry was lost unless it is read now"
        assert batches(machine.tick(3601)) == [10]


@pytest.mark.requirement("C-02", "C-30", "C-34", "C-35", "C-51")
def test_a_request_whose_expiry_was_lost_is_written_off_and_what_it_still_brings_counts_for_no_other() -> None:
    machine = started(expires_seconds=10, idle_heartbeat_seconds=1)
    for second in range(1, 11):
        machine.status(status("100 Idle Heartbeat", request=1), second)
        assert batches(machine.tick(second)) == []
    actions = machine.tick(11)
    assert (only(Resubscribe, actions), batches(actions)) == ([Resubscribe(10)], [10])
    machine.arrived_late(4, 4 * SIZE, 11.1)
    assert machine.status(status("408 Request Timeout", request=1, messages=6), 11.2) == []
    assert machine.in_flight == 10


@pytest.mark.requirement("C-30", "C-35", "C-51")
def test_late_messages_are_taken_and_not_mistaken_for_those_that_are_due() -> None:
    """The pulls after the alarm have an inbox of their own. The former one is left when it can bring no more."""
    machine = started(expires_seconds=60, idle_heartbeat_seconds=5)
    actions = machine.tick(10)
    assert [type(action).__name__ for action in actions] == ["Report", "Resubscribe", "Pull", "WakeAt"]
    assert only(Resubscribe, actions) == [Resubscribe(51)]
    machine.arrived_late(10, 10 * SIZE, 10.1)
    assert (machine.buffered_messages, machine.in_flight) == (10, 10)
    machine.arrived(10, 10 * SIZE, 10.2)
    assert batches(machine.processed(14, 14 * SIZE, 11)) == []
    assert batches(machine.processed(1, SIZE, 11)) == [5]


# The link


@pytest.mark.requirement("C-52", "C-53", "C-54", "C-35")
def test_without_a_link_nothing_is_requested_and_no_alarm_rings_and_afterwards_it_pulls_at_once() -> None:
    machine = started()
    machine.arrived(4, 4 * SIZE, 1)
    assert machine.disconnected(2) == [Resubscribe(0)]
    assert machine.in_flight == 0, "the server forgets the requests of a link that it lost"
    assert machine.tick(100) == machine.processed(1, SIZE, 100) == []
    actions = machine.reconnected(200)
    assert (batches(actions), wake_at(actions)) == ([7], 230)
    machine = consume(max_messages=10)
    assert machine.start(0, connected=False) == []
    assert batches(machine.reconnected(5)) == [10]
    machine = started()
    now = after_four_unanswered_requests(machine)
    machine.status(status("503 ", request=5), now)
    machine.disconnected(now)
    assert batches(machine.reconnected(now + 0.5)) == [10], "the wait after a failure ended with the link"


@pytest.mark.requirement("C-54")
def test_asks_whether_the_consumer_exists_after_a_reconnect_only_if_configured() -> None:
    machine = started(verify_on_reconnect=True)
    machine.disconnected(1)
    assert machine.reconnected(2) == [Verify()]
    assert machine.tick(500) == []
    assert batches(machine.verified(501, exists=True)) == [10]
    machine.disconnected(502)
    machine.reconnected(503)
    assert isinstance(end_error(machine.verified(504, exists=False)), errors.ConsumerDeletedError)


# Pins


@pytest.mark.requirement("G-05", "G-08", "G-15")
def test_the_pin_is_sent_with_every_pull_after_the_message_that_brought_it() -> None:
    machine = consume(group="jobs")
    (first,) = pulls(machine.start(0))
    assert (first["group"], "id" in first) == ("jobs", False)
    assert machine.pinned("abc", 1) == [Pinned("abc")]
    assert machine.pinned("abc", 1) == []
    (second,) = pulls(consumed(machine, 10, 1))
    assert (second["group"], second["id"]) == ("jobs", "abc")


@pytest.mark.requirement("C-42", "G-08", "G-09", "G-12", "G-15")
def test_a_wrong_pin_is_forgotten_and_it_pulls_at_once_without(subtests: pytest.Subtests) -> None:
    """Naive: keep a pin that the server assigned to a request without an id, and be refused again."""
    for text, left in (("423 Nats-Wrong-Pin-Id", 10), ("423 Nats-Pin-Id mismatch", None)):
        with subtests.test(text):
            machine = started(group="jobs")
            machine.pinned("abc", 1)
            consumed(machine, 10, 1)
            actions = machine.status(status(text, request=2, messages=left), 100)
            assert (only(Unpinned, actions), reported(actions)) == ([Unpinned()], [])
            assert [(pull["batch"], "id" in pull) for pull in pulls(actions)] == [(10, False)]
    with subtests.test("of the request that took the pin"):
        machine = started(group="jobs")
        machine.arrived(1, SIZE, 1)
        machine.pinned("abc", 1)
        actions = machine.status(status("423 Nats-Wrong-Pin-Id", request=1, messages=9), 2)
        assert only(Unpinned, actions) == [Unpinned()]
        assert ["id" in pull for pull in pulls(actions)] == [False]


@pytest.mark.requirement("G-09", "G-12")
def test_the_refusal_of_a_former_pin_does_not_cost_the_next_one() -> None:
    machine = started(group="jobs")
    machine.pinned("old", 1)
    consumed(machine, 5, 1)
    machine.pinned("new", 2)
    machine.status(status("423 Nats-Wrong-Pin-Id", request=2, messages=5), 3)
    assert machine.pin_id == "new"
    machine = started(group="jobs")
    machine.pinned("first", 1)
    consumed(machine, 5, 1)
    machine.status(status("423 Nats-Wrong-Pin-Id", request=1, messages=5), 2)
    machine.pinned("second", 3)
    machine.status(status("423 Nats-Pin-Id mismatch", request=2), 3)
    assert machine.pin_id == "second"


@pytest.mark.requirement("G-08", "G-17")
def test_no_message_brings_a_pin_where_no_client_can_be_pinned(subtests: pytest.Subtests) -> None:
    for group in ({}, {"group": "jobs", "min_pending": 2}, {"group": "jobs", "priority": 1}):
        with subtests.test(str(group)):
            machine = started(**group)
            assert machine.pinned("written", 1) == []
            assert ["id" in pull for pull in pulls(consumed(machine, 5, 1))] == [False]
    with subtests.test("the consumer refuses pins: its 400 does not end it, as a publisher wrote the header"):
        machine = started(max_messages=12, threshold_messages=8, group="jobs")
        machine.pinned("written", 1)
        for request in (2, 3):
            consumed(machine, 4, request)
        actions = [action for request in (2, 3) for action in machine.status(status(NO_PINS, request=request), 4)]
        assert (only(Unpinned, actions), only(End, actions), reported(actions)) == ([Unpinned()], [], [])
        assert ["id" in pull for pull in pulls(actions)] == [False]
        assert machine.pinned("written again", 5) == []


@pytest.mark.requirement("G-11")
def test_requests_that_outlast_the_pin_are_reported() -> None:
    assert reported(consume(group="jobs", priority_timeout_seconds=40).start(0)) == ["PinTimeoutError"]
    assert reported(consume(group="jobs", priority_timeout_seconds=60).start(0)) == []


# The end


@pytest.mark.requirement("C-04")
def test_stop_ends_at_once_and_drain_when_all_is_processed_without_waiting_for_a_lost_link() -> None:
    """Between `Unsubscribe` and `unsubscribed`, messages that were on their way still arrive."""
    machine = started()
    machine.arrived(5, 5 * SIZE, 1)
    assert machine.stop(2) == [End()]
    assert machine.stop(2) == machine.arrived(1, SIZE, 3) == machine.processed(1, SIZE, 3) == []
    machine = started()
    machine.arrived(5, 5 * SIZE, 1)
    assert machine.drain(2) == [Unsubscribe()]
    assert machine.processed(5, 5 * SIZE, 3) == []
    assert machine.arrived(1, SIZE, 3) == []
    assert machine.unsubscribed(4) == []
    assert machine.processed(1, SIZE, 5) == [End()]
    machine = started()
    machine.disconnected(1)
    assert machine.drain(2) == [Unsubscribe(), End()]
    machine = started()
    machine.arrived(1, SIZE, 1)
    machine.drain(2)
    assert machine.disconnected(3) == []
    assert machine.processed(1, SIZE, 4) == [End()]


# The tables


def test_every_state_and_every_status_is_in_its_table_and_every_state_but_the_last_can_end() -> None:
    assert set(TRANSITIONS) == set(State)
    assert {signal for row in TRANSITIONS.values() for signal in row} == set(Signal)
    assert set(REACTIONS) == set(Kind)
    assert {state for state, row in TRANSITIONS.items() if Signal.END not in row} == {State.ENDED}


REQUESTS_A_MINUTE_MAX = 12


def test_no_answer_of_a_server_makes_it_ask_in_a_hot_loop(subtests: pytest.Subtests) -> None:
    """It answers each request at once with the same status."""
    for text, kind in STATUSES.items():
        if REACTIONS[kind].then is not Then.END:
            with subtests.test(text):
                assert requests_in_a_minute(consume(expires_seconds=10), text) <= REQUESTS_A_MINUTE_MAX


def requests_in_a_minute(machine: Consume, text: str) -> int:
    now, actions = 0.0, machine.start(0)
    while True:
        unanswered = only(Pull, actions)
        while unanswered and machine.requests <= REQUESTS_A_MINUTE_MAX:
            now += 0.001
            answer = machine.status(status(text, request=unanswered.pop(0).number, messages=10), now)
            unanswered += only(Pull, answer)
            actions += answer
        due = wake_at(actions)
        if due > 60:
            return machine.requests
        now = max(now, due)
        actions = machine.tick(now)


# What the simulator found: each of these failed once


@pytest.mark.requirement("C-42", "C-44", "G-09")
def test_a_lost_pin_and_a_leader_that_moved_are_answered_at_once_even_in_a_row_of_failures(
    subtests: pytest.Subtests,
) -> None:
    """Naive: any failure in a row waits. But without the pin it is another request, which did not fail yet."""
    for text in ("423 Nats-Pin-Id mismatch", "409 Leadership Change"):
        with subtests.test(text):
            machine = started(group="jobs")
            machine.pinned("abc", 0)
            now = after_four_unanswered_requests(machine)
            assert batches(machine.status(status(text, request=5), now)) == [10]


@pytest.mark.requirement("C-50", "C-51")
def test_repeated_silence_is_met_with_backoff_until_something_arrives() -> None:
    """A server that drops our requests without an answer (max_waiting) is asked 1, 2, 4 … s after each alarm."""
    machine = consume(idle_heartbeat_seconds=4)
    now = wake_at(machine.start(0))
    assert batches(machine.tick(now)) == [10], "the first time at once"
    pauses = []
    for _ in range(5):
        now += 8
        alarm = machine.tick(now)
        assert (reported(alarm), batches(alarm)) == (["HeartbeatMissedError"], [])
        pauses.append(wake_at(alarm) - now)
        now = wake_at(alarm)
        assert batches(machine.tick(now)) == [10]
    assert pauses == [1, 2, 4, 8, 8]
    machine = consume(idle_heartbeat_seconds=0.5)
    machine.tick(wake_at(machine.start(0)))
    alarm = machine.tick(2)
    assert (reported(alarm), batches(alarm), wake_at(alarm)) == (["HeartbeatMissedError"], [], 3)
    assert batches(machine.arrived_late(4, 4 * SIZE, 2.1)) == [6], "late messages show that there is a server again"


@pytest.mark.requirement("C-50", "C-51")
def test_a_heartbeat_of_a_request_that_was_given_up_is_still_a_sign_of_life() -> None:
    """Naive: it is not. Then a link that is slower than two heartbeats sets off one alarm after the other."""
    machine = consume(idle_heartbeat_seconds=0.5)
    now = wake_at(machine.start(0))
    assert reported(machine.tick(now)) == ["HeartbeatMissedError"]
    machine.status(status("100 Idle Heartbeat", request=1), now + 0.5)
    assert reported(machine.tick(now + 1)) == []
    assert reported(machine.tick(now + 1.5)) == ["HeartbeatMissedError"]


@pytest.mark.requirement("G-08", "G-10")
def test_of_the_requests_before_the_pin_only_the_one_that_took_it_is_counted_on() -> None:
    """Naive: it is counted on. But the pinned client is not served without its pin, and waits until it expires."""
    machine = started(group="jobs")
    assert batches(consumed(machine, 5, 1)) == [5]
    assert machine.pinned("abc", 2) == [Pinned("abc")]
    actions = machine.arrived(1, SIZE, 2)
    assert only(Resubscribe, actions) == [Resubscribe(30)]
    (pull,) = pulls(machine.processed(1, SIZE, 2) or actions)
    assert (pull["batch"], pull["id"]) == (9, "abc")
    machine = started(group="jobs")
    assert machine.pinned("abc", 1) == [Pinned("abc")]
    assert machine.arrived(1, SIZE, 1) == []
    assert machine.in_flight == 9


@pytest.mark.requirement("C-34", "C-41")
def test_a_request_that_brought_something_did_not_fail() -> None:
    """In a cluster its status arrives before its messages: by itself it must not look like one more in a row."""
    machine = started(max_bytes=1000)
    now = after_four_unanswered_requests(machine)
    for request in (5, 6):
        machine.status(status(TOO_LARGE, request=request, messages=999_991, size_bytes=100), now)
        machine.arrived(9, 900, now)
        assert pulls(machine.processed(9, 900, now)) != []
