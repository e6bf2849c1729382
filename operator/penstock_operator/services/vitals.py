"""The operator's vital signs, gathered as it runs, and handed out as facts.

Knows what has been listed and what the watches have shown. Does not judge (plan.health does). The clock comes in.
"""

import asyncio
import itertools
from collections.abc import Callable, Collection
from dataclasses import replace

from penstock_operator.plan.health import Facts, LeaseFacts
from penstock_operator.storage.listing import Listed

Clock = Callable[[], float]
Work = Callable[[], tuple[object, float] | None]
"""Tells what has been worked on for longest, and since when."""


class Vitals:
    """Everybody who does something vital notes it here."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._facts = Facts(started_at=clock())
        self._shown: dict[str, str] = {}
        self._unseen: dict[Listed, float] = {}
        """What is listed and was not shown yet in this version, since when; the oldest first."""
        self._work: Work = _no_work
        self._obstacle: Callable[[], str] = str
        self._watching = asyncio.Event()

    @property
    def facts(self) -> Facts:
        facts, work = self._facts, self._work()
        for unseen, since in itertools.islice(self._unseen.items(), 1):
            facts = replace(facts, unseen=unseen.name, unseen_since=since)
        facts = replace(facts, unwatched=self._obstacle())
        return replace(facts, work=str(work[0]), work_since=work[1]) if work else facts

    def ask_for_work(self, work: Work) -> None:
        """Have it ask what has been worked on for longest, whenever somebody wants to know."""
        self._work = work

    def ask_for_obstacle(self, obstacle: Callable[[], str]) -> None:
        """Have it ask why workers cannot be watched, whenever somebody wants to know."""
        self._obstacle = obstacle

    def listed(self, found: Collection[Listed]) -> None:
        """Note that a round of list calls ended well, and the first object of each kind that it found."""
        now = self._clock()
        self._facts = replace(self._facts, round_ended_at=now, listed_at=now, failure=None)
        unseen = [one for one in found if self._facts.watching and self._shown.get(one.uid) != one.resource_version]
        still = {one: since for one, since in self._unseen.items() if one in unseen}
        self._unseen = {**still, **{one: now for one in unseen if one not in still}}

    def not_listed(self, why: str) -> None:
        """Note that a round of list calls ended badly."""
        self._facts = replace(self._facts, round_ended_at=self._clock(), failure=why)

    def watching(self) -> None:
        self._facts = replace(self._facts, watching=True)
        self._watching.set()

    async def watched(self) -> None:
        """Wait until the watches have been started."""
        await self._watching.wait()

    def shown(self, uid: str, resource_version: str) -> None:
        """Note that a watch has shown an object, and in which version."""
        self._shown[uid] = resource_version
        self._unseen = {
            one: since
            for one, since in self._unseen.items()
            if (one.uid, one.resource_version) != (uid, resource_version)
        }

    def gone(self, uid: str) -> None:
        """Note that a watch has shown an object's end."""
        self._shown.pop(uid, None)

    def asked_for_lease(self, *, leads: bool, holder: str, failure: str | None) -> None:
        """Note how asking for the Lease went."""
        now, before = self._clock(), self._facts.lease
        since = before.failing_since if before and before.failing_since is not None else now
        lease = LeaseFacts(now, leads, holder, failure, failing_since=since if failure else None)
        self._facts = replace(self._facts, lease=lease)

    def ended(self, what: str) -> None:
        self._facts = replace(self._facts, ended=what)

    def stopping(self) -> None:
        self._facts = replace(self._facts, stopping=True)


def _no_work() -> None:
    return None
