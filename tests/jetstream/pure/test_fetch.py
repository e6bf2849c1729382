"""What Fetch does, by example. Times are in seconds; each message has 100 bytes."""

from typing import Any

import pytest

from penstock_jetstream import errors
from penstock_jetstream.core.actions import End, Pinned, Resubscribe, Unpinned, UnsubscribeAfter
from penstock_jetstream.core.fetch import Fetch
from penstock_jetstream.core.options import Wait
from tests.jetstream.pure.driving import SIZE, end_error, fetch, only, pulls, reported, status, wake_at


def ended_with(machine: Fetch, text: str) -> Exception | None:
    return end_error(machine.status(status(text, request=1, messages=5 - machine.messages, size_bytes=0), 1))


def started(machine: Fetch) -> Fetch:
    """Let a fetch make its first request at 0 s."""
    machine.start(0)
    return machine


def fetch_first(**options: Any) -> Fetch:  # noqa: ANN401 - the fields of FetchOptions
    """Return a fetch of ten messages that takes what is there, and otherwise waits 5 s for the first."""
    return fetch(**{"max_messages": 10, "expires_seconds": 5, "wait": Wait.FIRST, **options})


# ADR-37


@pytest.mark.requirement("C-10", "C-11", "C-13", "P-05", "P-13")
def test_makes_one_request_that_expires_and_ends_once_when_that_is_complete_or_it_is_stopped() -> None:
    machine = fetch(max_messages=5, expires_seconds=10)
    assert machine.requests == 0
    assert pulls(machine.start(0)) == [{"batch": 5, "expires": 10_000_000_000}]
    assert machine.arrived(4, 4 * SIZE, 1) == []
    assert machine.arrived(1, SIZE, 2) == [End()]
    assert machine.arrived(1, SIZE, 2) == []
    machine = fetch(max_bytes=1000)
    assert [(pull["batch"], pull["max_bytes"]) for pull in pulls(machine.start(0))] == [(1_000_000, 1000)]
    assert machine.arrived(9, 900, 1) == []
    assert machine.arrived(1, 100, 1) == [End()]
    machine = started(fetch(max_messages=5))
    assert machine.stop(1) == [End()]
    assert machine.stop(1) == []


@pytest.mark.requirement("C-10", "C-43", "P-12", "P-14", "S-32", "S-33")
def test_a_status_ends_it_without_an_error_if_there_is_no_more_and_with_one_if_something_is_wrong(
    subtests: pytest.Subtests,
) -> None:
    outcomes: dict[str, type[Exception] | None] = {
        "404 No Messages": None,
        "408 Request Timeout": None,
        "408 Interest Expired": None,
        "408 Requests Pending": None,
        "409 Batch Completed": None,
        "400 Bad Request - heartbeat value too large": errors.BadRequestError,
        "409 Message Size Exceeds MaxBytes": errors.MessageTooLargeError,
        "409 Exceeded MaxRequestBatch of 2": errors.RequestRefusedError,
        "409 Exceeded MaxWaiting": errors.RequestRefusedError,
        "409 Consumer Deleted": errors.ConsumerDeletedError,
        "409 Consumer is push based": errors.PushBasedError,
        "409 Leadership Change": errors.RequestLostError,
        "409 Server Shutdown": errors.RequestLostError,
        "503 ": errors.NoLeaderOrMissingError,
        "418 I'm a teapot": errors.UnknownStatusError,
    }
    for text, error in outcomes.items():
        with subtests.test(text):
            machine = started(fetch(max_messages=5, max_bytes=1000 if error else None))
            assert isinstance(ended_with(machine, text), error or type(None))
            if error is None:
                machine = started(fetch(max_messages=5))
                machine.arrived(3, 3 * SIZE, 1)
                assert ended_with(machine, text) is None


@pytest.mark.requirement("C-02", "P-12")
def test_an_error_after_some_messages_is_reported_and_ends_it_without_one() -> None:
    machine = started(fetch(max_messages=5, expires_seconds=10))
    machine.arrived(3, 3 * SIZE, 1)
    actions = machine.status(status("409 Consumer Deleted", request=1), 2)
    assert (reported(actions), only(End, actions)) == (["ConsumerDeletedError"], [End()])
    machine = started(fetch(max_messages=5, expires_seconds=10))
    machine.arrived(3, 3 * SIZE, 1)
    actions = machine.tick(11)
    assert (reported(actions), only(End, actions)) == (["PullUnansweredError"], [End()])


@pytest.mark.requirement("C-43", "C-50")
def test_a_heartbeat_ends_nothing_and_two_missed_ones_end_it() -> None:
    machine = fetch(max_messages=5, expires_seconds=60)
    actions = machine.start(0)
    assert [pull["idle_heartbeat"] for pull in pulls(actions)] == [5_000_000_000]
    assert wake_at(actions) == 10
    assert machine.status(status("100 Idle Heartbeat", request=1), 5) == []
    assert wake_at(machine.tick(10)) == 15
    assert isinstance(end_error(machine.tick(15)), errors.HeartbeatMissedError)


@pytest.mark.requirement("C-02")
def test_the_client_waits_a_little_longer_than_the_server_and_listens_when_it_wakes_late() -> None:
    machine = fetch(max_messages=5, expires_seconds=10)
    assert wake_at(machine.start(0)) == 11
    assert isinstance(end_error(machine.tick(11)), errors.PullUnansweredError)
    machine = started(fetch(max_messages=5, expires_seconds=10))
    actions = machine.tick(3600)
    assert (only(End, actions), wake_at(actions)) == ([], 3601)


@pytest.mark.requirement("C-10")
def test_a_status_that_arrives_before_its_last_messages_does_not_cut_them_off() -> None:
    """In a cluster messages wait for a quorum, and `409 Batch Completed` does not."""
    machine = started(fetch(max_messages=5, max_bytes=1000))
    machine.arrived(3, 3 * SIZE, 1)
    (wake,) = machine.status(status("409 Batch Completed", request=1, messages=0, size_bytes=500), 1)
    assert wake_at([wake]) == 2
    assert machine.arrived(1, SIZE, 1.1) == []
    assert machine.arrived(1, SIZE, 1.1) == [End()]
    machine = started(fetch(max_messages=5))
    machine.status(status("409 Server Shutdown", request=1, messages=4), 1)
    assert isinstance(end_error(machine.tick(2)), errors.RequestLostError), "messages that never arrive are not awaited"


# ADR-13


@pytest.mark.requirement("P-09", "P-10", "P-15")
def test_requests_first_what_is_there_and_only_then_waits() -> None:
    """The second request is a request of its own, with a reply of its own, for 5 s - what the first took - 100 ms."""
    machine = fetch_first(max_messages=1)
    assert pulls(machine.start(0)) == [{"batch": 1, "no_wait": True}]
    actions = machine.status(status("404 No Messages", request=1), 0)
    assert pulls(actions) == [{"batch": 1, "expires": 4_900_000_000}]
    assert machine.requests == 2
    assert machine.arrived(1, SIZE, 3) == [End()]


@pytest.mark.requirement("P-04", "P-09", "P-11", "P-12")
def test_messages_that_are_there_or_the_first_that_arrives_are_enough() -> None:
    machine = started(fetch_first())
    (second,) = pulls(machine.status(status("404 No Messages", request=1), 0))
    assert second == {"batch": 10, "expires": 4_900_000_000, "no_wait": True}
    machine.arrived(2, 2 * SIZE, 3)
    assert machine.status(status("404 No Messages", request=2), 3) == [End()]
    machine = started(fetch_first())
    machine.arrived(3, 3 * SIZE, 0)
    assert machine.status(status("404 No Messages", request=1), 0) == [End()]
    # What is there was promised to others: a third request waits behind theirs.
    machine = started(fetch_first())
    machine.status(status("408 Requests Pending", request=1), 0)
    actions = machine.status(status("408 Requests Pending", request=2), 0)
    assert pulls(actions) == [{"batch": 10, "expires": 4_900_000_000}]
    assert only(UnsubscribeAfter, actions) == [UnsubscribeAfter(12)], "the second status counts too"
    assert machine.status(status("408 Request Timeout", request=3), 4.9) == [End()]


@pytest.mark.requirement("P-10", "P-11", "P-13")
def test_the_server_unsubscribes_after_the_batch_and_the_404_and_the_caller_sets_its_time() -> None:
    machine = fetch_first()
    actions = machine.start(0)
    assert actions[0] == UnsubscribeAfter(11)
    assert wake_at(actions) == 5
    assert only(UnsubscribeAfter, machine.status(status("404 No Messages", request=1), 0.1)) == []
    assert machine.status(status("404 No Messages", request=1), 0.2) == [], "a late status of the first request"
    assert machine.tick(5) == [End()], "no messages are no error"
    assert only(UnsubscribeAfter, fetch_first(expires_seconds=60).start(0)) == [], "heartbeats would count too"


@pytest.mark.requirement("P-08")
def test_a_fetch_that_does_not_wait_asks_once_and_is_answered_or_lost() -> None:
    machine = fetch(max_messages=10, wait=Wait.NOTHING)
    assert pulls(machine.start(0)) == [{"batch": 10, "no_wait": True}]
    assert machine.status(status("404 No Messages", request=1), 0.1) == [End()]
    machine = fetch(max_messages=10, wait=Wait.NOTHING, expires_seconds=1)
    assert isinstance(end_error(machine.tick(wake_at(machine.start(0)))), errors.PullUnansweredError)


# The link


@pytest.mark.requirement("C-53")
def test_a_lost_link_ends_a_fetch_that_has_messages_and_is_waited_for_without_any() -> None:
    machine = started(fetch(max_messages=5))
    machine.arrived(2, 2 * SIZE, 1)
    assert machine.disconnected(2) == [End()]
    machine = started(fetch(max_messages=5, expires_seconds=10))
    assert machine.disconnected(2) == [Resubscribe(0)]
    assert pulls(machine.reconnected(4)) == [{"batch": 5, "expires": 6_000_000_000}], "for the time that is left"
    assert machine.status(status("408 Request Timeout", request=1), 5) == [], "of the request that the link took"
    assert machine.status(status("408 Request Timeout", request=2), 10) == [End()]
    machine = fetch(max_messages=5, expires_seconds=10)
    machine.start(0, connected=False)
    assert machine.reconnected(10) == [End()], "the link was back too late"
    machine = fetch(max_messages=5, expires_seconds=10)
    assert isinstance(end_error(machine.tick(wake_at(machine.start(0, connected=False)))), errors.PullWithoutLinkError)


# Groups


@pytest.mark.requirement("G-05", "G-08", "G-09", "G-15", "G-17")
def test_a_pin_is_kept_for_the_next_fetch_and_a_refused_one_forgotten(subtests: pytest.Subtests) -> None:
    with subtests.test("kept"):
        machine = fetch(max_messages=5, group="jobs", pin_id="abc")
        assert [(pull["group"], pull["id"]) for pull in pulls(machine.start(0))] == [("jobs", "abc")]
        assert machine.pinned("new", 1) == [Pinned("new")]
        assert machine.pinned("new", 1) == []
    for text in ("423 Nats-Wrong-Pin-Id", "423 Nats-Pin-Id mismatch"):
        with subtests.test(text):
            machine = started(fetch(max_messages=5, group="jobs", expires_seconds=10, pin_id="abc"))
            machine.arrived(2, 2 * SIZE, 1)
            unpinned, *actions = machine.status(status(text, request=1), 4)
            assert unpinned == Unpinned()
            assert pulls(actions) == [{"batch": 3, "expires": 6_000_000_000, "group": "jobs"}]
            (end,) = machine.status(status(text, request=2), 5)[-1:]
            assert isinstance(end, End), "a server that refuses a request without a pin is not asked forever"
    with subtests.test("a header that looked like a pin"):
        machine = started(fetch(max_messages=5, group="jobs", expires_seconds=10, pin_id="written"))
        no_pins = status("400 Bad Request - Not a Pinned Client Priority consumer", request=1)
        unpinned, *actions = machine.status(no_pins, 4)
        assert unpinned == Unpinned()
        assert pulls(actions) == [{"batch": 5, "expires": 6_000_000_000, "group": "jobs"}]
        assert machine.pinned("written again", 5) == []
        assert fetch(max_messages=5).pinned("written", 1) == []
