"""Whether a peer lives, judged once per interval."""

from penstock_jetstream.core.pulse import Pulse


def beats(*intervals: tuple[bool, int, int]) -> list[bool]:
    """Return the judgement of each interval: whether something was heard, bytes handed over, bytes of backlog."""
    pulse = Pulse()
    return [
        pulse.beats(heard=heard, handed_over_bytes=sent, backlog_bytes=backlog) for heard, sent, backlog in intervals
    ]


def test_a_silent_peer_is_dead_at_the_third_look_and_anything_heard_shows_life() -> None:
    assert beats((True, 0, 0), (False, 0, 0), (False, 0, 0)) == [True, True, False]
    assert beats(*((turn % 2 == 0, 0, 0) for turn in range(10))) == [True] * 10


def test_only_a_backlog_that_shrinks_shows_life() -> None:
    shrinking = [(False, 100, backlog) for backlog in (100, 80, 60, 40, 20, 0)]
    assert beats(*shrinking, (False, 100, 0), (False, 100, 0)) == [*[True] * 7, False]
    assert beats(*((False, 100 + more, 100 + more) for more in (0, 50, 100))) == [True, False, False]
    assert beats((False, 10, 0), (False, 20, 0), (False, 30, 0)) == [True, False, False], "may go to a dead peer"
