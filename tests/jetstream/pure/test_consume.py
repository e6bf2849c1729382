"""What a consume does, by example. Times are seconds; every message weighs 100 bytes unless it says otherwise."""

import math
from typing import Any

import pytest

from penstock_jetstream.core.actions import End, Pinned, Pull, Resubscribe, Unpinned, Unsubscribe, Verify, WakeAt
from penstock_jetstream.core.consume import REACTIONS, TRANSITIONS, Consume, Signal, State, Then
from penstock_jetstream.core.statuses import Kind
from penstock_jetstream.errors import (
    BadRequestError,
    ConsumerDeletedError,
    PushBasedError,
    RequiredLevelError,
    UsageError,
)
from tests.jetstream.pure.driving import SIZE, batches, consume, only, pulls, reported, status, wake_at


@pytest.mark.requirement("C-25", "C-30", "C-32", "P-05")
def test_it_begins_with_one_pull_for_the_whole_buffer_with_expiry_and_heartbeat() -> None:
    machine = consume(max_messages=10)
    assert pulls(machine.start(0)) == [
        {"batch": 10, "expires": 30_000_000_000, "idle_heartbeat": 15_000_000_000},
    ]
    assert machine.pending == 10


@pytest.mark.requirement("C-31", "C-32", "C-33", "C-35", "C-37")
def test_it_refills_when_half_of_the_buffer_is_processed() -> None:
    """Half is the threshold.

    time       0          1               2             3
    event      start      6 come          4 processed   1 more processed
    pending    10         10              6             5 = threshold
    pulls      10                                       5
    """
    machine = consume(max_messages=10)
    machine.start(0)
    assert machine.arrived(6, 6 * SIZE, 1) == []
    assert (machine.pending, machine.in_flight, machine.buffered_messages) == (10, 4, 6)
    assert machine.processed(4, 4 * SIZE, 2) == []
    assert batches(machine.processed(1, SIZE, 3)) == [5]
    assert machine.pending == 10


@pytest.mark.requirement("C-22", "C-31", "C-32", "C-33", "C-35")
def test_bytes_are_refilled_in_the_same_way_with_a_batch_that_does_not_matter() -> None:
    machine = consume(max_bytes=1000)
    (first,) = pulls(machine.start(0))
    assert (first["batch"], first["max_bytes"]) == (1_000_000, 1000)
    machine.arrived(6, 600, 1)
    assert machine.processed(4, 400, 2) == []
    (second,) = pulls(machine.processed(1, 100, 3))
    assert (second["batch"], second["max_bytes"]) == (1_000_000, 500)
    assert machine.pending == 1000


def test_no_request_asks_for_more_messages_than_its_user_will_take() -> None:
    machine = consume(max_messages=10)
    machine.allow(12, 0)
    assert batches(machine.start(0)) == [10]
    machine.arrived(10, 10 * SIZE, 1)
    assert batches(machine.processed(10, 10 * SIZE, 1)) == [2]
    machine.arrived(2, 2 * SIZE, 2)
    assert machine.processed(2, 2 * SIZE, 2) == []
    assert batches(machine.allow(None, 3)) == [10]


def test_a_room_that_is_stated_again_counts_from_the_messages_processed_by_then() -> None:
    """A user that is done with messages at once has as much room as before, and must not run out of it."""
    machine = consume(max_messages=10)
    machine.allow(10, 0)
    asked = batches(machine.start(0))
    for second in range(1, 6):
        machine.arrived(10, 10 * SIZE, second)
        assert batches(machine.processed(10, 10 * SIZE, second)) == []
        asked += batches(machine.allow(10, second))
    assert asked == [10] * 6


def test_where_bytes_are_the_limit_only_one_request_at_a_time_asks_for_what_its_user_will_take() -> None:
    machine = consume(max_bytes=1000)
    machine.allow(7, 0)
    (first,) = pulls(machine.start(0))
    assert (first["batch"], first["max_bytes"]) == (7, 1000)
    machine.arrived(7, 700, 1)
    assert machine.processed(7, 700, 1) == []
    assert machine.allow(5, 2) == [], "it is not known here that the first has brought all that it can"
    (second,) = pulls(machine.status(status("409 Batch Completed", request=1, size_bytes=300), 3))
    assert (second["batch"], second["max_bytes"]) == (5, 1000)


@pytest.mark.requirement("C-27")
def test_a_buffer_of_one_message_does_not_stall() -> None:
    machine = consume(max_messages=1)
    asked = batches(machine.start(0))
    for second in range(1, 6):
        assert machine.arrived(1, SIZE, second) == []
        asked += batches(machine.processed(1, SIZE, second))
    assert asked == [1] * 6


@pytest.mark.requirement("C-26", "C-35")
def test_a_threshold_that_is_the_maximum_does_not_make_a_request_per_message() -> None:
    machine = consume(max_messages=10, threshold_messages=10)
    asked = batches(machine.start(0))
    machine.arrived(5, 5 * SIZE, 1)
    for _ in range(5):
        asked += batches(machine.processed(1, SIZE, 2))
    assert asked == [10, 1, 1], "three open requests are enough: they count against max_waiting"
    asked += batches(machine.arrived(2, 2 * SIZE, 3))
    assert asked == [10, 1, 1, 3], "a message for each in turn, and the second is complete"


def test_a_threshold_of_nothing_refills_an_empty_buffer() -> None:
    machine = consume(max_messages=2, threshold_messages=0)
    machine.start(0)
    machine.arrived(2, 2 * SIZE, 1)
    assert batches(machine.processed(1, SIZE, 2)) == []
    assert batches(machine.processed(1, SIZE, 2)) == [2]


def test_more_than_came_cannot_be_processed() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    machine.arrived(1, SIZE, 1)
    with pytest.raises(UsageError, match="fewer came"):
        machine.processed(2, 2 * SIZE, 2)


@pytest.mark.requirement("C-31")
def test_thousands_of_messages_are_booked_in_one_call() -> None:
    machine = consume(max_messages=100_000)
    machine.start(0)
    machine.arrived(60_000, 60_000 * SIZE, 1)
    assert batches(machine.processed(60_000, 60_000 * SIZE, 1)) == [60_000]


# Statuses


def four_without_an_answer(machine: Consume) -> float:
    """Let the first four requests meet nobody, and return when the fifth was made."""
    now = 0.0
    for request in range(1, 5):
        now = wake_at(machine.status(status("503 ", request=request), now))
        machine.tick(now)
    return now


@pytest.mark.requirement("C-34", "C-42", "C-44")
@pytest.mark.parametrize("text", ["408 Request Timeout", "408 Interest Expired", "409 Batch Completed"])
def test_what_an_ended_request_had_left_is_subtracted_and_asked_for_anew(text: str) -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    machine.arrived(3, 3 * SIZE, 1)
    actions = machine.status(status(text, request=1, messages=7, size_bytes=0), 30)
    assert batches(actions) == [7], "three are still buffered"
    assert reported(actions) == []
    assert machine.pending == 10


@pytest.mark.requirement("C-34", "C-35")
def test_a_status_says_of_two_open_requests_which_one_it_ended() -> None:
    """The server serves both in turn, and we book on the oldest: the status of either puts it right.

                    request 1    request 2
    asked           10           5
    truth           3 left       2 left      after ten messages came, which were processed
    our books       done         5 left      (and 5 in flight altogether is right)
    """
    machine = consume(max_messages=10)
    machine.start(0)
    machine.arrived(5, 5 * SIZE, 1)
    assert batches(machine.processed(5, 5 * SIZE, 1)) == [5]
    machine.arrived(5, 5 * SIZE, 2)
    assert machine.in_flight == 5
    assert machine.status(status("408 Request Timeout", request=1, messages=3), 30) == []
    assert machine.in_flight == 2
    machine.arrived(2, 2 * SIZE, 31)
    assert machine.in_flight == 0


@pytest.mark.requirement("C-34")
def test_counters_are_never_negative() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    machine.status(status("408 Request Timeout", request=1, messages=999), 30)
    assert machine.in_flight == 10, "all was given back, and asked for again"
    machine.arrived(25, 25 * SIZE, 31)
    assert machine.in_flight == 0


@pytest.mark.requirement("C-34")
def test_a_status_that_comes_before_its_last_messages_leaves_room_for_them() -> None:
    """In a cluster messages wait for a quorum, statuses do not."""
    machine = consume(max_messages=10)
    machine.start(0)
    actions = machine.status(status("408 Request Timeout", request=1, messages=4), 30)
    assert batches(actions) == []
    assert machine.in_flight == 6
    assert batches(machine.arrived(6, 6 * SIZE, 30.1)) == []
    assert batches(machine.processed(6, 6 * SIZE, 30.1)) == [10]


@pytest.mark.requirement("C-34")
def test_last_messages_that_never_come_are_not_waited_for() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    machine.status(status("408 Request Timeout", request=1, messages=4), 29)
    assert batches(machine.tick(30)) == [10]


@pytest.mark.requirement("C-40", "S-33")
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("409 Consumer Deleted", ConsumerDeletedError),
        ("409 Consumer is push based", PushBasedError),
        ("400 Bad Request - Priority Group missing", BadRequestError),
        ("412 Required Api Level", RequiredLevelError),
    ],
)
def test_what_can_never_work_ends_it_with_an_error_that_names_the_consumer(text: str, error: type[Exception]) -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    (end,) = machine.status(status(text, request=1), 1)
    assert isinstance(end, End)
    assert isinstance(end.error, error)
    assert "etl" in str(end.error)
    assert "ORDERS" in str(end.error)
    assert machine.state is State.ENDED
    assert machine.status(status(text, request=1), 2) == [], "it ends once"


@pytest.mark.requirement("C-41", "S-33")
@pytest.mark.parametrize(
    "text",
    [
        "409 Exceeded MaxRequestBatch of 5",
        "409 Exceeded MaxRequestExpires of 5s",
        "409 Exceeded MaxRequestMaxBytes of 5",
        "409 Exceeded MaxWaiting",
        "503 ",
        "418 I'm a teapot",
    ],
)
def test_what_may_work_later_is_reported_and_tried_again_later_and_later(text: str) -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    now, waits = 0.0, []
    for request in range(1, 8):
        actions = machine.status(status(text, request=request), now)
        assert len(reported(actions)) == 1
        assert batches(actions) == [], "never at once"
        waits.append(wake_at(actions) - now)
        now = wake_at(actions)
        assert batches(machine.tick(now)) == [10]
    assert waits == [1, 2, 4, 8, 10, 10, 10]


@pytest.mark.requirement("C-41", "C-44")
def test_who_has_frequent_heartbeats_does_not_wait_for_longer_than_two_of_them() -> None:
    """Naive: 8 s are waited for a leader that was elected meanwhile, where a lost request is noticed after 4."""
    machine = consume(max_messages=10, expires_seconds=10, idle_heartbeat_seconds=2)
    machine.start(0)
    now, asked_at = 0, []
    for request in range(1, 6):
        machine.status(status("503 ", request=request), now)
        now = next(later for later in range(now + 1, 60) if batches(machine.tick(later)))
        asked_at.append(now)
    assert asked_at == [1, 3, 7, 11, 15]


@pytest.mark.requirement("C-41")
def test_a_heartbeat_or_a_message_ends_the_row_of_failures() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    now = 0.0
    for request in range(1, 4):
        now = wake_at(machine.status(status("503 ", request=request), now))
        machine.tick(now)
    machine.status(status("100 Idle Heartbeat", request=4), now + 15)
    assert wake_at(machine.status(status("503 ", request=4), now + 20)) == now + 21


@pytest.mark.requirement("C-41")
def test_requests_that_were_open_together_fail_once() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    machine.arrived(5, 5 * SIZE, 1)
    assert batches(machine.processed(5, 5 * SIZE, 1)) == [5]
    first = machine.status(status("503 ", request=1), 2)
    assert wake_at(first) == 3
    assert batches(machine.status(status("503 ", request=2), 2)) == []
    assert batches(machine.tick(3)) == [10]


@pytest.mark.requirement("C-42", "C-44")
def test_a_leadership_change_loses_the_request_and_it_pulls_anew_at_once() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    machine.arrived(6, 6 * SIZE, 1)
    machine.processed(3, 3 * SIZE, 1)
    actions = machine.status(status("409 Leadership Change", request=1), 2)
    assert batches(actions) == [7], "no header says what is left: all that had not come"
    assert reported(actions) == ["RequestLostError"]


@pytest.mark.requirement("C-44")
def test_a_leadership_change_that_we_knew_of_costs_no_second_pull() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    machine.arrived(5, 5 * SIZE, 1)
    machine.processed(5, 5 * SIZE, 1)
    assert batches(machine.status(status("409 Leadership Change", request=2), 2)) == [10]
    assert machine.status(status("409 Leadership Change", request=1), 2) == []


def test_a_leader_that_moves_all_the_time_is_not_asked_in_a_hot_loop() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    assert batches(machine.status(status("409 Leadership Change", request=1), 1)) == [10]
    actions = machine.status(status("409 Leadership Change", request=2), 1.001)
    assert batches(actions) == []
    assert wake_at(actions) == 2.001


@pytest.mark.requirement("C-34", "C-44")
def test_a_server_that_shuts_down_is_given_time() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    actions = machine.status(status("409 Server Shutdown", request=1, messages=10, size_bytes=0), 1)
    assert reported(actions) == ["RequestLostError"]
    assert batches(actions) == []
    assert batches(machine.tick(wake_at(actions))) == [10]


@pytest.mark.requirement("C-42")
@pytest.mark.parametrize("text", ["404 No Messages", "408 Requests Pending", "408 Interest Expired"])
def test_what_ends_a_request_early_is_followed_by_one_at_once_and_then_not_so_fast(text: str) -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    first = machine.status(status(text, request=1), 1)
    assert (batches(first), reported(first)) == ([10], [])
    second = machine.status(status(text, request=2), 1.01)
    assert (batches(second), reported(second)) == ([], [])
    assert batches(machine.tick(2.01)) == [10]


def test_an_expiry_that_comes_at_once_is_not_answered_in_a_hot_loop() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    assert batches(machine.status(status("408 Request Timeout", request=1, messages=10), 0.01)) == [10]
    assert batches(machine.status(status("408 Request Timeout", request=2, messages=10), 0.02)) == []


def test_requests_that_last_their_time_follow_each_other_without_a_pause() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    for request in range(1, 100):
        expiry = status("408 Request Timeout", request=request, messages=10)
        assert batches(machine.status(expiry, 30 * request)) == [10]


# Bytes


@pytest.mark.requirement("C-34", "C-42")
def test_a_message_that_did_not_fit_the_rest_of_a_request_is_asked_for_with_the_next() -> None:
    """Golden: two messages of 92 bytes into 250 leave 66."""
    machine = consume(max_bytes=250)
    machine.start(0)
    machine.arrived(2, 184, 1)
    too_large = status("409 Message Size Exceeds MaxBytes", request=1, messages=999_998, size_bytes=66)
    assert machine.status(too_large, 1) == [], "184 are buffered, which is above the threshold"
    assert machine.pending == 184
    (pull,) = pulls(machine.processed(1, 92, 2))
    assert pull["max_bytes"] == 158


@pytest.mark.requirement("C-34")
def test_a_message_that_fits_only_an_empty_buffer_waits_until_it_is_empty() -> None:
    machine = consume(max_bytes=1000)
    machine.start(0)
    machine.arrived(5, 500, 1)
    machine.status(status("409 Message Size Exceeds MaxBytes", request=1, size_bytes=500), 1)
    (second,) = machine.processed(0, 0, 1) or [Pull(2, b"")]
    assert isinstance(second, Pull)
    refused = status("409 Message Size Exceeds MaxBytes", request=2, messages=1_000_000, size_bytes=500)
    actions = machine.status(refused, 2)
    assert (pulls(actions), reported(actions)) == ([], []), "the same pull would be refused again"
    assert pulls(machine.processed(4, 400, 3)) == []
    (whole,) = pulls(machine.processed(1, 100, 4))
    assert whole["max_bytes"] == 1000


@pytest.mark.requirement("C-34", "C-41")
def test_a_message_that_fits_no_request_is_reported_and_not_asked_for_in_a_hot_loop() -> None:
    machine = consume(max_bytes=1000)
    machine.start(0)
    poison = status("409 Message Size Exceeds MaxBytes", request=1, messages=1_000_000, size_bytes=1000)
    actions = machine.status(poison, 0.01)
    assert reported(actions) == ["MessageTooLargeError"]
    assert pulls(actions) == []
    assert [pull["max_bytes"] for pull in pulls(machine.tick(wake_at(actions)))] == [1000]


# Silence


@pytest.mark.requirement("C-50", "C-51")
def test_two_missed_heartbeats_are_reported_and_followed_by_a_new_pull() -> None:
    """The alarm is due 10 s after the last sign of life; one wake-up at a time is wished for.

    time     0            3 three come      10              13
    alarm    due at 10    due at 13         not yet         rings: report, pull for what is not buffered
    """
    machine = consume(max_messages=10, expires_seconds=60, idle_heartbeat_seconds=5)
    assert wake_at(machine.start(0)) == 10
    machine.arrived(3, 3 * SIZE, 3)
    assert wake_at(machine.tick(10)) == 13
    actions = machine.tick(13)
    assert reported(actions) == ["HeartbeatMissedError"]
    assert batches(actions) == [7]
    assert wake_at(actions) == 23


@pytest.mark.requirement("C-50")
@pytest.mark.parametrize("text", ["100 Idle Heartbeat", "408 Request Timeout"])
def test_any_sign_of_life_resets_the_alarm(text: str) -> None:
    machine = consume(max_messages=10, expires_seconds=60, idle_heartbeat_seconds=5)
    machine.start(0)
    machine.status(status(text, request=1, messages=10), 9.9)
    assert reported(machine.tick(10)) == []
    assert reported(machine.tick(19.9)) == ["HeartbeatMissedError"]


@pytest.mark.requirement("C-50")
def test_no_heartbeat_is_due_while_nothing_is_asked_for() -> None:
    machine = consume(max_messages=10, expires_seconds=10)
    machine.start(0)
    machine.arrived(10, 10 * SIZE, 1)
    assert reported(machine.tick(11)) == []
    assert reported(machine.tick(1000)) == []
    (pull,) = pulls(machine.processed(10, 10 * SIZE, 2000))
    assert pull["batch"] == 10
    assert reported(machine.tick(2009)) == []
    assert reported(machine.tick(2010)) == ["HeartbeatMissedError"]


@pytest.mark.requirement("C-02")
def test_a_request_whose_expiry_was_lost_is_written_off_a_little_later() -> None:
    machine = consume(max_messages=10, expires_seconds=10, idle_heartbeat_seconds=1)
    machine.start(0)
    for second in range(1, 11):
        machine.status(status("100 Idle Heartbeat", request=1), second)
        assert batches(machine.tick(second)) == []
    assert batches(machine.tick(11)) == [10]


@pytest.mark.requirement("C-34", "C-51")
def test_a_status_of_a_request_that_was_written_off_changes_nothing() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    assert batches(machine.tick(30)) == [10]
    assert machine.status(status("408 Request Timeout", request=1, messages=10), 30.5) == []
    assert machine.in_flight == 10


@pytest.mark.requirement("C-30", "C-35", "C-51")
def test_messages_that_come_late_are_taken_and_not_mistaken_for_those_that_are_due() -> None:
    """The pulls after the alarm have an inbox of their own. The former one is left when it can bring no more."""
    machine = consume(max_messages=10, expires_seconds=60, idle_heartbeat_seconds=5)
    machine.start(0)
    actions = machine.tick(10)
    assert [type(action).__name__ for action in actions] == ["Report", "Resubscribe", "Pull", "WakeAt"]
    assert only(Resubscribe, actions) == [Resubscribe(51)]
    machine.arrived_late(10, 10 * SIZE, 10.1)
    assert (machine.buffered_messages, machine.in_flight) == (10, 10)
    machine.arrived(10, 10 * SIZE, 10.2)
    assert batches(machine.processed(14, 14 * SIZE, 11)) == []
    assert batches(machine.processed(1, SIZE, 11)) == [5]


def test_more_than_is_due_does_no_harm() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    machine.arrived(25, 25 * SIZE, 1)
    assert (machine.buffered_messages, machine.in_flight) == (25, 0)
    assert batches(machine.processed(19, 19 * SIZE, 31)) == []
    assert batches(machine.processed(1, SIZE, 31)) == [5]


def test_who_wakes_late_listens_before_complaining() -> None:
    """The lid was closed for an hour: what the server sent meanwhile is in the socket, and not read yet."""
    machine = consume(max_messages=10)
    machine.start(0)
    actions = machine.tick(3600)
    assert reported(actions) == []
    assert wake_at(actions) == 3601, "its expiry was lost unless it is read now"
    assert batches(machine.tick(wake_at(actions))) == [10]


# The link


@pytest.mark.requirement("C-52", "C-53", "C-54", "C-35")
def test_while_the_link_is_away_nothing_is_asked_and_no_alarm_rings_and_then_it_pulls() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    machine.arrived(4, 4 * SIZE, 1)
    assert machine.disconnected(2) == [Resubscribe(0)]
    assert machine.in_flight == 0, "the server forgets the requests of a link that it lost"
    assert machine.tick(100) == []
    assert machine.processed(1, SIZE, 100) == []
    actions = machine.reconnected(200)
    assert batches(actions) == [7]
    assert wake_at(actions) == 230


@pytest.mark.requirement("C-53")
def test_waiting_after_a_failure_ends_with_the_link() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    now = four_without_an_answer(machine)
    machine.status(status("503 ", request=5), now)
    machine.disconnected(now)
    assert batches(machine.reconnected(now + 0.5)) == [10]


def test_without_a_link_it_begins_once_there_is_one() -> None:
    machine = consume(max_messages=10)
    assert machine.start(0, connected=False) == []
    assert batches(machine.reconnected(5)) == [10]


@pytest.mark.requirement("C-54")
def test_it_does_not_ask_whether_the_consumer_exists_unless_told_to() -> None:
    machine = consume(verify_on_reconnect=True)
    machine.start(0)
    machine.disconnected(1)
    assert machine.reconnected(2) == [Verify()]
    assert machine.tick(500) == []
    assert batches(machine.verified(501, exists=True)) == [500]
    machine.disconnected(502)
    machine.reconnected(503)
    (end,) = machine.verified(504, exists=False)
    assert isinstance(end, End)
    assert isinstance(end.error, ConsumerDeletedError)


# Pins


@pytest.mark.requirement("G-05", "G-08", "G-15")
def test_the_pin_is_sent_with_every_pull_after_the_message_that_brought_it() -> None:
    machine = consume(max_messages=10, group="jobs")
    (first,) = pulls(machine.start(0))
    assert first["group"] == "jobs"
    assert "id" not in first
    assert machine.pinned("abc", 1) == [Pinned("abc")]
    assert machine.pinned("abc", 1) == []
    machine.arrived(10, 10 * SIZE, 1)
    (second,) = pulls(machine.processed(10, 10 * SIZE, 1))
    assert (second["group"], second["id"]) == ("jobs", "abc")


@pytest.mark.requirement("C-42", "G-09", "G-12", "G-15")
@pytest.mark.parametrize("text", ["423 Nats-Wrong-Pin-Id", "423 Nats-Pin-Id mismatch"])
def test_a_wrong_pin_is_forgotten_and_it_pulls_at_once_without(text: str) -> None:
    machine = consume(max_messages=10, group="jobs")
    machine.start(0)
    machine.pinned("abc", 1)
    machine.arrived(10, 10 * SIZE, 1)
    machine.processed(10, 10 * SIZE, 1)
    left = 10 if "Wrong" in text else None
    actions = machine.status(status(text, request=2, messages=left), 100)
    assert only(Unpinned, actions) == [Unpinned()]
    (pull,) = pulls(actions)
    assert "id" not in pull
    assert pull["batch"] == 10
    assert reported(actions) == []


@pytest.mark.requirement("G-09", "G-12")
def test_a_pin_that_was_learnt_later_outlives_the_refusal_of_a_former_one() -> None:
    machine = consume(max_messages=10, group="jobs")
    machine.start(0)
    machine.pinned("old", 1)
    machine.arrived(5, 5 * SIZE, 1)
    machine.processed(5, 5 * SIZE, 1)
    machine.pinned("new", 2)
    machine.status(status("423 Nats-Wrong-Pin-Id", request=2, messages=5), 3)
    assert machine.pin_id == "new"


@pytest.mark.requirement("G-08", "G-09")
def test_the_request_that_took_the_pin_is_refused_for_it_when_it_is_lost() -> None:
    """It was made without an id, and the server has pinned it since: naive is to keep the pin, and be refused again."""
    machine = consume(max_messages=10, group="jobs")
    machine.start(0)
    machine.arrived(1, SIZE, 1)
    machine.pinned("abc", 1)
    actions = machine.status(status("423 Nats-Wrong-Pin-Id", request=1, messages=9), 2)
    (pull,) = pulls(actions)
    assert "id" not in pull
    assert only(Unpinned, actions) == [Unpinned()]


@pytest.mark.requirement("G-09")
def test_a_late_refusal_of_a_lost_pin_does_not_cost_the_next_one() -> None:
    machine = consume(max_messages=10, group="jobs")
    machine.start(0)
    machine.pinned("first", 1)
    machine.arrived(5, 5 * SIZE, 1)
    machine.processed(5, 5 * SIZE, 1)
    machine.status(status("423 Nats-Wrong-Pin-Id", request=1, messages=5), 2)
    machine.pinned("second", 3)
    machine.status(status("423 Nats-Pin-Id mismatch", request=2), 3)
    assert machine.pin_id == "second"


NO_PINS = "400 Bad Request - Not a Pinned Client Priority consumer"


@pytest.mark.requirement("G-08", "G-17")
@pytest.mark.parametrize("group", [{}, {"group": "jobs", "min_pending": 2}, {"group": "jobs", "priority": 1}])
def test_where_no_one_can_be_pinned_no_message_brings_a_pin(group: dict[str, Any]) -> None:
    machine = consume(max_messages=10, **group)
    machine.start(0)
    assert machine.pinned("written", 1) == []
    (pull,) = pulls(machine.arrived(5, 5 * SIZE, 1) + machine.processed(5, 5 * SIZE, 1))
    assert "id" not in pull


@pytest.mark.requirement("G-08", "G-17")
def test_a_consumer_that_pins_no_one_is_pulled_from_without_what_looked_like_a_pin_from_then_on() -> None:
    """Naive: 400 ends it, because a publisher has written into a header what only servers do."""
    machine = consume(max_messages=12, threshold_messages=8, group="jobs")
    machine.start(0)
    machine.pinned("written", 1)
    for request in (2, 3):
        machine.arrived(4, 4 * SIZE, request)
        machine.processed(4, 4 * SIZE, request)
    actions = [action for request in (2, 3) for action in machine.status(status(NO_PINS, request=request), 4)]
    assert only(Unpinned, actions) == [Unpinned()]
    (pull,) = pulls(actions)
    assert "id" not in pull
    assert only(End, actions) == []
    assert reported(actions) == []
    assert machine.pinned("written again", 5) == []


@pytest.mark.requirement("G-11")
def test_requests_that_outlast_the_pin_are_warned_of() -> None:
    assert reported(consume(group="jobs", priority_timeout_seconds=40).start(0)) == ["PinTimeoutError"]
    assert reported(consume(group="jobs", priority_timeout_seconds=60).start(0)) == []


# The end


@pytest.mark.requirement("C-04")
def test_stop_ends_at_once() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    machine.arrived(5, 5 * SIZE, 1)
    assert machine.stop(2) == [End()]
    assert machine.stop(2) == []
    assert machine.arrived(1, SIZE, 3) == []
    assert machine.processed(1, SIZE, 3) == []


@pytest.mark.requirement("C-04")
def test_drain_asks_for_no_more_and_ends_when_all_that_came_is_processed() -> None:
    """Between `Unsubscribe` and `unsubscribed` there still comes what was on its way."""
    machine = consume(max_messages=10)
    machine.start(0)
    machine.arrived(5, 5 * SIZE, 1)
    assert machine.drain(2) == [Unsubscribe()]
    assert machine.processed(5, 5 * SIZE, 3) == []
    assert machine.arrived(1, SIZE, 3) == []
    assert machine.unsubscribed(4) == []
    assert machine.processed(1, SIZE, 5) == [End()]


@pytest.mark.requirement("C-04")
def test_drain_without_a_link_has_nothing_to_wait_for() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    machine.disconnected(1)
    assert machine.drain(2) == [Unsubscribe(), End()]
    other = consume(max_messages=10)
    other.start(0)
    other.arrived(1, SIZE, 1)
    other.drain(2)
    assert other.disconnected(3) == []
    assert other.processed(1, SIZE, 4) == [End()]


# The tables


def test_every_state_and_every_status_is_in_its_table() -> None:
    assert set(TRANSITIONS) == set(State)
    assert {signal for row in TRANSITIONS.values() for signal in row} == set(Signal)
    assert set(REACTIONS) == set(Kind)


def test_every_state_but_the_last_can_end() -> None:
    for state, row in TRANSITIONS.items():
        assert (Signal.END in row) is (state is not State.ENDED)


@pytest.mark.parametrize("kind", [kind for kind in Kind if REACTIONS[kind].then is not Then.END])
def test_whatever_a_server_answers_with_it_is_not_asked_in_a_hot_loop(kind: Kind) -> None:
    """A server that answers every request at once with the same status gets at most 12 in the first minute."""
    words = {Kind.HEARTBEAT: "408 Request Timeout", Kind.FLOW_CONTROL: "408 Request Timeout"}
    text = words.get(kind) or _text_of(kind)
    machine = consume(max_messages=10, expires_seconds=10)
    assert _requests_in_a_minute(machine, text) <= 12


def _text_of(kind: Kind) -> str:
    return {
        Kind.NO_MESSAGES: "404 No Messages",
        Kind.EXPIRED: "408 Request Timeout",
        Kind.INTEREST_GONE: "408 Interest Expired",
        Kind.OTHERS_WAIT: "408 Requests Pending",
        Kind.TOO_LARGE: "409 Message Size Exceeds MaxBytes",
        Kind.COMPLETED: "409 Batch Completed",
        Kind.LIMIT_EXCEEDED: "409 Exceeded MaxRequestBatch of 5",
        Kind.QUEUE_FULL: "409 Exceeded MaxWaiting",
        Kind.LEADER_MOVED: "409 Leadership Change",
        Kind.SERVER_STOPPING: "409 Server Shutdown",
        Kind.WRONG_PIN: "423 Nats-Wrong-Pin-Id",
        Kind.NO_PINS: "400 Bad Request - Not a Pinned Client Priority consumer",
        Kind.UNAVAILABLE: "503 ",
        Kind.UNKNOWN: "418 I'm a teapot",
    }[kind]


def _requests_in_a_minute(machine: Consume, text: str) -> int:
    now, actions, due = 0.0, machine.start(0), math.inf
    while True:
        for pull in only(Pull, actions):
            now += 0.001
            actions = [*actions, *machine.status(status(text, request=pull.number, messages=10), now)]
        due = wake_at(actions)
        if due > 60:
            return machine.requests
        now = max(now, due)
        actions = machine.tick(now)


# What the simulator found: each of these failed once


@pytest.mark.requirement("C-41")
def test_the_heartbeat_of_another_request_does_not_end_the_row_of_failures() -> None:
    """Naive: any heartbeat does. Then one old request is enough to repeat a refused one every second, for ever."""
    machine = consume(max_messages=10)
    machine.start(0)
    machine.arrived(5, 5 * SIZE, 1)
    assert batches(machine.processed(5, 5 * SIZE, 1)) == [5]
    now, waits = 1.0, []
    for request in range(2, 6):
        machine.status(status("100 Idle Heartbeat", request=1), now)
        actions = machine.status(status("409 Exceeded MaxRequestBatch of 1", request=request), now)
        waits.append(wake_at(actions) - now if only(WakeAt, actions) else 16 - now)
        now += [1, 2, 4, 8][request - 2]
        machine.tick(now)
    assert machine.requests == 6
    assert now == 16, "after 1, 2, 4 and 8 s, not after 1 each"


@pytest.mark.requirement("C-42", "G-09")
def test_a_lost_pin_is_answered_at_once_even_in_a_row_of_failures() -> None:
    """Naive: any failure in a row waits. But without the pin it is another request, which did not fail yet."""
    machine = consume(max_messages=10, group="jobs")
    machine.start(0)
    machine.pinned("abc", 0)
    now = four_without_an_answer(machine)
    assert batches(machine.status(status("423 Nats-Pin-Id mismatch", request=5), now)) == [10]


@pytest.mark.requirement("C-44")
def test_a_leader_that_moved_is_asked_at_once_even_after_nobody_answered_for_long() -> None:
    machine = consume(max_messages=10)
    machine.start(0)
    now = four_without_an_answer(machine)
    assert batches(machine.status(status("409 Leadership Change", request=5), now)) == [10]


@pytest.mark.requirement("C-41")
def test_requests_that_were_once_open_together_do_not_excuse_each_other_later() -> None:
    """Naive: what was open when another failed never counts. Then the 503 of 3 is answered at once."""
    machine = consume(max_messages=10)
    machine.start(0)
    machine.arrived(5, 5 * SIZE, 1)
    machine.processed(5, 5 * SIZE, 1)
    assert batches(machine.status(status("409 Leadership Change", request=1), 2)) == [5]
    assert batches(machine.status(status("409 Leadership Change", request=2), 3)) == [5]
    assert batches(machine.status(status("503 ", request=3), 4)) == []
    assert batches(machine.status(status("503 ", request=4), 4)) == []


@pytest.mark.requirement("C-50", "C-51")
def test_silence_after_silence_is_met_with_patience() -> None:
    """A server that drops our requests without a word (max_waiting) is asked 1, 2, 4 … s after each alarm."""
    machine = consume(max_messages=10, idle_heartbeat_seconds=4)
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


@pytest.mark.requirement("C-02", "C-30", "C-35")
def test_what_a_request_brings_that_was_given_up_is_not_booked_on_the_next() -> None:
    """Its way to the server took longer than we allowed for, and so did its expiry."""
    machine = consume(max_messages=10, expires_seconds=10, idle_heartbeat_seconds=1)
    machine.start(0)
    for second in range(1, 11):
        machine.status(status("100 Idle Heartbeat", request=1), second)
        machine.tick(second)
    actions = machine.tick(11)
    assert only(Resubscribe, actions) == [Resubscribe(10)]
    assert batches(actions) == [10]
    machine.arrived_late(4, 4 * SIZE, 11.1)
    assert machine.in_flight == 10


@pytest.mark.requirement("C-50", "C-51")
def test_a_heartbeat_of_a_request_that_was_given_up_is_a_sign_of_life_all_the_same() -> None:
    """Naive: it is not. Then a link that is slower than two heartbeats sets off one alarm after the other."""
    machine = consume(max_messages=10, idle_heartbeat_seconds=0.5)
    now = wake_at(machine.start(0))
    assert reported(machine.tick(now)) == ["HeartbeatMissedError"]
    machine.status(status("100 Idle Heartbeat", request=1), now + 0.5)
    assert reported(machine.tick(now + 1)) == []
    assert reported(machine.tick(now + 1.5)) == ["HeartbeatMissedError"]


@pytest.mark.requirement("C-50", "C-51")
def test_who_waits_because_of_silence_waits_no_longer_than_it_lasts() -> None:
    """Naive: the wait goes on when messages come late, though they show that there is a server again."""
    machine = consume(max_messages=10, idle_heartbeat_seconds=0.5)
    machine.tick(wake_at(machine.start(0)))
    alarm = machine.tick(2)
    assert (reported(alarm), batches(alarm), wake_at(alarm)) == (["HeartbeatMissedError"], [], 3)
    assert batches(machine.arrived_late(4, 4 * SIZE, 2.1)) == [6]


@pytest.mark.requirement("G-08", "G-10")
def test_a_request_that_was_made_before_the_pin_was_known_does_not_stand_by_for_it() -> None:
    """Naive: it is counted on. But whoever holds the pin is not served without it, and waits until it expires."""
    machine = consume(max_messages=10, group="jobs")
    machine.start(0)
    machine.arrived(5, 5 * SIZE, 1)
    assert batches(machine.processed(5, 5 * SIZE, 1)) == [5]
    assert machine.pinned("abc", 2) == [Pinned("abc")]
    actions = machine.arrived(1, SIZE, 2)
    assert only(Resubscribe, actions) == [Resubscribe(30)]
    (pull,) = pulls(machine.processed(1, SIZE, 2) or actions)
    assert (pull["batch"], pull["id"]) == (9, "abc")


@pytest.mark.requirement("G-08")
def test_the_one_request_that_took_the_pin_is_counted_on() -> None:
    machine = consume(max_messages=10, group="jobs")
    machine.start(0)
    assert machine.pinned("abc", 1) == [Pinned("abc")]
    assert machine.arrived(1, SIZE, 1) == []
    assert machine.in_flight == 9


@pytest.mark.requirement("C-34", "C-41")
def test_a_request_that_brought_something_did_not_fail() -> None:
    """In a cluster its status comes before its messages: by itself it must not look like one more in a row."""
    machine = consume(max_bytes=1000)
    machine.start(0)
    now = four_without_an_answer(machine)
    for request in (5, 6):
        too_large = status("409 Message Size Exceeds MaxBytes", request=request, messages=999_991, size_bytes=100)
        machine.status(too_large, now)
        machine.arrived(9, 900, now)
        assert pulls(machine.processed(9, 900, now)) != []
