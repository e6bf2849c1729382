"""Ends runs that have to end: past their deadline, cancelled, or without the Spark that they began on.

Knows the clock. Cancels what Spark does again and again, as the code may begin something else after each time. Plain
Python cannot be cancelled by anybody: a function that has not returned some time later ends the whole process, and its
supervisor starts another.
"""

import logging
import threading
import time
from collections.abc import Callable

from penstock_worker.driver.judging import stopped
from penstock_worker.driver.runs import Run, Runs
from penstock_worker.policy.outcome import Verdict

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
CANCEL_SECONDS = 1.0
"""Between two times that Spark is told to cancel what a run began."""


class Overseer:
    """A thread that looks at the clock, and one that cancels: Spark may not answer, and the clock must go on."""

    def __init__(self, runs: Runs, hang_seconds: float, give_up: Callable[[str], None]) -> None:
        self._runs, self._hang_seconds, self._give_up = runs, hang_seconds, give_up
        self._is_closed = threading.Event()
        self._to_cancel = threading.Event()
        self._threads = [
            threading.Thread(target=self._look, name="clock", daemon=True),
            threading.Thread(target=self._cancel, name="canceller", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def is_alive(self) -> bool:
        return all(thread.is_alive() for thread in self._threads)

    def close(self) -> None:
        self._is_closed.set()
        self._to_cancel.set()

    def let_go(self, why: str) -> None:
        """Have all runs end that are at work, as their Spark is gone; return once they have."""
        for run in self._runs.at_work():
            self._runs.cancel(run.name, Verdict.ENGINE_LOST)
        while not self._runs.wait_idle(LOOK_SECONDS) and not self._is_closed.is_set():
            log.debug("Runs have still to end: %s", why)

    def _look(self) -> None:
        while not self._is_closed.is_set():
            now = time.monotonic()
            for run in self._runs.unfinished():
                if now >= run.deadline:
                    self._runs.cancel(run.name, Verdict.DEADLINE)
            stopping = [run for run in self._runs.at_work() if run.stop is not None]
            if stopping:
                self._to_cancel.set()
            for run in stopping:
                self._end_if_hung(run, now)
            self._runs.wait_changed(LOOK_SECONDS)

    def _end_if_hung(self, run: Run, now: float) -> None:
        verdict = run.stop
        if verdict is None or now < run.stopped_at + self._hang_seconds:
            return
        detail = f"The function did not return within {self._hang_seconds:g} s after that; the driver starts anew."
        self._runs.end(run, stopped(verdict, now - run.stopped_at, detail=detail))
        self._give_up(f"Batch {run.name.batch_id}: {detail}")

    def _cancel(self) -> None:
        while self._to_cancel.wait() and not self._is_closed.is_set():
            stopping = [run for run in self._runs.at_work() if run.stop is not None]
            if not stopping:
                self._to_cancel.clear()
                continue
            for run in stopping:
                _interrupt(run)
            self._is_closed.wait(CANCEL_SECONDS)


def _interrupt(run: Run) -> None:
    try:
        run.interrupt()
    except Exception as problem:  # noqa: BLE001 - of Spark that is gone, or going: the run ends by that, or hangs
        log.warning("Cancelling batch %s: %s", run.name.batch_id, type(problem).__name__)
