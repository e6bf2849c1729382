"""How long a batch takes: learned from those that were done."""

from functools import reduce
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.scaling.service import NO_WORK_YET, Work, batch_seconds, messages_per_second


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
