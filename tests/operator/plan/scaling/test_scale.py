"""How many workers there shall be: each rule by an example, and what holds for whatever is observed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.scaling import NOTHING_YET, Decision, Limits, Memory, Observation, Reading, Why, Work, scale
from penstock_operator.plan.scaling.memory import Futile
from tests.operator.plan.scaling.group import limits

TEN_BATCHES_OF_A_THOUSAND_IN_TWO_SECONDS_EACH = Work(10, 10_000, 20, 10_000_000, 20_000, 20)


def seen(  # noqa: PLR0913 - each is a fact of its own
    *,
    now: float = 0,
    pending: int = 0,
    ack_pending: int = 0,
    delivered: int = 0,
    workers: int = 0,
    ready: int | None = None,
    held: int = 0,
    unheard: int = 0,
    work: Work = TEN_BATCHES_OF_A_THOUSAND_IN_TWO_SECONDS_EACH,
) -> Observation:
    return Observation(
        now=now,
        reading=Reading(at=now, pending=pending, ack_pending=ack_pending or held, delivered=delivered),
        workers=workers,
        ready=workers if ready is None else ready,
        held=held,
        unheard=unheard,
        work=work,
    )


def decide(observation: Observation, memory: Memory = NOTHING_YET, within: Limits | None = None) -> Decision:
    return scale(within or limits(), observation, memory)


def test_no_worker_runs_while_there_is_nothing() -> None:
    assert (decide(seen()).workers, decide(seen()).why) == (0, Why.IDLE)


def test_one_message_wakes_one_worker_at_once() -> None:
    assert decide(seen(pending=1)).workers == 1


def test_there_are_as_many_as_are_done_with_what_waits_in_the_wanted_time() -> None:
    decision = decide(seen(pending=90_000, workers=1))
    assert decision.workers == 6, "500 messages a second each, 30 s: 15 000 for each"
    assert decision.words == "pending 90,000 (90 batches), held 0: 1 → 6"


def test_messages_of_a_worker_that_is_gone_wait_too() -> None:
    assert decide(seen(ack_pending=30_000, workers=1)).workers == 2


def test_a_worker_that_holds_all_it_may_needs_no_other() -> None:
    within = limits()
    assert decide(seen(pending=1, held=within.held_each, workers=1), within=within).workers == 1


def test_before_the_first_batch_is_done_a_batch_is_assumed_to_take_seconds() -> None:
    assert decide(seen(pending=90_000, workers=1, work=Work())).workers == 6


def test_small_batches_are_not_taken_for_slow_ones() -> None:
    """Ten messages took 1.01 s, a thousand took 2 s: a backlog is done in thousands."""
    tens = Work(100, 1_000, 101, 10_000, 1_010, 101)
    thousands = Work(1, 1_000, 2, 1_000_000, 2_000, 2)
    assert decide(seen(pending=90_000, workers=1, work=tens + thousands)).workers == 6


def test_two_workers_are_not_called_for_one_batch() -> None:
    assert decide(seen(pending=1000, workers=1), within=limits(target_drain=1)).workers == 1


def test_what_comes_in_counts_before_it_waits() -> None:
    memory = decide(seen(now=0, pending=2000, workers=1)).memory
    memory = decide(seen(now=10, pending=2000, delivered=19_000, held=2000, workers=4), memory).memory
    decision = decide(seen(now=20, pending=2000, delivered=38_000, held=2000, workers=4), memory)
    assert decision.workers == 4, "1900 a second, of which each does 500"


def test_a_burst_is_not_taken_for_a_rate() -> None:
    memory = decide(seen(now=0, workers=1)).memory
    memory = decide(seen(now=15, workers=1), memory).memory
    assert decide(seen(now=30, pending=90_000, workers=1), memory).workers == 6, "what waits, and nothing on top of it"


def test_a_burst_is_none_however_often_it_is_looked_at() -> None:
    """It takes three seconds, and there is a reading each second: all of it waits already."""
    memory = decide(seen(now=0, workers=1)).memory
    for second in range(1, 20):
        memory = decide(seen(now=second, workers=1), memory).memory
    for second, pending in ((20, 30_000), (21, 60_000)):
        memory = decide(seen(now=second, pending=pending, workers=6), memory).memory
    assert decide(seen(now=22, pending=90_000, workers=6), memory).workers == 6


def test_a_tenth_more_work_than_there_are_workers_for_waits_a_little_longer_instead() -> None:
    assert decide(seen(pending=32_000, workers=2)).workers == 2, "30 000 in 30 s"
    assert decide(seen(pending=34_000, workers=2)).workers == 3


def test_a_reading_that_is_missing_takes_nobody_away_and_brings_nobody() -> None:
    unknown = Observation(now=0, reading=None, workers=7, ready=7)
    assert (decide(unknown).workers, decide(unknown).why) == (7, Why.UNKNOWN)
    assert "the number stays" in decide(unknown).words


def test_a_worker_that_does_not_answer_is_not_taken_away() -> None:
    """It may hold messages: what it says of itself is the only word for that."""
    memory = decide(seen(workers=3, unheard=2)).memory
    assert decide(seen(now=1000, workers=3, unheard=2), memory).workers >= 2


def test_the_last_worker_goes_when_there_has_been_nothing_for_long_enough() -> None:
    memory = decide(seen(now=0, workers=1)).memory
    early = decide(seen(now=299, workers=1), memory)
    assert (early.workers, early.why) == (1, Why.NOT_IDLE_YET)
    late = decide(seen(now=300, workers=1), early.memory)
    assert (late.workers, late.why) == (0, Why.IDLE)


def test_a_message_in_between_begins_the_idle_time_anew() -> None:
    memory = decide(seen(now=0, workers=1)).memory
    memory = decide(seen(now=200, workers=1, held=1), memory).memory
    memory = decide(seen(now=215, workers=1), memory).memory
    assert decide(seen(now=300, workers=1), memory).workers == 1
    assert decide(seen(now=515, workers=1), memory).workers == 0


@pytest.mark.parametrize(
    ("bounds", "workers", "why"),
    [
        ({"max_workers": 3}, 3, Why.MAXIMUM),
        ({"max_ack_pending": 4000}, 4, Why.MAX_ACK_PENDING),
        ({"quota": 2}, 2, Why.QUOTA),
        ({"max_workers": 3, "quota": 2}, 2, Why.QUOTA),
        ({"min_workers": 9}, 9, Why.MINIMUM),
    ],
)
def test_each_bound_says_that_it_is_one(bounds: dict[str, int], workers: int, why: Why) -> None:
    decision = decide(seen(pending=90_000, workers=1), within=limits(**bounds))
    assert (decision.workers, decision.why) == (workers, why)


def test_a_minimum_holds_while_there_is_nothing() -> None:
    assert decide(seen(), within=limits(min_workers=2)).workers == 2


def test_a_number_of_workers_that_did_no_more_is_not_tried_again() -> None:
    memory = Memory(futile=Futile(until=600, workers=2))
    assert (decide(seen(pending=90_000, workers=2), memory).workers) == 2
    assert decide(seen(now=600, pending=90_000, workers=2), memory).workers == 4, "and then with care"


def after(seconds: int, memory: Memory, *, workers: int, per_second: int = 0) -> Memory:
    """Let so many come and be taken, each second."""
    assert memory.reading is not None
    begin, delivered = memory.reading.at, memory.reading.delivered
    for second in range(1, seconds + 1):
        observation = seen(
            now=begin + second, delivered=delivered + second * per_second, held=max(1, per_second), workers=workers
        )
        memory = decide(observation, memory).memory
    return memory


def test_nobody_goes_because_somebody_else_has_begun_to_decide() -> None:
    """The operator was started anew: it knows nothing of what was wanted before."""
    decision = decide(seen(now=0, held=1, workers=6))
    assert (decision.workers, decision.why) == (6, Why.STABILIZING)
    memory = after(119, decision.memory, workers=6)
    assert decide(seen(now=119, held=1, workers=6), memory).workers == 6
    assert decide(seen(now=120, held=1, workers=6), memory).workers == 1


def test_who_was_called_for_a_backlog_goes_soon_after_it_is_done() -> None:
    """The window is two minutes: those who came for what came once stay for a quarter of it."""
    memory = after(130, decide(seen(now=0, held=1, workers=1)).memory, workers=1)
    called = decide(seen(now=131, pending=90_000, workers=1), memory)
    assert called.workers == 6
    memory = decide(seen(now=132, held=1, delivered=90_000, workers=6), called.memory).memory
    memory = after(28, memory, workers=6)
    soon = decide(seen(now=161, held=1, delivered=90_000, workers=6), memory)
    assert (soon.workers, soon.why) == (6, Why.STABILIZING)
    later = decide(seen(now=162, held=1, delivered=90_000, workers=6), memory)
    assert later.workers == 2, "90 000 in two minutes are 750 a second"


def test_who_keeps_up_with_what_comes_in_stays_until_it_has_not_come_for_the_whole_window() -> None:
    """Each does 500 a second: five for 2000, with some to spare. Then nothing comes for a minute, or two."""
    memory = after(200, decide(seen(now=0, held=1, workers=5)).memory, workers=5, per_second=2000)
    quiet = after(60, memory, workers=5)
    assert decide(seen(now=260, delivered=400_000, held=1, workers=5), quiet).workers == 3
    assert decide(seen(now=320, delivered=400_000, held=1, workers=3), after(60, quiet, workers=3)).workers == 1


def test_a_lower_maximum_is_heeded_at_once() -> None:
    """With mode External it is the number that somebody asked for."""
    memory = decide(seen(pending=90_000, workers=6)).memory
    assert decide(seen(now=1, pending=90_000, workers=6), memory, limits(min_workers=2, max_workers=2)).workers == 2


def test_more_are_wanted_for_a_while_before_they_are_more_if_that_is_asked_for() -> None:
    patient = limits(up_window=30)
    memory = decide(seen(now=0, pending=1000, workers=1), within=patient).memory
    soon = decide(seen(now=15, pending=90_000, workers=1), memory, patient)
    assert (soon.workers, soon.why) == (1, Why.STABILIZING)
    assert decide(seen(now=46, pending=90_000, workers=1), soon.memory, patient).workers == 6


def test_a_consumer_that_was_made_anew_does_not_look_like_arrivals() -> None:
    memory = decide(seen(now=0, delivered=1_000_000, workers=1)).memory
    assert decide(seen(now=15, pending=10, delivered=0, workers=1), memory).memory.arrivals == ()


counts = st.integers(0, 10**9)
few = st.integers(0, 1000)


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    workers, batches = draw(few), draw(st.integers(0, 1000))
    sizes = [draw(st.integers(1, 1000)) for _ in range(min(batches, 3))]
    work = Work()
    for size in sizes:
        seconds = draw(st.floats(0, 1000))
        work += Work(1, size, seconds, size**2, size * seconds, seconds)
    known = draw(st.booleans())
    return Observation(
        now=draw(st.floats(0, 1000)),
        reading=Reading(at=0, pending=draw(counts), ack_pending=draw(counts), delivered=draw(counts))
        if known
        else None,
        workers=workers,
        ready=draw(st.integers(0, workers)),
        held=draw(counts),
        unheard=draw(st.integers(0, workers)),
        work=work,
        settled_per_second=draw(st.floats(0, 1e6)),
    )


@given(st.lists(observations(), max_size=6), st.integers(0, 5), st.integers(5, 1000), st.sampled_from([-1, 1, 1000]))
def test_whatever_is_seen_the_number_is_within_its_bounds_and_said_in_words(
    story: list[Observation], least: int, most: int, max_ack_pending: int
) -> None:
    within, memory = limits(min_workers=least, max_workers=most, max_ack_pending=max_ack_pending), NOTHING_YET
    for observation in story:
        decision = decide(observation, memory, within)
        memory = decision.memory
        if observation.reading:
            assert least <= decision.workers <= max(most, observation.workers)
        if observation.reading and (observation.reading.pending or observation.held):
            assert decision.workers >= 1
        assert decision.words
