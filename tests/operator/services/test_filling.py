"""When the reconciler's objects are counted again."""

import itertools

from penstock_operator.services.filling import FIRST_RECOUNT_SECONDS, RECOUNT_SECONDS, recount_delays


def test_first_recounts_come_soon_and_the_pauses_double_up_to_a_limit() -> None:
    delays = list(itertools.islice(recount_delays(), 20))
    assert delays[0] == FIRST_RECOUNT_SECONDS
    assert delays[-1] == RECOUNT_SECONDS
    assert all(after == min(2 * before, RECOUNT_SECONDS) for before, after in itertools.pairwise(delays))
