"""The decision: how many workers there shall be.

Enough to keep up with what comes in, and to be done with what waits within the time that is wanted:

    workers = (arrivals + waiting / targetDrain) / what one worker can do

What one can do is learned (service.py). At least one while anything waits or is held, and never fewer than hold what is
being worked on. None only once there has been nothing, neither waiting nor held, for `idle`. More come at once, and
fewer are fewer after a while (stabilization.py); a step up that brought nothing is taken back (steps.py). A reading
that is missing, or a worker that does not answer, takes nobody away. Every bound has a word, and each step a sentence.

Pure. Does not know pods or processes, nor which worker goes.
"""

import math
from dataclasses import replace

from penstock_operator.plan.scaling import steps
from penstock_operator.plan.scaling.arrivals import per_second, with_more
from penstock_operator.plan.scaling.decision import Decision, Why
from penstock_operator.plan.scaling.limits import Limits
from penstock_operator.plan.scaling.memory import Memory
from penstock_operator.plan.scaling.observation import Observation, Reading
from penstock_operator.plan.scaling.service import messages_per_second
from penstock_operator.plan.scaling.stabilization import begun, remembered, stabilized
from penstock_operator.plan.scaling.words import sentence

RATE_SECONDS = 10.0
"""What came is a rate if as much came in the time before, and a burst if not: it waits already, and goes on or not."""
TOLERANCE = 0.1
"""A tenth more work than there are workers for calls for nobody, and who stays has a tenth to spare if others go."""
Wanted = tuple[int, Why]


def scale(limits: Limits, seen: Observation, memory: Memory) -> Decision:
    """Decide how many workers there shall be."""
    if seen.reading is None:
        workers = max(seen.workers, limits.min_workers)
        return Decision(workers, Why.UNKNOWN, sentence(Why.UNKNOWN, seen, limits, workers), memory)
    each = messages_per_second(seen.work, limits.batch, limits.in_flight)
    memory = memory if memory.reading else begun(memory, limits, seen)
    memory = steps.judged(_learned(memory, limits, seen, seen.reading), seen, limits.batch, each)
    wanted, why = _bounded(limits, seen, memory, *_needed(limits, seen, seen.reading, memory, each))
    memory = remembered(memory, limits, seen.now, wanted)
    keeping_up, _ = _bounded(limits, seen, memory, _keeping_up(limits, seen.now, memory, each), why)
    workers = stabilized(memory, limits, seen, wanted, keeping_up)
    if workers != wanted:
        why = Why.STABILIZING
    memory = steps.noted(memory, seen, workers, each)
    return Decision(workers, why, sentence(why, seen, limits, workers), memory)


def _learned(memory: Memory, limits: Limits, seen: Observation, reading: Reading) -> Memory:
    came = reading.arrivals_since(memory.reading) if memory.reading else None
    arrivals = memory.arrivals
    if came is not None:
        exact = 2 * max(RATE_SECONDS, came.seconds)
        arrivals = with_more(arrivals, came, exact_seconds=exact, kept_seconds=max(exact, limits.down_window))
    is_empty = reading.is_empty and not seen.held and not seen.unheard
    empty_since = (seen.now if memory.empty_since is None else memory.empty_since) if is_empty else None
    return replace(memory, reading=reading, arrivals=arrivals, empty_since=empty_since)


def _needed(limits: Limits, seen: Observation, reading: Reading, memory: Memory, each: float) -> Wanted:
    if memory.empty_since is not None:
        if not seen.workers or seen.now - memory.empty_since >= limits.idle:
            return 0, Why.IDLE
        return 1, Why.NOT_IDLE_YET
    waiting = reading.pending + max(0, reading.ack_pending - seen.held)  # with one that is gone, and to come again
    work = (_rate(memory, reading.at) + waiting / limits.target_drain) / each
    to_do = seen.workers if seen.workers < work <= seen.workers * (1 + TOLERANCE) else math.ceil(work - _NEARLY)
    most = math.ceil((waiting + seen.held) / limits.batch)
    """No worker without a message: a second one would wait, or split what one does at once."""
    return max(1, min(to_do, max(1, most)), _holding(limits, seen)), Why.WORK


_NEARLY = 1e-9
"""What is one worker's work by all but a rounding error is not two workers'."""


def _rate(memory: Memory, now: float) -> float:
    """Return what comes in each second and goes on to come."""
    if not memory.arrivals:
        return 0.0
    seconds = max(RATE_SECONDS, memory.arrivals[-1].seconds)
    middle = now - seconds
    return min(per_second(memory.arrivals, middle, now), per_second(memory.arrivals, middle - seconds, middle))


def _keeping_up(limits: Limits, now: float, memory: Memory, each: float) -> int:
    """Return how many would have kept up with what came since as long as a change down takes, with some to spare."""
    if not limits.down_window or memory.empty_since is not None:
        return 0
    return math.ceil(per_second(memory.arrivals, now - limits.down_window, now) / each * (1 + TOLERANCE) - _NEARLY)


def _holding(limits: Limits, seen: Observation) -> int:
    """Return how many of the workers it takes to work on what is held, and those that do not say what they hold.

    A worker that goes finishes its batches, and another that is started in its place starts with nothing. One worker
    can hold more than it can work on at once, but for what it has collected no other is started.
    """
    return min(seen.workers, math.ceil(seen.held / limits.running_each)) + seen.unheard


def _bounded(limits: Limits, seen: Observation, memory: Memory, wanted: int, why: Why) -> Wanted:
    if wanted < limits.min_workers:
        return limits.min_workers, Why.MINIMUM
    bounds = [(limits.max_workers, Why.MAXIMUM), (limits.fed, Why.MAX_ACK_PENDING)]
    if limits.quota is not None:
        bounds.append((limits.quota, Why.QUOTA))
    if memory.futile:
        bounds.append((memory.futile.bound(seen.now), Why.FUTILE))
    bound, its_why = min(bounds, key=lambda each: each[0])
    return (max(bound, limits.min_workers), its_why) if wanted > bound else (wanted, why)
