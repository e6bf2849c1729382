"""How long to wait before something is tried again: growing waits, each a little different by chance.

Knows numbers only.
"""

from penstock_worker.policy.settings import RetrySettings

GROWTH = 4.0
"""1 s, 4 s, 16 s, 64 s, 4 min."""
JITTER = 0.2
"""Up to this share of a wait is added, so that workers that failed together do not come back together."""
FIRST_ANSWER_SECONDS = 0.5
LONGEST_ANSWER_SECONDS = 10.0
DOUBLINGS_MAX = 8
"""Beyond it every wait is the longest."""


def growing(retry: RetrySettings, attempt: int, chance: float) -> float:
    """Return the wait after this attempt, counted from 1, at a run."""
    seconds: float = retry.initial_delay_seconds * GROWTH ** min(attempt - 1, DOUBLINGS_MAX)
    return min(seconds, retry.max_delay_seconds) * (1 + JITTER * chance)


def before_asking_again(failures: int, chance: float) -> float:
    """Return the wait after so many failures, in a row, of what a server should have answered."""
    seconds: float = FIRST_ANSWER_SECONDS * 2 ** min(failures - 1, DOUBLINGS_MAX)
    return min(seconds, LONGEST_ANSWER_SECONDS) * (1 + JITTER * chance)
