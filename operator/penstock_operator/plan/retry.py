"""How long to wait before trying again: longer each time, never the same for all, and never for ever.

Pure: how often it failed and a random number come in. Does not know what is tried.
"""

FIRST_SECONDS = 1.0
"""A server that fails over answers again within seconds."""
LONGEST_SECONDS = 300.0
"""What can be mended is noticed within five minutes, even if nothing tells us."""
FACTOR = 2.0
JITTER = 0.5
"""Up to this share is taken off, so that a thousand objects do not come back as one."""
MOST_DOUBLINGS = 16
"""By then the delay is the longest; more would only overflow."""


def delay_seconds(failures: int, chance: float) -> float:
    """Return how long to wait after so many failures in a row (1 is the first); `chance` is from 0 to 1."""
    doublings = min(max(failures - 1, 0), MOST_DOUBLINGS)
    longest = min(FIRST_SECONDS * FACTOR**doublings, LONGEST_SECONDS)
    return longest * (1 - JITTER * chance)
