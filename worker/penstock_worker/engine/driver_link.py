"""The driver, as the engine's machine sees it: ready or lost, with runs that end.

Knows that a call that breaks means a lost driver, told once for all runs that it had, and that a driver that was
abandoned is not taken back: once it answers again it is told to end, as only a new process is taken. Does not know why
a batch runs, or what follows from its end.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock_worker.engine.standing import Standing
from penstock_worker.engine.threads import beside
from penstock_worker.exchange.client import DriverClient, DriverFaultError, DriverLostError, DriverSilentError
from penstock_worker.exchange.records import Description, Handed, RunName
from penstock_worker.policy.machine.events import DriverEnding, DriverLost, DriverReady, DriverUnusable, Event, RunEnded
from penstock_worker.policy.outcome import Fault, Outcome, Verdict
from penstock_worker.policy.trouble import Trouble

LOOK_SECONDS = 0.1
"""So often a driver that is not ready is asked whether it is."""
WATCH_SECONDS = 1.0
"""So often one that is ready is looked at: that it is gone is known within this time, even if nothing runs."""
OVERTIME_SECONDS = 90.0
"""For cancelling a run after its deadline, and for the driver to end itself if that does not work."""

logger = logging.getLogger(__name__)
Tell = Callable[[Event], None]
Spawn = Callable[[Coroutine[Any, Any, None]], object]


@dataclass(slots=True)
class DriverLink:
    """Runs go to whichever driver serves the socket. All methods return at once; events tell what came of them."""

    client: DriverClient
    tell: Tell
    spawn: Spawn
    standing: Standing
    """Is told why there is no driver, if there is none."""
    incarnation: str | None = None
    """Of the driver that is ready."""
    _abandoned: str | None = None
    _last: str = ""
    _is_awaiting: bool = False

    def await_ready(self) -> None:
        """Ask until there is a driver that takes batches, or one that never will."""
        if not self._is_awaiting:
            self._is_awaiting = True
            self.spawn(self._until_ready())

    async def _until_ready(self) -> None:
        while True:
            said = await self._described()
            if said is not None and said.incarnation == self._abandoned:
                self.standing.driver_why_not = "A run in the driver does not end; its process has to be started anew."
                await self._order(self.client.end, "end")
            elif said is not None and said.ready:
                self._is_awaiting = False
                self._ready(said.incarnation)
                return
            elif said is not None:
                self.standing.driver_why_not = said.why_not or "The driver is starting."
                self.standing.driver_trouble = said.trouble
                if said.ending:
                    self.tell(DriverEnding())
                if said.permanent:
                    self._is_awaiting = False
                    self.tell(DriverUnusable(self.standing.driver_why_not, said.trouble))
                    return
            await asyncio.sleep(LOOK_SECONDS)

    def _ready(self, incarnation: str) -> None:
        self.incarnation = self._last = incarnation
        self.standing.driver_why_not, self.standing.driver_trouble = "", Trouble.NONE
        self.tell(DriverReady(incarnation))
        self.spawn(self._watch(incarnation))
        self.spawn(self._hear_of_its_end(incarnation))

    async def _hear_of_its_end(self, incarnation: str) -> None:
        """Know at once that it was told to end: from then on whatever waits here for it waits in vain."""
        try:
            said = await beside(self.client.await_end, "await-end")
        except (DriverLostError, DriverFaultError) as problem:
            logger.debug("The driver did not tell of its end: %s", problem)  # it is watched besides
            return
        if said.ending and said.incarnation == self.incarnation == incarnation:
            self.standing.driver_why_not, self.standing.driver_trouble = said.why_not, said.trouble
            self.tell(DriverEnding())

    async def _watch(self, incarnation: str) -> None:
        """Notice when the driver's process is another one, or none."""
        while self.incarnation == incarnation:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                said = await beside(self.client.describe, "watch-driver")
            except DriverSilentError as problem:
                logger.warning("%s Its runs are left to end.", problem)
            except (DriverLostError, DriverFaultError) as problem:
                self._lost(incarnation, str(problem))
            else:
                if said.incarnation != incarnation:
                    self._lost(incarnation, "The driver was started anew.")

    async def _described(self) -> Description | None:
        try:
            return await beside(self.client.describe, "describe-driver")
        except (DriverLostError, DriverFaultError) as problem:
            self.standing.driver_why_not, self.standing.driver_trouble = str(problem), Trouble.STARTING
            return None

    def _lost(self, incarnation: str, why: str) -> None:
        if self.incarnation == incarnation:
            self.incarnation = None
            self.standing.driver_why_not, self.standing.driver_trouble = why, Trouble.STARTING
            self.tell(DriverLost(why))

    def run(self, handed: Handed, rows: Callable[[], pa.Table]) -> None:
        """Hand a batch over; `rows` makes its table, beside the event loop."""
        self.spawn(self._run(handed, rows, self._last))

    async def _run(self, handed: Handed, rows: Callable[[], pa.Table], incarnation: str) -> None:
        limit_seconds = handed.deadline_seconds + OVERTIME_SECONDS
        name = handed.name
        try:
            outcome = await beside(lambda: self.client.run(handed, rows(), timeout_seconds=limit_seconds), "run-batch")
        except DriverLostError as problem:
            self._lost(incarnation, str(problem))
            return
        except DriverFaultError as problem:
            fault = Fault("DriverFaultError", str(problem), sentence=str(problem))
            outcome = Outcome(Verdict.ENGINE_LOST, 0.0, fault=fault)
        if self.incarnation == incarnation:  # else it was told to be lost, with all that it had
            self.tell(RunEnded(name.batch_id, name.run, outcome))

    def cancel(self, name: RunName) -> None:
        self.spawn(self._order(lambda: self.client.cancel(name), f"cancel {name}"))

    def forget(self, name: RunName) -> None:
        self.spawn(self._order(lambda: self.client.forget(name), f"forget {name}"))

    async def _order(self, call: Callable[[], None], what: str) -> None:
        """Say something that nobody waits for: if the driver is gone, so is what it is about."""
        try:
            await beside(call, "order-driver")
        except (DriverLostError, DriverFaultError) as problem:
            logger.info("The driver could not be told to %s: %s", what, problem)

    def abandon(self, why: str) -> None:
        """Have nothing to do any more with the driver that is there."""
        if self.incarnation is None:
            return
        self._abandoned = self.incarnation
        self._lost(self.incarnation, why)

    async def outgoing(self, name: RunName) -> pa.Table:
        """Return what a run wants published."""
        return await beside(lambda: self.client.outgoing(name, timeout_seconds=OVERTIME_SECONDS), "fetch-outgoing")
