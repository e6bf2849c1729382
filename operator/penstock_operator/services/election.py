"""Stands for a Lease for as long as the process runs, and grants and withdraws the lead by what becomes of it.

Knows when the Lease is looked at, renewed and released; plan.lease decides, storage.lease asks. Does not know what the
lead is good for (leading.py hands it to whoever writes). Called by replica.py.
"""

import asyncio
import logging
import time
from typing import Protocol

from penstock_operator.plan.lease import Candidate, Claim, Record
from penstock_operator.services.leading import Clock, Leadership
from penstock_operator.storage.errors import HomeError, ObjectChangedError

FINISH_SECONDS = 3.0
"""How long a process that is told to end waits for the writes that it has begun."""
RELEASE_SECONDS = 1.0
"""How long a process that is told to end tries to release its Lease. If it does not, others wait until it runs out."""

logger = logging.getLogger(__name__)


def clock() -> float:
    """Return seconds that go on while the machine sleeps, where there is such a clock: others do not sleep with it."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Lease(Protocol):
    """What is asked of whoever keeps the Lease: storage.lease.Lease, that is. Its text is its name."""

    async def read(self) -> Record | None:
        """Return it as it is; None if there is none."""

    async def write(self, claim: Claim) -> Record:
        """Write it if it is what the claim says that it replaces; else fail with ObjectChangedError."""


class Notice(Protocol):
    """Who is told how each round went: services.vitals.Vitals, that is."""

    def asked_for_lease(self, *, leads: bool, holder: str, failure: str | None) -> None: ...


class Election:
    """One replica's part in it."""

    def __init__(self, lease: Lease, candidate: Candidate, notice: Notice, clock: Clock = clock) -> None:
        self._lease = lease
        self._candidate = candidate
        self._notice = notice
        self._clock = clock
        self._holder = ""
        self._failure: str | None = None
        self.leadership = Leadership(clock)
        self.leadership.on_change(self._log_change)

    async def stand(self) -> None:
        """Hold the Lease, or wait for it, until cancelled."""
        while True:
            await self._round()
            await asyncio.sleep(self._candidate.pause_seconds(self._clock()))

    async def _round(self) -> None:
        failure = None
        try:
            async with asyncio.timeout(self._candidate.terms.asks_seconds):
                await self._look_and_claim()
        except ObjectChangedError:  # another was faster, or an answer of ours was lost: look again
            self._candidate = self._candidate.failed()
        except (HomeError, TimeoutError) as problem:
            self._candidate = self._candidate.failed()
            failure = str(problem) or "The API server did not answer in time."
        self._note(failure)

    async def _look_and_claim(self) -> None:
        if not (self._candidate.is_fresh and self._candidate.holds(self._clock())):
            await self._look()
        claim = self._candidate.claim(self._clock())
        if claim:
            await self._write(claim)

    async def _look(self) -> None:
        record = await self._lease.read()
        self._candidate = self._candidate.saw(record, self._clock())
        if self._candidate.acts_until is None:
            self.leadership.withdraw()

    async def _write(self, claim: Claim) -> None:
        sent_at = self._clock()
        record = await self._lease.write(claim)
        self._candidate = self._candidate.wrote(record, sent_at)
        self.leadership.grant(sent_at + self._candidate.terms.acts_seconds)

    async def release(self, finish_seconds: float = FINISH_SECONDS) -> None:
        """Act no more, and say so in the Lease: the others need not wait until it runs out. After stand() has ended."""
        finished = await self.leadership.finish(finish_seconds)
        self.leadership.withdraw()
        self._candidate = self._candidate.gave_up()
        if self._candidate.seen is None:
            return
        if not finished:
            logger.warning("The Lease %s is not released: a write was broken off, and may land yet.", self._lease)
            return
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                await self._look_and_release()
        except (HomeError, TimeoutError) as problem:
            logger.warning("The Lease %s was not released, and runs out by itself: %s", self._lease, problem)

    async def _look_and_release(self) -> None:
        self._candidate = self._candidate.saw(await self._lease.read(), self._clock())
        claim = self._candidate.release()
        if claim:
            await self._lease.write(claim)
            logger.info("The Lease %s was released.", self._lease)

    def _note(self, failure: str | None) -> None:
        seen = self._candidate.seen
        holder = seen.holder if seen and self._candidate.exists else ""
        if failure and failure != self._failure:
            logger.warning("The Lease %s: %s", self._lease, failure)
        if holder not in (self._holder, self._candidate.identity):
            logger.info("%s holds the Lease; this replica stands by.", holder or "Nobody")
        self._holder, self._failure = holder, failure
        self._notice.asked_for_lease(leads=self.leadership.is_held(), holder=holder, failure=failure)

    def _log_change(self, is_held: bool) -> None:  # noqa: FBT001 - as listeners are called
        if is_held:
            logger.info("This replica leads: %s holds the Lease.", self._candidate.identity)
        else:
            logger.warning("This replica leads no longer.")
