"""Recent arrivals: sums stay the same, however they are remembered."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.scaling.arrivals import Arrivals, Came, per_second, with_more


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
