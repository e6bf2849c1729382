"""How many workers there should be: each rule by an example, and invariants for any observation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.scaling import NOTHING_YET, Decision, Limits, Memory, Observation, Reading, Why, Work, scale
from penstock_operator.plan.scaling.memory import Futile, Step
from penstock_operator.plan.scaling.steps import judged
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


def test_workers_follow_the_backlog(subtests: pytest.Subtests) -> None:
    within = limits()
    for why, observation, expected in (
        ("one message wakes one worker at once", seen(pending=1), 1),
        ("500 messages a second each, 30 s: 15 000 for each", seen(pending=90_000, workers=1), 6),
        ("messages of a worker that is gone count", seen(ack_pending=30_000, workers=1), 2),
        ("a full worker needs no other", seen(pending=1, held=3 * within.running_each, workers=1), 1),
        ("a first batch is assumed to take seconds", seen(pending=90_000, workers=1, work=Work()), 6),
        ("a tenth more work waits a little longer instead", seen(pending=32_000, workers=2), 2),
        ("more than a tenth brings another worker", seen(pending=34_000, workers=2), 3),
    ):
        with subtests.test(why):
            assert decide(observation).workers == expected
    assert decide(seen(pending=90_000, workers=1)).words == "pending 90,000 (90 batches), held 0: 1 → 6"
    assert (decide(seen()).workers, decide(seen()).why) == (0, Why.IDLE)
    assert decide(seen(pending=1000, workers=1), within=limits(target_drain=1)).workers == 1, "one batch for one"


def test_workers_with_full_batches_stay_and_of_those_with_a_few_messages_one(subtests: pytest.Subtests) -> None:
    within = limits(down_window=0, in_flight=2)
    for why, held, workers in (
        ("two batches each", 4 * within.running_each, 4),
        ("more than they can work on at once", 8 * within.running_each, 4),
        ("two of them are done", 2 * within.running_each, 2),
        ("a few messages each", 4, 1),
    ):
        with subtests.test(why):
            assert decide(seen(held=held, workers=4), within=within).workers == workers


def test_small_batches_do_not_count_as_slow_ones() -> None:
    """Ten messages took 1.01 s, a thousand took 2 s: a backlog is done in thousands."""
    tens = Work(100, 1_000, 101, 10_000, 1_010, 101)
    thousands = Work(1, 1_000, 2, 1_000_000, 2_000, 2)
    assert decide(seen(pending=90_000, workers=1, work=tens + thousands)).workers == 6


def test_arrivals_count_before_they_are_pending() -> None:
    memory = decide(seen(now=0, pending=2000, workers=1)).memory
    memory = decide(seen(now=10, pending=2000, delivered=19_000, held=2000, workers=4), memory).memory
    decision = decide(seen(now=20, pending=2000, delivered=38_000, held=2000, workers=4), memory)
    assert decision.workers == 4, "1900 a second, of which each does 500"


def test_burst_does_not_count_as_a_rate_however_often_it_is_observed() -> None:
    memory = decide(seen(now=0, workers=1)).memory
    memory = decide(seen(now=15, workers=1), memory).memory
    assert decide(seen(now=30, pending=90_000, workers=1), memory).workers == 6, "the backlog, and nothing on top of it"
    memory = decide(seen(now=0, workers=1)).memory
    for second in range(1, 20):
        memory = decide(seen(now=second, workers=1), memory).memory
    for second, pending in ((20, 30_000), (21, 60_000)):
        memory = decide(seen(now=second, pending=pending, workers=6), memory).memory
    assert decide(seen(now=22, pending=90_000, workers=6), memory).workers == 6


def test_missing_reading_changes_nothing() -> None:
    unknown = Observation(now=0, reading=None, workers=7, ready=7)
    assert (decide(unknown).workers, decide(unknown).why) == (7, Why.UNKNOWN)
    assert "the number stays" in decide(unknown).words


def test_worker_that_does_not_answer_stays() -> None:
    """It may hold messages, which only it can report."""
    memory = decide(seen(workers=3, unheard=2)).memory
    assert decide(seen(now=1000, workers=3, unheard=2), memory).workers >= 2


def test_last_worker_goes_after_the_idle_time_which_a_message_restarts() -> None:
    memory = decide(seen(now=0, workers=1)).memory
    early = decide(seen(now=299, workers=1), memory)
    assert (early.workers, early.why) == (1, Why.NOT_IDLE_YET)
    late = decide(seen(now=300, workers=1), early.memory)
    assert (late.workers, late.why) == (0, Why.IDLE)
    assert late.words == "pending 0, held 0: 1 → 0, as there has been nothing to do for 300 s"
    assert decide(seen(now=1)).words == "pending 0, held 0: 0 as before, as there is nothing to do"
    memory = decide(seen(now=200, workers=1, held=1), decide(seen(now=0, workers=1)).memory).memory
    memory = decide(seen(now=215, workers=1), memory).memory
    assert decide(seen(now=300, workers=1), memory).workers == 1
    assert decide(seen(now=515, workers=1), memory).workers == 0


def test_each_bound_is_named_as_the_reason(subtests: pytest.Subtests) -> None:
    for bounds, workers, why in (
        ({"max_workers": 3}, 3, Why.MAXIMUM),
        ({"max_ack_pending": 4000}, 4, Why.MAX_ACK_PENDING),
        ({"quota": 2}, 2, Why.QUOTA),
        ({"max_workers": 3, "quota": 2}, 2, Why.QUOTA),
        ({"min_workers": 9}, 9, Why.MINIMUM),
    ):
        with subtests.test(str(bounds)):
            decision = decide(seen(pending=90_000, workers=1), within=limits(**bounds))
            assert (decision.workers, decision.why) == (workers, why)
    assert decide(seen(), within=limits(min_workers=2)).workers == 2, "while there is nothing to do"


def test_number_of_workers_that_did_no_more_is_not_tried_again() -> None:
    memory = Memory(futile=Futile(until=600, workers=2))
    assert (decide(seen(pending=90_000, workers=2), memory).workers) == 2
    assert decide(seen(now=600, pending=90_000, workers=2), memory).workers == 4, "and then with care"


def after(seconds: int, memory: Memory, *, workers: int, per_second: int = 0) -> Memory:
    """Let so many messages come in and be taken each second."""
    assert memory.reading is not None
    begin, delivered = memory.reading.at, memory.reading.delivered
    for second in range(1, seconds + 1):
        observation = seen(
            now=begin + second, delivered=delivered + second * per_second, held=max(1, per_second), workers=workers
        )
        memory = decide(observation, memory).memory
    return memory


def test_new_leader_takes_no_worker_away_before_the_window_is_over() -> None:
    """An operator that has just started knows nothing of what was wanted before."""
    decision = decide(seen(now=0, held=1, workers=6))
    assert (decision.workers, decision.why) == (6, Why.STABILIZING)
    memory = after(119, decision.memory, workers=6)
    assert decide(seen(now=119, held=1, workers=6), memory).workers == 6
    assert decide(seen(now=120, held=1, workers=6), memory).workers == 1


def test_workers_for_a_backlog_go_soon_after_it_is_done() -> None:
    """The window is two minutes: workers that came for a single burst stay for a quarter of it."""
    memory = after(130, decide(seen(now=0, held=1, workers=1)).memory, workers=1)
    called = decide(seen(now=131, pending=90_000, workers=1), memory)
    assert called.workers == 6
    memory = decide(seen(now=132, held=1, delivered=90_000, workers=6), called.memory).memory
    memory = after(28, memory, workers=6)
    soon = decide(seen(now=161, held=1, delivered=90_000, workers=6), memory)
    assert (soon.workers, soon.why) == (6, Why.STABILIZING)
    later = decide(seen(now=162, held=1, delivered=90_000, workers=6), memory)
    assert later.workers == 2, "90 000 in two minutes are 750 a second"


def test_workers_for_a_steady_rate_stay_until_it_has_stopped_for_the_whole_window() -> None:
    """Each does 500 a second: five for 2000, with some to spare. Then nothing comes for a minute, or two."""
    memory = after(200, decide(seen(now=0, held=1, workers=5)).memory, workers=5, per_second=2000)
    quiet = after(60, memory, workers=5)
    assert decide(seen(now=260, delivered=400_000, held=1, workers=5), quiet).workers == 3
    assert decide(seen(now=320, delivered=400_000, held=1, workers=3), after(60, quiet, workers=3)).workers == 1


def test_lower_maximum_applies_at_once() -> None:
    """With mode External it is the number that was asked for."""
    memory = decide(seen(pending=90_000, workers=6)).memory
    assert decide(seen(now=1, pending=90_000, workers=6), memory, limits(min_workers=2, max_workers=2)).workers == 2


def test_up_window_delays_more_workers() -> None:
    patient = limits(up_window=30)
    memory = decide(seen(now=0, pending=1000, workers=1), within=patient).memory
    soon = decide(seen(now=15, pending=90_000, workers=1), memory, patient)
    assert (soon.workers, soon.why) == (1, Why.STABILIZING)
    assert decide(seen(now=46, pending=90_000, workers=1), soon.memory, patient).workers == 6


def test_recreated_consumer_does_not_look_like_arrivals() -> None:
    memory = decide(seen(now=0, delivered=1_000_000, workers=1)).memory
    assert decide(seen(now=15, pending=10, delivered=0, workers=1), memory).memory.arrivals == ()


def after_a_step(*, settled_per_second: float, each: float) -> Memory:
    """Give the workers of a step from one, which did 500 a second, to twenty a backlog for longer than a minute."""
    memory = Memory(step=Step(before=1, after=20, each=500))
    for second in range(100):
        memory = judged(
            memory,
            Observation(
                now=second,
                reading=Reading(at=second, pending=10_000, ack_pending=0, delivered=0),
                workers=20,
                ready=20,
                work=Work(10, 10_000, 10_000 / each, 10_000_000, 10_000_000 / each, 10_000 / each),
                settled_per_second=settled_per_second,
            ),
            1000,
            each,
        )
    return memory


def test_longer_batches_with_more_workers_are_a_shared_bottleneck() -> None:
    memory = after_a_step(settled_per_second=900, each=45)
    assert memory.futile is not None
    assert memory.futile.workers == 2, "900 a second are the work of two"


def test_failing_or_slow_looking_batches_are_no_bottleneck() -> None:
    assert after_a_step(settled_per_second=900, each=480).futile is None, "the others take no longer"
    assert after_a_step(settled_per_second=9000, each=45).futile is None, "as much is settled"


counts = st.integers(0, 10**9)
few = st.integers(0, 1000)


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    workers, work = draw(few), Work()
    for size in draw(st.lists(st.integers(1, 1000), max_size=3)):
        seconds = draw(st.floats(0, 1000))
        work += Work(1, size, seconds, size**2, size * seconds, seconds)
    reading = Reading(at=0, pending=draw(counts), ack_pending=draw(counts), delivered=draw(counts))
    return Observation(
        now=draw(st.floats(0, 1000)),
        reading=draw(st.sampled_from([reading, None])),
        workers=workers,
        ready=draw(st.integers(0, workers)),
        held=draw(counts),
        unheard=draw(st.integers(0, workers)),
        work=work,
        settled_per_second=draw(st.floats(0, 1e6)),
    )


@given(st.lists(observations(), max_size=6), st.integers(0, 5), st.integers(5, 1000), st.sampled_from([-1, 1, 1000]))
def test_decision_is_always_within_bounds_and_explained(
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
