"""Whether a driver's process is of use still, as whoever may start it anew asks: alive, or not, and why.

A Spark that takes long to start, or cannot be started, is no reason: another process would fare no better. Knows that
the driver ends by itself when a run hangs (overseer.py), and that only one that cannot do even that is to be ended.
"""

from collections.abc import Collection, Sequence

from penstock_worker.driver.runs import Run
from penstock_worker.probes import Judgement

SPARE_SECONDS = 30.0
"""After the moment at which the process should have ended itself."""


def liveness(at_work: Collection[Run], dead: Sequence[str], hang_seconds: float, now: float) -> Judgement:
    """Judge by the runs at work, and by the parts that nobody sees to any more."""
    if dead:
        return Judgement(holds=False, sentence=f"Nobody sees to {' and '.join(dead)} any more.")
    for run in at_work:
        late_seconds = now - run.deadline
        if late_seconds > hang_seconds + SPARE_SECONDS:
            name = run.name.batch_id
            return Judgement(holds=False, sentence=f"Batch {name} is at work {late_seconds:.0f} s past its deadline.")
    return Judgement(holds=True, sentence="Alive.")
