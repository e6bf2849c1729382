"""What a fetch does, by example. Times are seconds; every message weighs 100 bytes."""

import pytest

from penstock_jetstream.core.actions import End, Pinned, Resubscribe, Unpinned, UnsubscribeAfter
from penstock_jetstream.core.fetch import Fetch
from penstock_jetstream.core.options import Wait
from penstock_jetstream.errors import (
    BadRequestError,
    ConsumerDeletedError,
    HeartbeatMissedError,
    MessageTooLargeError,
    NoLeaderOrMissingError,
    PullUnansweredError,
    PullWithoutLinkError,
    PushBasedError,
    RequestLostError,
    RequestRefusedError,
    UnknownStatusError,
)
from tests.jetstream.pure.driving import SIZE, fetch, only, pulls, reported, status, wake_at


def ended_with(machine: Fetch, text: str) -> Exception | None:
    (end,) = machine.status(status(text, request=1, messages=5 - machine.messages, size_bytes=0), 1)
    assert isinstance(end, End)
    return end.error


# ADR-37


@pytest.mark.requirement("C-10", "C-13", "P-05")
def test_nothing_is_asked_before_it_starts_and_then_once_with_an_expiry() -> None:
    machine = fetch(max_messages=5, expires_seconds=10)
    assert machine.requests == 0
    assert pulls(machine.start(0)) == [{"batch": 5, "expires": 10_000_000_000}]


@pytest.mark.requirement("C-10")
def test_it_ends_when_the_batch_is_complete() -> None:
    machine = fetch(max_messages=5)
    machine.start(0)
    assert machine.arrived(4, 4 * SIZE, 1) == []
    assert machine.arrived(1, SIZE, 2) == [End()]
    assert machine.arrived(1, SIZE, 2) == []


@pytest.mark.requirement("C-10", "C-11")
def test_it_ends_when_the_bytes_are_complete() -> None:
    machine = fetch(max_bytes=1000)
    (pull,) = pulls(machine.start(0))
    assert (pull["batch"], pull["max_bytes"]) == (1_000_000, 1000)
    assert machine.arrived(9, 900, 1) == []
    assert machine.arrived(1, 100, 1) == [End()]


@pytest.mark.requirement("C-10", "C-43", "P-12", "P-14", "S-32")
@pytest.mark.parametrize(
    "text",
    ["404 No Messages", "408 Request Timeout", "408 Interest Expired", "408 Requests Pending", "409 Batch Completed"],
)
@pytest.mark.parametrize("came", [0, 3])
def test_that_there_is_no_more_ends_it_without_an_error(text: str, came: int) -> None:
    machine = fetch(max_messages=5)
    machine.start(0)
    machine.arrived(came, came * SIZE, 1)
    assert ended_with(machine, text) is None


@pytest.mark.requirement("C-43", "P-14", "S-33")
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("400 Bad Request - heartbeat value too large", BadRequestError),
        ("409 Message Size Exceeds MaxBytes", MessageTooLargeError),
        ("409 Exceeded MaxRequestBatch of 2", RequestRefusedError),
        ("409 Exceeded MaxWaiting", RequestRefusedError),
        ("409 Consumer Deleted", ConsumerDeletedError),
        ("409 Consumer is push based", PushBasedError),
        ("409 Leadership Change", RequestLostError),
        ("409 Server Shutdown", RequestLostError),
        ("503 ", NoLeaderOrMissingError),
        ("418 I'm a teapot", UnknownStatusError),
    ],
)
def test_other_statuses_end_it_with_an_error_if_nothing_came(text: str, error: type[Exception]) -> None:
    machine = fetch(max_messages=5, max_bytes=1000)
    machine.start(0)
    assert isinstance(ended_with(machine, text), error)


@pytest.mark.requirement("P-12")
def test_messages_that_came_before_an_error_matter_more() -> None:
    machine = fetch(max_messages=5)
    machine.start(0)
    machine.arrived(3, 3 * SIZE, 1)
    actions = machine.status(status("409 Consumer Deleted", request=1), 2)
    assert reported(actions) == ["ConsumerDeletedError"]
    assert only(End, actions) == [End()]


@pytest.mark.requirement("C-43")
def test_a_heartbeat_ends_nothing() -> None:
    machine = fetch(max_messages=5, expires_seconds=60)
    (pull,) = pulls(machine.start(0))
    assert pull["idle_heartbeat"] == 5_000_000_000
    assert machine.status(status("100 Idle Heartbeat", request=1), 5) == []


@pytest.mark.requirement("C-02")
def test_the_client_waits_a_little_longer_than_the_server() -> None:
    machine = fetch(max_messages=5, expires_seconds=10)
    assert wake_at(machine.start(0)) == 11
    (end,) = machine.tick(11)
    assert isinstance(end, End)
    assert isinstance(end.error, PullUnansweredError)


@pytest.mark.requirement("C-02", "P-12")
def test_silence_after_some_messages_is_an_end_that_is_reported() -> None:
    machine = fetch(max_messages=5, expires_seconds=10)
    machine.start(0)
    machine.arrived(3, 3 * SIZE, 1)
    actions = machine.tick(11)
    assert reported(actions) == ["PullUnansweredError"]
    assert only(End, actions) == [End()]


@pytest.mark.requirement("C-50")
def test_two_missed_heartbeats_end_it() -> None:
    machine = fetch(max_messages=5, expires_seconds=60)
    assert wake_at(machine.start(0)) == 10
    machine.status(status("100 Idle Heartbeat", request=1), 5)
    actions = machine.tick(10)
    assert wake_at(actions) == 15
    (end,) = machine.tick(15)
    assert isinstance(end, End)
    assert isinstance(end.error, HeartbeatMissedError)


def test_who_wakes_late_listens_before_complaining() -> None:
    machine = fetch(max_messages=5, expires_seconds=10)
    machine.start(0)
    actions = machine.tick(3600)
    assert only(End, actions) == []
    assert wake_at(actions) == 3601


@pytest.mark.requirement("P-13")
def test_who_gives_up_leaves_the_subscription() -> None:
    machine = fetch(max_messages=5)
    machine.start(0)
    assert machine.stop(1) == [End()]
    assert machine.stop(1) == []


@pytest.mark.requirement("C-10")
def test_a_status_that_comes_before_its_last_messages_does_not_cut_them_off() -> None:
    """In a cluster messages wait for a quorum, and `409 Batch Completed` does not."""
    machine = fetch(max_messages=5, max_bytes=1000)
    machine.start(0)
    machine.arrived(3, 3 * SIZE, 1)
    (wake,) = machine.status(status("409 Batch Completed", request=1, messages=0, size_bytes=500), 1)
    assert wake_at([wake]) == 2
    assert machine.arrived(1, SIZE, 1.1) == []
    assert machine.arrived(1, SIZE, 1.1) == [End()]


@pytest.mark.requirement("C-10")
def test_last_messages_that_do_not_come_are_not_waited_for_long() -> None:
    machine = fetch(max_messages=5)
    machine.start(0)
    machine.status(status("409 Server Shutdown", request=1, messages=4), 1)
    (end,) = machine.tick(2)
    assert isinstance(end, End)
    assert isinstance(end.error, RequestLostError)


# ADR-13


@pytest.mark.requirement("P-09", "P-10", "P-15")
def test_first_what_is_there_and_only_then_a_request_that_waits() -> None:
    """The second request is a request of its own, with a reply of its own, for 5 s - what the first took - 100 ms."""
    machine = fetch(max_messages=1, expires_seconds=5, wait=Wait.FIRST)
    assert pulls(machine.start(0)) == [{"batch": 1, "no_wait": True}]
    actions = machine.status(status("404 No Messages", request=1), 0)
    assert pulls(actions) == [{"batch": 1, "expires": 4_900_000_000}]
    assert machine.requests == 2
    assert machine.arrived(1, SIZE, 3) == [End()]


@pytest.mark.requirement("P-04", "P-09", "P-12")
def test_the_request_that_waits_for_several_is_answered_by_the_first() -> None:
    machine = fetch(max_messages=10, expires_seconds=5, wait=Wait.FIRST)
    machine.start(0)
    (second,) = pulls(machine.status(status("404 No Messages", request=1), 0))
    assert second == {"batch": 10, "expires": 4_900_000_000, "no_wait": True}
    machine.arrived(2, 2 * SIZE, 3)
    assert machine.status(status("404 No Messages", request=2), 3) == [End()]


@pytest.mark.requirement("P-09", "P-12")
def test_what_is_there_is_enough() -> None:
    machine = fetch(max_messages=10, expires_seconds=5, wait=Wait.FIRST)
    machine.start(0)
    machine.arrived(3, 3 * SIZE, 0)
    assert machine.status(status("404 No Messages", request=1), 0) == [End()]


@pytest.mark.requirement("P-09")
def test_if_what_is_there_was_promised_to_others_it_queues_up() -> None:
    machine = fetch(max_messages=10, expires_seconds=5, wait=Wait.FIRST)
    machine.start(0)
    machine.status(status("408 Requests Pending", request=1), 0)
    (third,) = pulls(machine.status(status("408 Requests Pending", request=2), 0))
    assert third == {"batch": 10, "expires": 4_900_000_000}
    assert machine.status(status("408 Request Timeout", request=3), 4.9) == [End()]


@pytest.mark.requirement("P-11")
def test_the_server_unsubscribes_after_the_batch_and_the_404() -> None:
    machine = fetch(max_messages=10, expires_seconds=5, wait=Wait.FIRST)
    assert machine.start(0)[0] == UnsubscribeAfter(11)
    assert only(UnsubscribeAfter, machine.status(status("404 No Messages", request=1), 0)) == []


@pytest.mark.requirement("P-11")
def test_a_second_status_is_paid_for_too() -> None:
    machine = fetch(max_messages=10, expires_seconds=5, wait=Wait.FIRST)
    machine.start(0)
    machine.status(status("408 Requests Pending", request=1), 0)
    actions = machine.status(status("408 Requests Pending", request=2), 0)
    assert only(UnsubscribeAfter, actions) == [UnsubscribeAfter(12)]


@pytest.mark.requirement("P-11")
def test_where_heartbeats_would_count_the_client_unsubscribes_itself() -> None:
    machine = fetch(max_messages=10, expires_seconds=60, wait=Wait.FIRST)
    assert only(UnsubscribeAfter, machine.start(0)) == []


@pytest.mark.requirement("P-10", "P-13")
def test_its_time_is_the_callers_and_no_messages_are_no_error() -> None:
    machine = fetch(max_messages=10, expires_seconds=5, wait=Wait.FIRST)
    assert wake_at(machine.start(0)) == 5
    machine.status(status("404 No Messages", request=1), 0.1)
    assert machine.tick(5) == [End()]


def test_a_late_status_of_the_first_request_does_not_end_the_second() -> None:
    machine = fetch(max_messages=10, expires_seconds=5, wait=Wait.FIRST)
    machine.start(0)
    machine.status(status("404 No Messages", request=1), 0.1)
    assert machine.status(status("404 No Messages", request=1), 0.2) == []


@pytest.mark.requirement("P-08")
def test_a_fetch_that_does_not_wait_asks_once() -> None:
    machine = fetch(max_messages=10, wait=Wait.NOTHING)
    assert pulls(machine.start(0)) == [{"batch": 10, "no_wait": True}]
    assert machine.status(status("404 No Messages", request=1), 0.1) == [End()]


def test_a_fetch_that_does_not_wait_is_answered_or_lost() -> None:
    machine = fetch(max_messages=10, wait=Wait.NOTHING, expires_seconds=1)
    (end,) = machine.tick(wake_at(machine.start(0)))
    assert isinstance(end, End)
    assert isinstance(end.error, PullUnansweredError)


# The link


def test_a_lost_link_ends_it_with_what_came() -> None:
    machine = fetch(max_messages=5)
    machine.start(0)
    machine.arrived(2, 2 * SIZE, 1)
    assert machine.disconnected(2) == [End()]


@pytest.mark.requirement("C-53")
def test_with_nothing_yet_it_waits_for_the_link_and_asks_for_what_time_is_left() -> None:
    machine = fetch(max_messages=5, expires_seconds=10)
    machine.start(0)
    assert machine.disconnected(2) == [Resubscribe(0)]
    assert pulls(machine.reconnected(4)) == [{"batch": 5, "expires": 6_000_000_000}]
    assert machine.status(status("408 Request Timeout", request=1), 5) == [], "of the request that the link took"
    assert machine.status(status("408 Request Timeout", request=2), 10) == [End()]


def test_a_link_that_comes_back_when_time_is_over_finds_it_ended() -> None:
    machine = fetch(max_messages=5, expires_seconds=10)
    machine.start(0, connected=False)
    assert machine.reconnected(10) == [End()]
    other = fetch(max_messages=5, expires_seconds=10)
    (end,) = other.tick(wake_at(other.start(0, connected=False)))
    assert isinstance(end, End)
    assert isinstance(end.error, PullWithoutLinkError)


# Groups


@pytest.mark.requirement("G-05", "G-08", "G-15")
def test_a_pin_that_a_fetch_learns_is_for_the_next() -> None:
    machine = Fetch(fetch(max_messages=5, group="jobs").options, stream="ORDERS", consumer="etl", pin_id="abc")
    (pull,) = pulls(machine.start(0))
    assert (pull["group"], pull["id"]) == ("jobs", "abc")
    assert machine.pinned("new", 1) == [Pinned("new")]
    assert machine.pinned("new", 1) == []


@pytest.mark.requirement("G-09")
@pytest.mark.parametrize("text", ["423 Nats-Wrong-Pin-Id", "423 Nats-Pin-Id mismatch"])
def test_a_wrong_pin_is_forgotten_and_the_rest_is_asked_for_without_it(text: str) -> None:
    options = fetch(max_messages=5, group="jobs", expires_seconds=10).options
    machine = Fetch(options, stream="ORDERS", consumer="etl", pin_id="abc")
    machine.start(0)
    machine.arrived(2, 2 * SIZE, 1)
    unpinned, *actions = machine.status(status(text, request=1), 4)
    assert unpinned == Unpinned()
    assert pulls(actions) == [{"batch": 3, "expires": 6_000_000_000, "group": "jobs"}]
    (end,) = machine.status(status(text, request=2), 5)[-1:]
    assert isinstance(end, End), "a server that refuses no pin at all is not asked for ever"


@pytest.mark.requirement("G-08", "G-17")
def test_what_looked_like_a_pin_costs_a_fetch_one_request_where_no_one_is_pinned() -> None:
    options = fetch(max_messages=5, group="jobs", expires_seconds=10).options
    machine = Fetch(options, stream="ORDERS", consumer="etl", pin_id="written")
    machine.start(0)
    unpinned, *actions = machine.status(status("400 Bad Request - Not a Pinned Client Priority consumer", request=1), 4)
    assert unpinned == Unpinned()
    assert pulls(actions) == [{"batch": 5, "expires": 6_000_000_000, "group": "jobs"}]
    assert machine.pinned("written again", 5) == []
    assert fetch(max_messages=5).pinned("written", 1) == []
