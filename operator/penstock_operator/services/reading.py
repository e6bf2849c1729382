"""Reads all servers at a period, and has those objects looked at of which something else is said than last time.

Knows the period, and how fast status may follow what happens on servers. What differs is left to the reconciler, which
asks again: what is read here is a hint, and nothing is decided from it. One reading for each account at a time.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping

from penstock_operator.plan.declared import Identity
from penstock_operator.plan.surroundings import Place
from penstock_operator.resources import CONNECTION
from penstock_operator.services.links import Link, Links
from penstock_operator.services.queue import WorkQueue
from penstock_operator.services.seen import Change, Seen
from penstock_operator.services.world import World

PERIOD_SECONDS = 15.0
"""How old live facts in a status may be; how long a change behind our back may go unnoticed if nobody tells of it."""
FACTS_PER_SECOND = 50
"""How many objects are looked at per second because of live facts alone: busy streams must not keep us from working."""

logger = logging.getLogger(__name__)


class Reading:
    """Goes round the servers for as long as run() runs."""

    def __init__(
        self, world: World, links: Links, seen: Seen, queue: WorkQueue, period_seconds: float = PERIOD_SECONDS
    ) -> None:
        self._world = world
        self._links = links
        self._seen = seen
        self._queue = queue
        self._period_seconds = period_seconds
        self._stale: dict[Identity, None] = {}
        """Objects of which only the facts have changed, those that have waited for longest first."""
        self._there_is_stale = asyncio.Event()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._refresh())
            under_way: dict[str, asyncio.Task[None]] = {}
            while True:
                for account, link in self._accounts().items():
                    if account not in under_way or under_way[account].done():
                        under_way[account] = tasks.create_task(self._read(account, link))
                await asyncio.sleep(self._period_seconds)

    def _accounts(self) -> Mapping[str, Link]:
        """Return one link to each account that can be reached."""
        connections = [identity for identity in self._world.objects if identity.kind == CONNECTION.name]
        links = [self._links.link(identity) for identity in connections]
        return {link.account: link for link in links if link}

    async def _read(self, account: str, link: Link) -> None:
        declared_by = defaultdict[Place, list[Identity]](list)
        """Several may declare one place: one that has it, and others that observe it."""
        wanted: defaultdict[str, set[str]] = defaultdict(set)
        for place, who in self._world.places(account):
            if who in self._seen:
                declared_by[place].append(who)
                wanted[place.stream] |= {place.consumer} - {""}
        if not wanted:
            return
        async for place, observed in link.read_all({name: frozenset(names) for name, names in wanted.items()}):
            for identity in declared_by.get(place, ()):
                self._compare(identity, self._seen.change(identity, observed))

    def _compare(self, identity: Identity, change: Change) -> None:
        match change:
            case Change.OBJECT:
                logger.debug("%s is not on the server what it was.", identity)
                self._queue.add(identity)
            case Change.FACTS:
                self._stale.setdefault(identity)
                self._there_is_stale.set()
            case Change.NONE:
                pass

    async def _refresh(self) -> None:
        """Have facts brought up to date, at a steady pace."""
        while True:
            await self._there_is_stale.wait()
            identity = next(iter(self._stale))
            del self._stale[identity]
            if not self._stale:
                self._there_is_stale.clear()
            self._queue.add(identity)
            await asyncio.sleep(1 / FACTS_PER_SECOND)
