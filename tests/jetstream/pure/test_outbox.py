"""The outbox of a connection: its order, its bound, and what a lost link discards."""

import pytest

from penstock_jetstream.core.outbox import Outbox
from penstock_jetstream.errors import BufferFullError


def test_everything_leaves_at_once_and_in_order_but_what_a_lost_link_discards() -> None:
    outbox = Outbox(100)
    for piece in (b"a", b"bc", b"d"):
        outbox.add(piece)
    assert (len(outbox), outbox.size_bytes) == (3, 4)
    assert outbox.take() == b"abcd"
    assert (len(outbox), outbox.size_bytes, outbox.take()) == (0, 0, b"")
    outbox.add(b"pull", perishable=True)
    outbox.take()
    outbox.add(b"a")
    outbox.add(b"pull", perishable=True)
    outbox.add_housekeeping(b"PING")
    outbox.add(b"b")
    outbox.link_lost()
    assert outbox.size_bytes == 2
    assert outbox.take() == b"ab"


def test_nothing_but_housekeeping_is_added_beyond_the_bound_in_which_bytes_in_the_transport_count() -> None:
    outbox = Outbox(3)
    outbox.add(b"ab")
    with pytest.raises(BufferFullError, match="2 bytes wait to be sent, and 2 more would exceed 3"):
        outbox.add(b"cd")
    outbox.add(b"e")
    outbox.add_housekeeping(b"PING")
    assert outbox.take() == b"abePING"
    outbox.elsewhere_bytes = 3
    with pytest.raises(BufferFullError):
        outbox.add(b"a")
    outbox.link_lost()
    outbox.add(b"a")
