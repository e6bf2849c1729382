"""Looks at each queue group again and again: how far its consumer is, how its workers stand, how many there are to be.

A group at work is looked at each second; of those that have nothing to do, some in each tick, so that a thousand of
them cost no more than a hundred. Knows when to look, and whom to ask. What follows is left to a step (workforce.py),
which is woken when something is to be done or said. Looks only while this replica leads.
"""

import asyncio
import heapq
import logging
from collections.abc import Callable, Iterator, Sequence

from penstock_operator.plan.declared import Identity
from penstock_operator.plan.message_loss import ConsumerPosition, count_losses
from penstock_operator.plan.surroundings import Place
from penstock_operator.plan.worker_settings import group_name
from penstock_operator.services.links import Counters, Link, WorkerStatus
from penstock_operator.services.workforce.crew import Crew, Crews
from penstock_operator.services.workforce.roster import Roster
from penstock_operator.services.workshop import Workshop

TICK_SECONDS = 0.5
LOOK_SECONDS = 1.0
"""Between two looks at a group at work."""
SLEEPERS_PER_TICK = 15
"""How many groups without work and workers are looked at in one tick: 30 a second."""
AT_ONCE = 32

logger = logging.getLogger(__name__)


class Lookout:
    """Looks for as long as run() runs."""

    def __init__(self, crews: Crews, roster: Roster, clock: Callable[[], float], period_seconds: float) -> None:
        self._crews, self._roster, self._clock = crews, roster, clock
        self._period_seconds = period_seconds
        """How often numbers are told that alone have changed."""

    async def run(self, shop: Workshop) -> None:
        gate = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._forget_gone(shop)
                if shop.leadership.is_held() and not self._roster.trouble:
                    for identity in self._due():
                        self._crews[identity].is_looked_at = True
                        tasks.create_task(self._look_in_turn(shop, identity, gate))
                await asyncio.sleep(TICK_SECONDS)

    def _forget_gone(self, shop: Workshop) -> None:
        for identity in [each for each in self._crews if each not in shop.world.objects]:
            del self._crews[identity]

    def _due(self) -> Iterator[Identity]:
        """Yield all at work that were not looked at for a second, and of those asleep who waited for longest."""
        latest = self._clock() - LOOK_SECONDS
        asleep = []
        for identity, crew in self._crews.items():
            if crew.is_looked_at:
                continue
            if crew.looked_at is not None and crew.is_asleep:
                asleep.append((crew.looked_at, identity))
            elif crew.looked_at is None or crew.looked_at <= latest:
                yield identity
        yield from (identity for _, identity in heapq.nsmallest(SLEEPERS_PER_TICK, asleep))

    async def _look_in_turn(self, shop: Workshop, identity: Identity, gate: asyncio.Semaphore) -> None:
        crew = self._crews[identity]
        try:
            async with gate:
                await self._look(shop, identity, crew)
        except Exception:
            logger.exception("%s: a fault of Penstock's own while it was looked at.", identity)
            crew.looked_at = self._clock()
        finally:
            crew.is_looked_at = False

    async def _look(self, shop: Workshop, identity: Identity, crew: Crew) -> None:
        place, label = crew.post.place, crew.post.label
        link = shop.links.link(place.connection)
        engines = sum(pod.has_engine for pod in self._roster.pods(label))
        counters: Counters | None = None
        told: Sequence[WorkerStatus] = ()
        if link is not None:
            at = Place(link.account, place.stream, place.consumer)
            counters, told = await asyncio.gather(
                self._position(link, at, crew) if crew.needs_position(self._clock()) else _counters(link, at),
                link.workers(group_name(identity), engines) if engines else _nobody(),
            )
        now, asked = self._clock(), self._roster.asked(identity)
        crew.take_in(now, counters, told, self._roster.pods(label), asked or 0)
        if crew.needs_step(now, asked, self._period_seconds):
            shop.queue.add(identity)

    async def _position(self, link: Link, place: Place, crew: Crew) -> Counters | None:
        """Ask for the counters, and for the stream that they are about; if that cannot be read, for the counters."""
        position = await link.position(place)
        crew.position_at = self._clock()
        if not isinstance(position, ConsumerPosition):
            return await _counters(link, place)
        crew.loss = count_losses(crew.loss, position)
        return Counters.of(position)


async def _counters(link: Link, place: Place) -> Counters | None:
    counters = await link.counters(place)
    return counters if isinstance(counters, Counters) else None


async def _nobody() -> tuple[()]:
    return ()
