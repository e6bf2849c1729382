"""What waits to be sent: its order, its bound, and what does not outlive a link."""

import pytest

from penstock_jetstream.core.outbox import Outbox
from penstock_jetstream.errors import BufferFullError


def test_what_waits_leaves_as_one_and_in_its_order() -> None:
    outbox = Outbox(100)
    for piece in (b"a", b"bc", b"d"):
        outbox.add(piece)
    assert (len(outbox), outbox.size_bytes) == (3, 4)
    assert outbox.take() == b"abcd"
    assert (len(outbox), outbox.size_bytes, outbox.take()) == (0, 0, b"")


def test_with_the_link_goes_what_only_it_was_worth() -> None:
    outbox = Outbox(100)
    outbox.add(b"a")
    outbox.add(b"pull", perishable=True)
    outbox.add_housekeeping(b"PING")
    outbox.add(b"b")
    outbox.link_lost()
    assert outbox.size_bytes == 2
    assert outbox.take() == b"ab"


def test_what_was_perishable_before_it_left_says_nothing_of_what_comes_after() -> None:
    outbox = Outbox(100)
    outbox.add(b"pull", perishable=True)
    outbox.take()
    outbox.add(b"a")
    outbox.link_lost()
    assert outbox.take() == b"a"


def test_beyond_the_bound_nothing_is_added() -> None:
    outbox = Outbox(3)
    outbox.add(b"ab")
    with pytest.raises(BufferFullError, match="2 bytes wait to be sent, and 2 more would exceed 3"):
        outbox.add(b"cd")
    outbox.add(b"e")
    assert outbox.take() == b"abe"


def test_what_waits_further_down_counts_until_the_link_is_lost() -> None:
    outbox = Outbox(3)
    outbox.elsewhere_bytes = 3
    with pytest.raises(BufferFullError):
        outbox.add(b"a")
    outbox.link_lost()
    outbox.add(b"a")


def test_housekeeping_is_never_refused() -> None:
    outbox = Outbox(1)
    outbox.add_housekeeping(b"PING")
    assert outbox.take() == b"PING"
