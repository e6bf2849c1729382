"""A change is made once it has been wanted for long enough, nearly as Kubernetes' own autoscaler does it.

Fewer are wanted for two reasons. What came once is done: those that were called for it go soon. Or less comes in: those
that kept up with it stay until all that came within the window did not need them, as it may come again. So a spike
costs its own work and little more, and what comes in waves is not answered by as many starts.

Knows windows. Does not know why a number was wanted.
"""

from dataclasses import replace

from penstock_operator.plan.scaling.limits import Limits
from penstock_operator.plan.scaling.memory import Memory, Want
from penstock_operator.plan.scaling.observation import Observation

SOON = 1 / 4
"""This share of the window before workers are taken away has to pass before those go that were called for a backlog."""


def begun(memory: Memory, limits: Limits, seen: Observation) -> Memory:
    """Begin with what is there, as somebody wanted it: nobody goes because we have just come and know nothing."""
    return replace(memory, found=Want(seen.now, seen.now + limits.down_window, seen.workers))


def remembered(memory: Memory, limits: Limits, now: float, wanted: int) -> Memory:
    """Add what is wanted now, and forget what was wanted before both windows."""
    last = memory.wanted[-1] if memory.wanted else None
    if last and last.number == wanted:
        recent, newest = memory.wanted[:-1], replace(last, end=now)
    else:
        recent, newest = memory.wanted, Want(now, now, wanted)
    since = now - max(limits.up_window, limits.down_window * SOON)
    return replace(memory, wanted=(*(want for want in recent if want.end >= since), newest))


def stabilized(memory: Memory, limits: Limits, seen: Observation, wanted: int, keeping_up: int) -> int:
    """Return the least that was wanted of late if that is more than there are, or what is to stay if that is fewer.

    The first worker does not wait: messages do. Nor does the last one, as `idle` was its window. Nor do those beyond
    maxReplicas: somebody has changed it.
    """
    if not seen.workers or not wanted:
        return wanted
    least = min(_since(memory, seen.now - limits.up_window))
    if least > seen.workers:
        return least
    most = max(_since(memory, seen.now - limits.down_window * SOON))
    found = memory.found.number if memory.found and seen.now < memory.found.end else 0
    return min(max(most, found, keeping_up), seen.workers, limits.max_workers)


def _since(memory: Memory, since: float) -> list[int]:
    return [want.number for want in memory.wanted if want.end >= since]
