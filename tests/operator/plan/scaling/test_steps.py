"""How a step up is judged: by what its workers settle, and how long their batches take."""

from penstock_operator.plan.scaling import Memory, Observation, Reading, Work
from penstock_operator.plan.scaling.memory import Step
from penstock_operator.plan.scaling.steps import judged

BATCH = 1000
ONE_ALONE = 500.0
"""Messages a second."""


def after_a_minute(*, settled_per_second: float, each: float) -> Memory:
    """Give the workers of a step from one to twenty a backlog for longer than a minute."""
    memory = Memory(step=Step(before=1, after=20, each=ONE_ALONE))
    for second in range(100):
        memory = judged(
            memory,
            Observation(
                now=second,
                reading=Reading(at=second, pending=10_000, ack_pending=0, delivered=0),
                workers=20,
                ready=20,
                work=Work(10, 10_000, 10_000 / each, 10_000_000, 10_000_000 / each, 10_000 / each),
                settled_per_second=settled_per_second,
            ),
            BATCH,
            each,
        )
    return memory


def test_longer_batches_with_more_workers_are_a_shared_bottleneck() -> None:
    memory = after_a_minute(settled_per_second=900, each=45)
    assert memory.futile is not None
    assert memory.futile.workers == 2, "900 a second are the work of two"


def test_failing_or_slow_looking_batches_are_no_bottleneck() -> None:
    assert after_a_minute(settled_per_second=900, each=480).futile is None, "the others take no longer"
    assert after_a_minute(settled_per_second=9000, each=45).futile is None, "as much is settled"
