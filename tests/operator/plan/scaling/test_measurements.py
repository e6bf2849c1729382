"""What scaling measures: recent arrivals, how long a batch takes, and what workers have done."""

from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.scaling.arrivals import Arrivals, Came, per_second, with_more
from penstock_operator.plan.scaling.service import NO_WORK_YET, Work, batch_seconds, messages_per_second
from penstock_operator.plan.scaling.tally import Tally

# Arrivals: sums stay the same, however they are remembered


def remembered(*messages: float, kept: float = 100, exact: float = 10) -> Arrivals:
    """Let so many come, second by second."""
    arrivals: Arrivals = ()
    for second, number in enumerate(messages):
        arrivals = with_more(arrivals, Came(second, second + 1, number), exact_seconds=exact, kept_seconds=kept)
    return arrivals


def test_mean_is_that_of_the_given_time_and_unknown_times_count_as_zero() -> None:
    arrivals = remembered(10, 20, 30, 40)
    assert per_second(arrivals, 0, 4) == 25
    assert per_second(arrivals, 2, 4) == 35
    assert per_second(arrivals, 2.5, 3.5) == 35
    assert per_second(remembered(10, 10), -2, 2) == 5


def test_history_is_kept_in_few_parts_with_the_last_seconds_exact_and_then_forgotten() -> None:
    assert remembered(*[0] * 3600, kept=7200) == (Came(0, 3600, 0),)
    arrivals = remembered(*range(3600), kept=3600)
    assert len(arrivals) < 60
    assert [came.messages for came in arrivals[-10:]] == list(range(3590, 3600))
    assert remembered(*[1] * 200)[0].end > 100


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=200))
def test_joining_parts_loses_nothing(messages: list[int]) -> None:
    arrivals = remembered(*messages, kept=1000)
    assert sum(came.messages for came in arrivals) == sum(messages)
    assert per_second(arrivals, 0, len(messages)) == pytest.approx(sum(messages) / len(messages))
    assert all(one.end == other.begin for one, other in pairwise(arrivals))


# How long a batch takes


def done(*batches: tuple[float, float]) -> Work:
    """Return the sums over batches of so many messages that took so many seconds, one after another."""
    each = [Work(1, size, seconds, size**2, size * seconds, seconds) for size, seconds in batches]
    return reduce(add, each, NO_WORK_YET)


def test_cost_of_a_batch_and_cost_of_each_message_are_told_apart() -> None:
    work = done((10, 1.01), (1000, 2), (5000, 6))
    assert batch_seconds(work, 10_000) == pytest.approx(11)


def test_batches_of_one_size_predict_others_within_a_factor_of_two() -> None:
    work = done((1000, 2), (1000, 2))
    assert batch_seconds(work, 1000) == pytest.approx(2)
    assert 10 <= batch_seconds(work, 10_000) <= 20


def test_costs_are_never_negative() -> None:
    """Larger batches may have been faster by chance, and small ones cheaper than their messages."""
    assert batch_seconds(done((10, 5), (1000, 1)), 100_000) == pytest.approx(3)
    assert batch_seconds(done((1000, 1), (2000, 4)), 10) > 0


def test_parallel_batches_are_not_counted_twice() -> None:
    two_at_once = Work(2, 2000, 4, 2_000_000, 4000, busy_seconds=2)
    assert messages_per_second(two_at_once, 1000, in_flight=2) == pytest.approx(1000)
    assert messages_per_second(two_at_once, 1000, in_flight=1) == pytest.approx(500)


def test_recent_batches_weigh_more_than_faded_ones() -> None:
    work = done(*[(1000, 10)] * 10).faded(0.01) + done(*[(1000, 1)] * 10)
    assert batch_seconds(work, 1000) == pytest.approx(1, rel=0.1)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.floats(0, 10**4)), max_size=20), st.integers(1, 10**6))
def test_batch_never_takes_negative_time(batches: list[tuple[int, float]], size: int) -> None:
    assert batch_seconds(done(*batches), size) >= 0
    assert messages_per_second(done(*batches), size, 2) > 0


# What workers have done, summed up although each counts from its own start


def status(batches: int, acked: int) -> dict[str, Any]:
    work = {"batches": batches, "messages": acked, "seconds": 1.5, "busySeconds": 1.0}
    return {"verdicts": {"ok": batches}, "answered": {"acked": acked}, "work": work}


def heard(*reports: tuple[str, dict[str, Any]]) -> Tally:
    tally = Tally()
    for worker, report in reports:
        tally.hear(worker, report)
    return tally


def test_report_that_arrives_twice_counts_once() -> None:
    tally = heard(("w", status(1, 10)), ("w", status(1, 10)), ("w", status(3, 30)))
    assert (tally.verdicts["ok"], tally.settled) == (3, 30)


def test_worker_that_restarts_counts_from_zero_also_if_only_its_numbers_show_it() -> None:
    tally = heard(("a", status(2, 20)), ("b", status(1, 10)))
    tally.began("a")
    tally.hear("a", status(2, 5))
    assert (tally.verdicts["ok"], tally.settled) == (5, 35)
    tally = heard(("a", status(7, 70)), ("a", status(2, 5)))
    assert (tally.verdicts["ok"], tally.settled) == (9, 75)


def test_forgotten_worker_counts_from_zero_when_it_returns() -> None:
    tally = heard(("a", status(2, 20)))
    tally.forget(["b"])
    tally.hear("a", status(3, 30))
    assert (tally.verdicts["ok"], tally.settled) == (5, 50)


def test_only_final_answers_count_as_settled() -> None:
    assert heard(("w", {"answered": {"acked": 3, "dead-lettered": 2, "given-back": 7}})).settled == 5


def test_rate_is_the_mean_of_the_last_seconds() -> None:
    tally = Tally()
    for second in range(21):
        tally.hear("w", status(second, 100 * second))
        tally.tick(float(second), 1.0)
    assert tally.per_second == pytest.approx(100)
    for second in range(21, 28):
        tally.tick(float(second), 1.0)
    assert tally.per_second == 0


def test_old_work_weighs_less() -> None:
    tally = heard(("w", status(10, 100)))
    assert tally.work == Work(10, 100, 1.5, 0, 0, 1.0)
    tally.tick(60.0, 60.0)
    assert 2 < tally.work.batches < 4
