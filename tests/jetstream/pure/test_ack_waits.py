"""Messages in a buffer: renewed while their turn is bound to come, dropped when their ack wait ran out.

The time-lines have an ack wait of 30 s, and so a renewal each 10 s: `a` arrival, `r` renewal, `?` the user asks.
"""

import pytest

from penstock_jetstream.core.ack_waits import AckWaits
from penstock_jetstream.errors import UsageError

pytestmark = pytest.mark.requirement("V-01")


def waits(*, keep_alive: bool = True) -> AckWaits:
    return AckWaits(30, keep_alive=keep_alive, now=0)


def test_what_is_fresh_is_handed_out() -> None:
    it = waits(keep_alive=False)
    it.arrived(2, 0)
    assert it.asked(29.9) == 0


def test_what_waited_longer_than_its_ack_wait_is_dropped() -> None:
    """a······a···?    : at 31 s the first two have run out, the third has not"""
    it = waits(keep_alive=False)
    it.arrived(2, 0)
    it.arrived(1, 20)
    assert it.asked(31) == 2
    assert it.asked(31) == 0
    it.taken()
    assert it.asked(100) == 0


def test_what_was_taken_no_longer_counts() -> None:
    it = waits(keep_alive=False)
    it.arrived(3, 0)
    it.taken()
    it.taken()
    assert it.asked(30) == 1


def test_what_waits_is_renewed_three_times_in_an_ack_wait() -> None:
    """a····r····r····r····?  : nothing has run out at 40 s, as the user asked at 15 s"""
    it = waits()
    it.arrived(5, 0)
    assert it.wake_at == 10
    assert it.renew(10) == 5
    assert it.asked(15) == 0
    assert it.renew(20) == 5
    assert it.renew(30) == 5
    assert it.asked(40) == 0


def test_a_renewal_is_not_due_before_its_time() -> None:
    it = waits()
    it.arrived(5, 0)
    assert it.renew(9) == 0
    assert it.wake_at == 10


def test_nothing_is_renewed_for_a_user_who_has_not_asked_for_a_whole_ack_wait() -> None:
    """a····r····r····|····|····|····?  : the user hangs since 0 s; renewed until 20 s, all has run out at 50 s"""
    it = waits()
    it.arrived(5, 0)
    assert it.renew(10) == 5
    assert it.renew(20) == 5
    assert it.renew(30) == 0
    assert it.renew(40) == 0
    assert it.asked(50) == 5


def test_a_user_who_asks_again_has_the_rest_renewed() -> None:
    it = waits()
    it.arrived(5, 0)
    it.arrived(2, 35)
    assert it.asked(40) == 5
    assert it.renew(40) == 2
    assert it.asked(69) == 0


def test_what_ran_out_is_not_renewed() -> None:
    """A renewal that comes late (the event loop stood still) leaves to the server what it has delivered elsewhere."""
    it = waits()
    it.arrived(3, 0)
    it.arrived(2, 20)
    assert it.asked(5) == 0
    assert it.renew(31) == 2
    assert it.asked(45) == 3
    assert it.asked(45) == 0


def test_without_keep_alive_nothing_is_ever_renewed() -> None:
    it = waits(keep_alive=False)
    it.arrived(3, 0)
    assert it.wake_at is None
    assert it.renew(100) == 0


def test_a_discarded_buffer_has_nothing_to_renew() -> None:
    it = waits()
    it.arrived(3, 0)
    it.discarded()
    assert it.renew(10) == 0


@pytest.mark.parametrize("seconds", [0, -1])
def test_an_ack_wait_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(UsageError, match="ack wait"):
        AckWaits(seconds, keep_alive=True, now=0)
