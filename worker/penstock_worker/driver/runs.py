"""The runs of a driver: which wait, which are going on, and how those ended that may still be asked for.

Knows names, order and outcomes; has one lock. Two runs of one batch are never at work at once: an engine that restarted
may ask for another before the first is over, and then the first is stopped. Does not know Spark (slots.py runs them)
nor the clock (overseer.py stops them).
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from penstock_worker.driver.judging import stopped
from penstock_worker.exchange.columns import OUTGOING
from penstock_worker.exchange.records import Handed, RunName
from penstock_worker.policy.outcome import Outcome, Verdict

MOST_ENDED = 256
"""Outcomes that are kept for an engine that never said `forget`: it died. One that is dropped is run once more."""


@dataclass(eq=False, slots=True)
class Run:
    """One run of one batch."""

    handed: Handed
    rows: pa.Table
    """None are left once it is over."""
    deadline: float
    """By the monotonic clock."""
    stop: Verdict | None = None
    """Why it has to end before it is over, if it has to."""
    stopped_at: float = 0.0
    _interrupt: Callable[[], None] | None = None
    _interrupting: threading.Lock = field(default_factory=threading.Lock)
    outcome: Outcome | None = None
    outgoing: pa.Table = field(default_factory=OUTGOING.empty_table)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def name(self) -> RunName:
        return self.handed.name

    def ask_to_stop(self, verdict: Verdict) -> None:
        """Have it end; the first reason stays."""
        if self.stop is None:
            self.stop, self.stopped_at = verdict, time.monotonic()

    @contextmanager
    def interruptible_by(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Let `interrupt` be called meanwhile, and not a moment longer: what comes next is another run's."""
        self._interrupt = interrupt
        try:
            yield
        finally:
            with self._interrupting:
                self._interrupt = None

    def interrupt(self) -> None:
        """Cancel what Spark does for it, if it does anything."""
        with self._interrupting:
            if self._interrupt is not None:
                self._interrupt()


class Runs:
    """All runs that this process knows of."""

    def __init__(self) -> None:
        self._known: dict[RunName, Run] = {}
        self._waiting: list[Run] = []
        self._at_work: list[Run] = []
        self._changed = threading.Condition()
        self._is_closed = False

    def find_or_begin(self, handed: Handed, rows: pa.Table) -> Run:
        """Return the run of that name: a new one if it is not known."""
        with self._changed:
            run = self._known.get(handed.name)
            if run is None:
                self._stop_others_of(handed.name.batch_id)
                run = Run(handed, rows, time.monotonic() + handed.deadline_seconds)
                self._known[handed.name] = run
                self._waiting.append(run)
                self._changed.notify_all()
            return run

    def find(self, name: RunName) -> Run | None:
        with self._changed:
            return self._known.get(name)

    def next(self) -> Run | None:
        """Wait for a run to do, which is then at work; None once all is closed."""
        with self._changed:
            while not self._is_closed:
                run = next((run for run in self._waiting if not self._is_busy(run.name.batch_id)), None)
                if run is not None:
                    self._waiting.remove(run)
                    self._at_work.append(run)
                    return run
                self._changed.wait()
            return None

    def end(self, run: Run, outcome: Outcome) -> None:
        """Note how a run ended; the first outcome stays."""
        with self._changed:
            if run.outcome is None:
                run.outcome = outcome
            run.rows = run.rows.schema.empty_table()  # a slice would keep all that it is of
            for runs in (self._waiting, self._at_work):
                if run in runs:
                    runs.remove(run)
            self._drop_oldest()
            self._changed.notify_all()
        run.ended.set()

    def cancel(self, name: RunName, verdict: Verdict) -> None:
        """Have a run end; one that waits has ended with that."""
        with self._changed:
            run = self._known.get(name)
            if run is None or run.outcome is not None:
                return
            run.ask_to_stop(verdict)
            is_waiting = run in self._waiting
            self._changed.notify_all()
        if is_waiting:
            self.end(run, stopped(verdict, 0.0))

    def end_as(self, run: Run, verdict: Verdict) -> None:
        """Note that a run was ended from outside, as nobody else will."""
        self.end(run, stopped(verdict, 0.0))

    def forget(self, name: RunName) -> None:
        """Drop what is known of a run that is over."""
        with self._changed:
            run = self._known.get(name)
            if run is not None and run.outcome is not None:
                del self._known[name]
                self._changed.notify_all()

    def at_work(self) -> tuple[Run, ...]:
        with self._changed:
            return tuple(self._at_work)

    def unfinished(self) -> tuple[Run, ...]:
        with self._changed:
            return (*self._waiting, *self._at_work)

    def wait_changed(self, seconds: float) -> None:
        """Wait until something happens to some run, or for so long."""
        with self._changed:
            self._changed.wait(seconds)

    def wait_idle(self, seconds: float) -> bool:
        """Wait until none is at work; tell whether that came true in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._at_work, seconds)

    def wait_told(self, seconds: float) -> bool:
        """Wait until all is over, and the engine has what it will ask for; tell whether that came true in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not any(map(_is_wanted, self._known.values())), seconds)

    def close(self) -> None:
        """Let those go who wait for a run to do."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _is_busy(self, batch_id: str) -> bool:
        return any(run.name.batch_id == batch_id for run in self._at_work)

    def _stop_others_of(self, batch_id: str) -> None:
        for run in (*self._waiting, *self._at_work):
            if run.name.batch_id == batch_id:
                run.ask_to_stop(Verdict.CANCELLED)

    def _drop_oldest(self) -> None:
        ended = [name for name, run in self._known.items() if run.outcome is not None]
        for name in ended[: max(0, len(ended) - MOST_ENDED)]:
            del self._known[name]


def _is_wanted(run: Run) -> bool:
    """Tell whether the engine has yet to hear of it: an outcome goes by its own call, what is to be published later."""
    return run.outcome is None or run.outgoing.num_rows > 0
