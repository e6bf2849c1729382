"""What a step up has brought: one that brought nothing is taken back, and not repeated for a while.

Where Spark, a database or the disk is the wall, more workers only wait on each other, and each seems to be slow:
autoscalers that do not look go on to their maximum, and stay there. So all workers of a step are looked at, for a
while and with a backlog before them. If those that were added do not bring a third of what one could do before, each,
only as many are kept as would have been enough for what they do. What they do is what they settle, or what they would
by the time that their batches take, if that is more: that batches fail is no wall. Those that are kept are looked at
likewise: if they do less, it was no wall but dearer messages, and the bound is lifted. Knows steps and rates. Does
not decide how many are wanted.
"""

from dataclasses import replace
from math import ceil

from penstock_operator.plan.scaling.memory import Futile, Memory, Settled, Step
from penstock_operator.plan.scaling.observation import Observation
from penstock_operator.plan.scaling.service import batch_seconds

PROOF_SECONDS = 60.0
"""How long rates are looked at: workers start, Spark warms up, and rates vary."""
PROOF_BATCHES = 3
"""Nor for less than so many full batches take: rates are those of batches that are done."""
FRUITLESS = 1 / 3
"""A step brought nothing if those that were added do less than this share of what they would do without a wall."""
NOISE = 0.1
"""What is measured of the same work differs by this share: who did no more than that more is not one more worker."""
ENOUGH = 0.8
"""Fewer workers are enough if they do this share of what more have done."""
HELD_SECONDS = 600.0
"""How long a step that brought nothing is not repeated: whatever was the wall may be gone by then."""
LONGEST_HELD_SECONDS = 7200.0
"""Each time that it brings nothing again it is not repeated for twice as long, up to this."""


def noted(memory: Memory, seen: Observation, workers: int, each: float) -> Memory:
    """Remember a step up, to judge it later. One that is under way grows; a step down ends it."""
    if workers == seen.workers:
        return memory
    if workers < seen.workers or not seen.workers or seen.work.batches <= 0:
        return replace(memory, step=None)
    step = memory.step or Step(seen.workers, workers, each)
    return replace(memory, step=replace(step, after=workers, settled=None))


def judged(memory: Memory, seen: Observation, batch: int, each: float) -> Memory:
    """Judge the step that all workers have worked on for long enough, and the bound that followed from one."""
    if seen.reading is None or not seen.reading.pending:
        return _unproven(memory)
    proof = max(PROOF_SECONDS, PROOF_BATCHES * batch_seconds(seen.work, batch))
    return _judged_bound(_judged_step(memory, seen, proof, each), seen, proof)


def _judged_step(memory: Memory, seen: Observation, proof: float, each: float) -> Memory:
    step = memory.step
    if step is None:
        return memory
    if seen.ready < step.after:
        return replace(memory, step=replace(step, settled=None))
    settled = _more(step.settled, seen)
    if settled.seconds < proof:
        return replace(memory, step=replace(step, settled=settled))
    memory = replace(memory, step=None)
    work = max(settled.per_second, step.after * each) / step.each  # of so many
    if work - step.before >= FRUITLESS * (step.after - step.before):
        return replace(memory, futile=None)
    enough = max(step.before, ceil(work - NOISE * step.before))
    futile = _again(memory.futile, enough, settled.per_second, seen.now)
    return replace(memory, futile=futile, wanted=(), found=None)  # taken back at once


def _judged_bound(memory: Memory, seen: Observation, proof: float) -> Memory:
    futile = memory.futile
    if futile is None or futile.is_proven or seen.workers > futile.workers:
        return memory
    settled = _more(futile.settled, seen)
    if settled.seconds < proof:
        return replace(memory, futile=replace(futile, settled=settled))
    if settled.per_second < ENOUGH * futile.per_second:
        return replace(memory, futile=None)
    return replace(memory, futile=replace(futile, is_proven=True))


def _unproven(memory: Memory) -> Memory:
    """Begin to look anew, once there is a backlog again: without one, rates say nothing of what could be done."""
    return replace(
        memory,
        step=memory.step and replace(memory.step, settled=None),
        futile=memory.futile and replace(memory.futile, settled=None),
    )


def _more(settled: Settled | None, seen: Observation) -> Settled:
    if settled is None:
        return Settled(seen.now, seen.now)
    more = seen.settled_per_second * (seen.now - settled.until)
    return Settled(settled.since, seen.now, settled.messages + more)


def _again(before: Futile | None, workers: int, per_second: float, now: float) -> Futile:
    times = before.times + 1 if before else 1
    return Futile(now + min(HELD_SECONDS * 2 ** (times - 1), LONGEST_HELD_SECONDS), workers, per_second, times)
