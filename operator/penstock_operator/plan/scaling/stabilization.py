"""A change is made once it has been wanted for long enough: as Kubernetes' own autoscaler does it.

Knows windows. Does not know why a number was wanted.
"""

from dataclasses import replace

from penstock_operator.plan.scaling.limits import Limits
from penstock_operator.plan.scaling.memory import Memory
from penstock_operator.plan.scaling.observation import Observation


def remembered(memory: Memory, limits: Limits, now: float, wanted: int) -> Memory:
    """Add what is wanted now, and forget what is older than both windows."""
    longest = max(limits.up_window, limits.down_window)
    recent = tuple((at, number) for at, number in memory.wanted if now - at <= longest)
    return replace(memory, wanted=(*recent, (now, wanted)))


def stabilized(memory: Memory, limits: Limits, seen: Observation, wanted: int) -> int:
    """Return the least that was wanted of late if that is more than there are, or the most if that is fewer.

    The first worker does not wait: messages do. Nor does the last one, as `idle` was its window.
    """
    if not seen.workers or not wanted:
        return wanted
    least = min(number for at, number in memory.wanted if seen.now - at <= limits.up_window)
    most = max(number for at, number in memory.wanted if seen.now - at <= limits.down_window)
    if least > seen.workers:
        return least
    return min(most, seen.workers)
