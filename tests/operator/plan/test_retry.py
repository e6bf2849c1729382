"""How long the operator waits before it tries again."""

from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.retry import FIRST_SECONDS, LONGEST_SECONDS, delay_seconds


def test_delays_double_up_to_five_minutes() -> None:
    assert [delay_seconds(failures, 0) for failures in range(1, 12)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


@given(st.integers(0, 10**9), st.floats(0, 1))
def test_jitter_spreads_delays_within_their_limits(failures: int, chance: float) -> None:
    assert FIRST_SECONDS / 2 <= delay_seconds(failures, chance) <= LONGEST_SECONDS
    assert delay_seconds(failures, 1) == delay_seconds(failures, 0) / 2
