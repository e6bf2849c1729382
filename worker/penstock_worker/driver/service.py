"""What the driver does for the engine: the exchange's words, put into runs.

Knows when a batch is refused: while Spark or the code is not ready. Does not know Flight, nor how a run is done.
"""

import threading
from collections.abc import Callable
from uuid import uuid4

import pyarrow as pa
from typing_extensions import override

from penstock_worker.driver.keeper import Keeper, Readiness
from penstock_worker.driver.runs import Run, Runs
from penstock_worker.exchange.records import Description, Handed, RunName
from penstock_worker.exchange.server import NotNowError, Service
from penstock_worker.policy.outcome import Outcome, Verdict

LOOK_SECONDS = 1.0
"""Between two looks whether an engine that awaits our end is there still: one that died does not say so."""


class DriverService(Service):
    """One process's service."""

    def __init__(self, entrypoint: str, spark: str, runs: Runs, keeper: Keeper, end: Callable[[], None]) -> None:
        self._entrypoint, self._spark = entrypoint, spark
        self._end = end
        self._runs, self._keeper = runs, keeper
        self._incarnation = uuid4().hex
        self._refusal: str | None = None
        self._is_ending = False
        self._is_over = threading.Event()

    def refuse(self, why_not: str, *, is_ending: bool = False) -> None:
        """Begin no further batch, while those that were handed over go on; who awaits that is told."""
        self._refusal, self._is_ending = why_not, is_ending
        self._is_over.set()

    @override
    def describe(self) -> Description:
        readiness = self._readiness
        return Description(
            incarnation=self._incarnation,
            entrypoint=self._entrypoint,
            spark=self._spark,
            ready=readiness.is_ready,
            why_not=readiness.why_not,
            trouble=readiness.trouble,
            permanent=readiness.is_permanent,
            ending=self._is_ending,
        )

    @override
    def run(self, handed: Handed, rows: pa.Table) -> Outcome:
        run = self._known_or_new(handed, rows)
        run.ended.wait()
        if run.outcome is None:
            raise NotNowError("The run ended without an outcome.")
        return run.outcome

    @override
    def outgoing(self, name: RunName) -> pa.Table:
        run = self._runs.find(name)
        if run is None:
            raise KeyError(name)
        return run.outgoing

    @override
    def cancel(self, name: RunName) -> None:
        self._runs.cancel(name, Verdict.CANCELLED)

    @override
    def forget(self, name: RunName) -> None:
        self._runs.forget(name)

    @override
    def await_end(self, is_cancelled: Callable[[], bool]) -> Description:
        while not self._is_over.wait(LOOK_SECONDS) and not is_cancelled():
            pass
        return self.describe()

    @override
    def end(self) -> None:
        self._end()

    @property
    def _readiness(self) -> Readiness:
        return self._keeper.readiness if self._refusal is None else Readiness(why_not=self._refusal)

    def _known_or_new(self, handed: Handed, rows: pa.Table) -> Run:
        known = self._runs.find(handed.name)
        if known is not None:
            return known
        readiness = self._readiness
        if not readiness.is_ready:
            raise NotNowError(readiness.why_not)
        return self._runs.find_or_begin(handed, rows)
