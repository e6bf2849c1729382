"""What a step up has brought: one that brought nothing is taken back, and not repeated for a while.

Where Spark, a database or the disk is the wall, more workers only wait on each other: autoscalers that do not look go
on to their maximum, and stay there. Knows steps and rates. Does not decide how many are wanted.
"""

from dataclasses import replace

from penstock_operator.plan.scaling.memory import Futile, Memory, Step
from penstock_operator.plan.scaling.observation import Observation

PROOF_SECONDS = 60.0
"""How long after a step its rate is judged: workers start, Spark warms up, and rates are means over a while."""
WORTHWHILE = 0.2
"""A step must bring this share of what it would bring if each worker did as much as those before."""
HELD_SECONDS = 600.0
"""How long a step that brought nothing is not repeated: whatever was the wall may be gone by then."""
LONGEST_HELD_SECONDS = 7200.0
"""Each time that it brings nothing again it is not repeated for twice as long, up to this."""


def noted(memory: Memory, seen: Observation, workers: int) -> Memory:
    """Remember a step up, to judge it later. One that is under way grows; a step down ends it."""
    if workers == seen.workers:
        is_settled = seen.ready == seen.workers
        since = (seen.now if memory.same_since is None else memory.same_since) if is_settled else None
        return replace(memory, same_since=since)
    step = _grown(memory.step, seen, workers) or _begun(memory, seen, workers)
    return replace(memory, same_since=None, step=step if workers > seen.workers else None)


def _grown(step: Step | None, seen: Observation, workers: int) -> Step | None:
    return replace(step, at=seen.now, after=workers) if step else None


def _begun(memory: Memory, seen: Observation, workers: int) -> Step | None:
    """Begin a step, if the rate before it says what those before could do: they have worked for as long as it takes."""
    was_steady = memory.same_since is not None and seen.now - memory.same_since >= PROOF_SECONDS
    was_busy = seen.reading is not None and seen.reading.pending > 0 and seen.settled_per_second > 0
    return Step(seen.now, seen.workers, workers, seen.settled_per_second) if was_steady and was_busy else None


def judged(memory: Memory, seen: Observation) -> Memory:
    """Judge the step that is old enough, if all of its workers work and there is work for them."""
    step = memory.step
    if step is None or seen.now - step.at < PROOF_SECONDS or seen.ready < step.after:
        return memory
    memory = replace(memory, step=None)
    if seen.reading is None or not seen.reading.pending:
        return memory
    hoped = step.settled_per_second * (step.after / step.before - 1)
    if seen.settled_per_second - step.settled_per_second >= WORTHWHILE * hoped:
        return replace(memory, futile=None)
    return replace(memory, futile=_again(memory.futile, step, seen.now), wanted=())  # taken back at once


def _again(before: Futile | None, step: Step, now: float) -> Futile:
    times = before.times + 1 if before else 1
    return Futile(now + min(HELD_SECONDS * 2 ** (times - 1), LONGEST_HELD_SECONDS), step.before, times)
