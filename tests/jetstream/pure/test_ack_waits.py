"""Messages in a buffer: renewed while the user keeps asking for messages, dropped when their ack wait ran out.

The ack wait is 30 s, with a renewal every 10 s. In the timelines: `a` arrival, `r` renewal, `?` the user asks.
"""

import pytest

from penstock_jetstream.core.ack_waits import AckWaits
from penstock_jetstream.errors import UsageError

pytestmark = pytest.mark.requirement("V-01")


def waits(*arrivals: tuple[int, float], keep_alive: bool = True) -> AckWaits:
    it = AckWaits(30, keep_alive=keep_alive, now=0)
    for messages, time in arrivals:
        it.arrived(messages, time)
    return it


def test_messages_that_waited_longer_than_their_ack_wait_are_dropped_unless_taken() -> None:
    """a······a···?    : at 31 s the first two have run out, the third has not"""
    for seconds in (0, -1):
        with pytest.raises(UsageError, match="ack wait"):
            AckWaits(seconds, keep_alive=True, now=0)
    assert waits((2, 0), keep_alive=False).asked(29.9) == 0
    it = waits((2, 0), (1, 20), keep_alive=False)
    assert [it.asked(31), it.asked(31)] == [2, 0]
    it.taken()
    assert it.asked(100) == 0
    it = waits((3, 0), keep_alive=False)
    it.taken()
    it.taken()
    assert it.asked(30) == 1


def test_waiting_messages_are_renewed_three_times_in_an_ack_wait_and_not_before_it_is_time() -> None:
    """a····r····r····r····?  : nothing has run out at 40 s, as the user asked at 15 s"""
    it = waits((5, 0))
    assert it.renew(9) == 0
    assert it.wake_at == 10
    assert it.renew(10) == 5
    assert it.asked(15) == 0
    assert [it.renew(20), it.renew(30)] == [5, 5]
    assert it.asked(40) == 0


def test_nothing_is_renewed_for_a_user_who_has_not_asked_for_a_whole_ack_wait_until_they_ask_again() -> None:
    """a····r····r····|····|····|····?  : the user hangs since 0 s; renewed until 20 s, all has run out at 50 s"""
    it = waits((5, 0))
    assert [it.renew(now) for now in (10, 20, 30, 40)] == [5, 5, 0, 0]
    assert it.asked(50) == 5
    it = waits((5, 0), (2, 35))
    assert it.asked(40) == 5
    assert it.renew(40) == 2
    assert it.asked(69) == 0


def test_nothing_is_renewed_without_keep_alive_or_that_was_discarded_or_ran_out() -> None:
    it = waits((3, 0), keep_alive=False)
    assert it.wake_at is None
    assert it.renew(100) == 0
    it = waits((3, 0))
    it.discarded()
    assert it.renew(10) == 0
    it = waits((3, 0), (2, 20))
    assert it.asked(5) == 0
    assert it.renew(31) == 2, "the server may have delivered the first three to another client"
    assert [it.asked(45), it.asked(45)] == [3, 0]
