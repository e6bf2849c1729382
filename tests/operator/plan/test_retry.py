"""How long is waited before trying again."""

from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.retry import FIRST_SECONDS, LONGEST_SECONDS, delay_seconds

chances = st.floats(0, 1)


def test_delays_double_until_five_minutes() -> None:
    assert [delay_seconds(failures, 0) for failures in range(1, 12)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


@given(st.integers(0, 10**9), chances)
def test_no_delay_is_longer_than_the_longest_nor_shorter_than_half_of_the_first(failures: int, chance: float) -> None:
    assert FIRST_SECONDS / 2 <= delay_seconds(failures, chance) <= LONGEST_SECONDS


@given(st.integers(1, 100))
def test_chance_spreads_those_that_failed_together(failures: int) -> None:
    assert delay_seconds(failures, 1) == delay_seconds(failures, 0) / 2
