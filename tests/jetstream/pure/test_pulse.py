"""Whether a peer lives, judged once per interval."""

from penstock_jetstream.core.pulse import Pulse


def beats(pulse: Pulse, *, heard: bool = False, sent_bytes: int = 0, backlog_bytes: int = 0) -> bool:
    return pulse.beats(heard=heard, handed_over_bytes=sent_bytes, backlog_bytes=backlog_bytes)


def test_a_silent_peer_is_dead_at_the_third_look() -> None:
    pulse = Pulse()
    assert [beats(pulse, heard=True), beats(pulse), beats(pulse)] == [True, True, False]


def test_whatever_is_heard_shows_life() -> None:
    pulse = Pulse()
    assert [beats(pulse, heard=turn % 2 == 0) for turn in range(10)] == [True] * 10


def test_a_backlog_that_shrinks_shows_life() -> None:
    pulse = Pulse()
    backlogs = [100, 80, 60, 40, 20, 0]
    assert [beats(pulse, sent_bytes=100, backlog_bytes=backlog) for backlog in backlogs] == [True] * 6
    assert [beats(pulse, sent_bytes=100), beats(pulse, sent_bytes=100)] == [True, False]


def test_a_backlog_that_stands_still_does_not_even_while_it_grows() -> None:
    pulse = Pulse()
    looks = [beats(pulse, sent_bytes=100 + more, backlog_bytes=100 + more) for more in (0, 50, 100)]
    assert looks == [True, False, False]


def test_what_leaves_without_a_backlog_may_be_on_its_way_to_nowhere() -> None:
    pulse = Pulse()
    assert [beats(pulse, sent_bytes=sent) for sent in (10, 20, 30)] == [True, False, False]
