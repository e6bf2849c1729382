"""The threads that run the user's function, one batch each at a time.

Knows what is done around the function: its session, its DataFrame, its tag, its outcome. Does not know how Spark comes
and goes (keeper.py), nor when a run has to stop (overseer.py). The threads live as long as the driver, as pyspark keeps
a thread of the JVM for each.

The first run goes alone. It loads and compiles what all runs need; two at once would do so twice, in each other's way,
and both would end later than one after the other.
"""

import logging
import threading
import time
from datetime import UTC, datetime, timedelta

from penstock_worker.api import Batch, Finished
from penstock_worker.driver.judging import failed, stopped
from penstock_worker.driver.keeper import Keeper
from penstock_worker.driver.runs import Run, Runs
from penstock_worker.logs import about
from penstock_worker.policy.outcome import Fault, Outcome, Verdict
from penstock_worker.policy.ranges import as_text
from penstock_worker.spark.problems import LostError

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
"""Between two looks whether a run that waits for Spark is still wanted."""
FIRST_SECONDS = 10.0
"""How long others wait for the first run: no longer, should it be one that takes its time."""


class Slots:
    """As many threads as batches may be in flight."""

    def __init__(self, count: int, runs: Runs, keeper: Keeper) -> None:
        self._runs, self._keeper = runs, keeper
        self._first = threading.Lock()
        """Taken once, and never given back."""
        self._is_warm = threading.Event()
        self._threads = [
            threading.Thread(target=self._serve, args=(number,), name=f"slot-{number}", daemon=True)
            for number in range(count)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def are_alive(self) -> bool:
        return all(thread.is_alive() for thread in self._threads)

    def _serve(self, number: int) -> None:
        while (run := self._runs.next()) is not None:
            with about(batch=run.name.batch_id, run=run.name.run, sequences=as_text(run.handed.ranges)):
                outcome = self._outcome(run, number)
                _tell(outcome)
            self._runs.end(run, outcome)
            self._is_warm.set()

    def _outcome(self, run: Run, number: int) -> Outcome:
        while not self._keeper.wait_ready(LOOK_SECONDS) and run.stop is None:
            log.debug("Waiting for Spark")
        if not self._first.acquire(blocking=False):
            self._wait_for_the_first(run)
        if run.stop is not None:
            return stopped(run.stop, 0.0)
        started = time.monotonic()
        try:
            finished = self._processed(run, number)
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises ends its run, never this thread
            return self._judged(run, error, time.monotonic() - started)
        run.outgoing = finished.outgoing
        return Outcome(
            Verdict.OK,
            time.monotonic() - started,
            rejections=finished.rejections,
            outgoing=finished.outgoing.num_rows,
        )

    def _wait_for_the_first(self, run: Run) -> None:
        until = time.monotonic() + FIRST_SECONDS
        while run.stop is None and time.monotonic() < until and not self._is_warm.wait(LOOK_SECONDS):
            log.debug("Waiting for the first run")

    def _processed(self, run: Run, number: int) -> Finished:
        seat, code = self._keeper.seat(number), self._keeper.code
        batch = Batch(run.handed, seat.session, _at(run.deadline))
        with seat.tagged(run.name.batch_id), run.interruptible_by(seat.interrupt):
            try:
                code.process(seat.frame(run.rows), batch)
                return batch.finish()
            except BaseException:
                _abandon(batch)
                raise

    def _judged(self, run: Run, error: BaseException, seconds: float) -> Outcome:
        """Judge an error; should that fail, the fault is ours, and this thread goes on."""
        try:
            return self._why(run, error, seconds)
        except Exception as problem:
            log.exception("An error could not be judged")
            why = f"It could not be judged: that failed with {type(problem).__name__}."
            fault = Fault(type(error).__name__, why, sentence=why)
            return Outcome(Verdict.TRANSIENT, seconds, fault=fault)

    def _why(self, run: Run, error: BaseException, seconds: float) -> Outcome:
        """Say why a run failed: a lost Spark is behind whatever its loss made the code raise."""
        complaint = str(error) if isinstance(error, LostError) else self._keeper.complaint()
        if complaint is not None:
            self._keeper.lost(complaint)
            return stopped(Verdict.ENGINE_LOST, seconds, detail=complaint)
        if run.stop is not None:
            return stopped(run.stop, seconds)
        outcome = failed(error, self._keeper.code.folders, seconds)
        if outcome.verdict is Verdict.ENGINE_LOST:
            self._keeper.lost(f"A run failed as if Spark were gone: {outcome.fault and outcome.fault.type}.")
        return outcome


def _abandon(batch: Batch) -> None:
    try:
        batch.abandon()
    except Exception:
        log.exception("What the failed run had staged could not be removed; it is of no harm")


def _at(deadline: float) -> datetime:
    """Return a moment of the monotonic clock as a date."""
    return datetime.now(UTC) + timedelta(seconds=deadline - time.monotonic())


def _tell(outcome: Outcome) -> None:
    facts: dict[str, object] = {"verdict": outcome.verdict.value, "seconds": round(outcome.seconds, 3)}
    if outcome.fault is None:
        log.debug("Run ended", extra={"facts": facts})
        return
    facts |= {"error": outcome.fault.type, "place": outcome.fault.place, "sqlstate": outcome.fault.sqlstate}
    if outcome.verdict is Verdict.CODE:
        facts["trace"] = outcome.fault.trace
    log.warning("Run failed: %s", outcome.fault.told, extra={"facts": facts})
