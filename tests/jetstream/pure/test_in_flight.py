"""Counting what was requested and has not arrived: right in sum, and corrected by each status."""

import pytest

from penstock_jetstream.core.in_flight import InFlight


def two_open(*arrivals: int) -> InFlight:
    """Return requests 1 and 2 of ten messages each, after so many messages arrived at a time."""
    requests = InFlight()
    requests.add(1, 10, now=0, deadline=31)
    requests.add(2, 10, now=0, deadline=31)
    for messages in arrivals:
        requests.arrived(messages, messages)
    return requests


def left(requests: InFlight) -> list[int | None]:
    return [None if request is None else request.left for request in (requests.find(1), requests.find(2))]


@pytest.mark.requirement("C-31")
def test_messages_are_counted_on_open_requests_in_turn_as_a_server_serves_them() -> None:
    assert left(two_open(1, 1, 1)) == [8, 9]
    assert left(two_open(1, 1, 1, 1)) == [8, 8]
    assert left(two_open(8)) == [6, 6]
    complete = two_open(8, 12)
    assert (complete.amount, len(complete)) == (0, 0)


@pytest.mark.requirement("C-34")
def test_a_status_that_knows_better_corrects_the_other_request() -> None:
    for told, amount in ((2, 8), (9, 1)):
        requests = two_open(10)
        assert left(requests) == [5, 5]
        requests.close(1, told, now=1)
        assert requests.amount == amount, "of ten that are left in truth, request 1 had so many"
        assert left(requests) == [None, amount]
    requests = two_open(100)
    for number in (1, 2, 9):
        requests.close(number, 50, now=1)
    assert (requests.amount, len(requests)) == (0, 0), "nothing is below zero"


@pytest.mark.requirement("C-34")
def test_a_request_that_was_complete_only_in_our_count_is_open_again() -> None:
    """Naive: to drop what cannot be explained. Then more is requested than there is room.

        asked    count       truth
    1   10       4 left      7 left
    2   3        complete    0 left
    3   3        complete    3 left: its turn came later than we thought
    """
    requests = InFlight()
    requests.add(1, 10, now=0, deadline=31)
    requests.add(2, 3, now=0, deadline=31)
    requests.arrived(6, 6)
    requests.add(3, 3, now=1, deadline=32)
    requests.arrived(6, 6)
    assert requests.amount == 4
    requests.close(1, 1, now=2)
    assert requests.amount == 3, "the rest belongs to another, though both were complete in our count"


@pytest.mark.requirement("C-02", "C-34")
def test_an_overdue_request_was_lost_only_if_no_other_request_explains_what_is_left() -> None:
    requests = two_open(10)
    requests.add(3, 5, now=20, deadline=51)
    requests.arrived(9, 9)
    requests.close(2, 2, now=25)
    total = requests.amount
    assert not requests.expire(31), "it fits what others requested: nothing need have been lost"
    assert requests.amount == total
    requests = InFlight()
    requests.add(1, 10, now=0, deadline=31)
    assert requests.expire(31)
    assert requests.amount == 0
