"""The books of what was asked for and has not come: right in sum, and put right by each status."""

import pytest

from penstock_jetstream.core.in_flight import InFlight


def two_open() -> InFlight:
    """Return books with requests 1 and 2, of which ten are asked for each."""
    books = InFlight()
    books.add(1, 10, now=0, deadline=31)
    books.add(2, 10, now=0, deadline=31)
    return books


def left(books: InFlight) -> list[int | None]:
    return [None if request is None else request.left for request in (books.find(1), books.find(2))]


@pytest.mark.requirement("C-31")
def test_messages_are_booked_in_turn_as_a_server_serves() -> None:
    books = two_open()
    for _ in range(3):
        books.arrived(1, 1)
    assert left(books) == [8, 9]
    books.arrived(1, 1)
    assert left(books) == [8, 8]


@pytest.mark.requirement("C-31")
def test_many_at_once_are_shared_out_evenly() -> None:
    books = two_open()
    books.arrived(8, 8)
    assert left(books) == [6, 6]
    books.arrived(12, 12)
    assert (books.amount, len(books)) == (0, 0)


@pytest.mark.requirement("C-34")
def test_a_status_that_knows_better_moves_what_the_books_had_wrong() -> None:
    books = two_open()
    books.arrived(10, 10)
    assert left(books) == [5, 5]
    books.close(1, 2, now=1)
    assert books.amount == 8, "of ten that are left in truth, request 1 had two"
    assert left(books) == [None, 8]
    books = two_open()
    books.arrived(10, 10)
    books.close(1, 9, now=1)
    assert left(books) == [None, 1]


@pytest.mark.requirement("C-34")
def test_a_request_that_was_complete_only_in_the_books_comes_alive_again() -> None:
    """Naive: to drop what cannot be explained. Then more is asked for than there is room.

        asked    books       truth
    1   10       4 left      7 left
    2   3        complete    0 left
    3   3        complete    3 left: its turn came later than we thought
    """
    books = InFlight()
    books.add(1, 10, now=0, deadline=31)
    books.add(2, 3, now=0, deadline=31)
    books.arrived(6, 6)
    books.add(3, 3, now=1, deadline=32)
    books.arrived(6, 6)
    assert books.amount == 4
    total = books.amount
    books.close(1, 1, now=2)
    assert books.amount == total - 1, "the rest is another's, though both were complete in the books"


@pytest.mark.requirement("C-02", "C-34")
def test_what_the_books_still_have_of_an_overdue_request_may_be_anothers() -> None:
    books = two_open()
    books.arrived(10, 10)
    books.add(3, 5, now=20, deadline=51)
    books.arrived(9, 9)
    books.close(2, 2, now=25)
    total = books.amount
    assert not books.expire(31), "it fits what others asked for: nothing need have been lost"
    assert books.amount == total


@pytest.mark.requirement("C-02")
def test_an_overdue_request_alone_was_lost() -> None:
    books = InFlight()
    books.add(1, 10, now=0, deadline=31)
    assert books.expire(31)
    assert books.amount == 0


@pytest.mark.requirement("C-34")
def test_nothing_is_below_zero_whatever_comes() -> None:
    books = two_open()
    books.arrived(100, 100)
    books.close(1, 50, now=1)
    books.close(2, 50, now=1)
    books.close(9, 50, now=1)
    assert (books.amount, len(books)) == (0, 0)
