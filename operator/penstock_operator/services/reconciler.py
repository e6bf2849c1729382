"""The reconciler: keeps what is declared and what is on servers the same, and says so, for as long as it leads.

A queue of keys and a few workers. A key is worked on when its object changes, when something that it depends on does,
when a server says something new about it, and after a failure. Knows when; what is done stands in connecting.py and
making.py. Handlers feed it with what a home shows; it does not know which home. Called by handlers.process.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from penstock_operator.plan import retry
from penstock_operator.plan.alteration import DELETION_SECONDS
from penstock_operator.plan.connections import LinkState
from penstock_operator.plan.decision import Next
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.surroundings import Place
from penstock_operator.resources import CONNECTION, CONSUMER, STREAM
from penstock_operator.services import connecting, making
from penstock_operator.services.compacting import compact
from penstock_operator.services.home import Home, HomeError, ObjectChangedError
from penstock_operator.services.leading import Leadership, NotLeadingError
from penstock_operator.services.links import Links
from penstock_operator.services.metrics import Metrics, Outcome
from penstock_operator.services.queue import WorkQueue
from penstock_operator.services.reading import PERIOD_SECONDS, Reading
from penstock_operator.services.seen import Seen
from penstock_operator.services.telling import Telling
from penstock_operator.services.workshop import Workshop, is_newer
from penstock_operator.services.world import World

WORKERS = 16
"""How many objects are worked on at a time: each waits for servers most of the time."""
LATER_SECONDS = 5.0
"""Until the next attempt after a fault of this program's own. It is logged each time."""

Step = Callable[[Workshop, Declared], Awaitable[Next]]

STEPS: Mapping[str, Step] = {
    CONNECTION.name: connecting.look_after,
    STREAM.name: making.look_after,
    CONSUMER.name: making.look_after,
}
"""Those that every home takes alike. Each has its own way to serve QueueGroups."""

logger = logging.getLogger(__name__)


class Reconciler:
    """Works while run() runs; is fed before and meanwhile."""

    def __init__(
        self,
        home: Home,
        links: Links,
        leadership: Leadership,
        clock: Callable[[], float],
        *,
        period_seconds: float = PERIOD_SECONDS,
        metrics: Metrics | None = None,
        steps: Mapping[str, Step] = STEPS,
    ) -> None:
        """`steps` says what is done about each kind."""
        self._clock = clock
        self._steps = steps
        self._metrics = metrics or Metrics()
        self._shop = Workshop(
            world=World(),
            home=home,
            links=links,
            queue=WorkQueue(clock),
            telling=Telling(home, leadership),
            seen=Seen(),
            leadership=leadership,
            now=lambda: datetime.now(UTC),
        )
        shop = self._shop
        self._reading = Reading(shop.world, links, shop.seen, shop.queue, period_seconds)
        self._period_seconds = period_seconds
        self._failures: dict[Identity, int] = {}
        """How often in a row, of what failed last time."""
        self._leads = asyncio.Event()
        leadership.on_change(self._lead_changed)
        self._lead_changed(leadership.is_held())

    def shown(self, manifest: Mapping[str, Any]) -> None:
        """Take in an object as the home shows it."""
        metadata = manifest["metadata"]
        before = self._shop.world.objects.get(Identity(manifest["kind"], metadata["namespace"], metadata["name"]))
        declared = compact(Declared.read(manifest, before))
        if before and before.uid != declared.uid:
            self.gone(before.identity, before.uid)
            before = None
        if before and not is_newer(declared.resource_version, before.resource_version):
            return  # what we wrote ourselves comes back, or what was before it
        if before is None:
            _log(declared.identity, "was seen.")
        self._shop.store(before, declared)

    def gone(self, identity: Identity, uid: str) -> None:
        """Take out an object that the home does not show any more."""
        declared = self._shop.world.objects.get(identity)
        if declared is None or declared.uid != uid:
            return
        _log(identity, "is gone.")
        self._shop.forget(declared)
        self._failures.pop(identity, None)

    @property
    def shop(self) -> Workshop:
        """What steps work with, for those who work beside them."""
        return self._shop

    def known_uids(self) -> Iterator[tuple[Identity, str]]:
        for identity, declared in self._shop.world.objects.items():
            yield identity, declared.uid

    @property
    def oldest_work(self) -> tuple[Identity, float] | None:
        """Return what has been worked on for longest, and since when: the sign of a worker that is stuck."""
        return self._shop.queue.oldest

    @property
    def depth(self) -> int:
        """Return how many objects wait for a worker."""
        return self._shop.queue.depth

    @property
    def declared(self) -> Iterable[Declared]:
        return self._shop.world.objects.values()

    def link_state(self, connection: Identity) -> LinkState:
        return self._shop.links.state(connection)

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(WORKERS):
                    tasks.create_task(self._work())
                tasks.create_task(self._shop.telling.run())
                tasks.create_task(self._reading.run())
                tasks.create_task(self._listen())
        finally:
            self._shop.queue.close()

    async def _work(self) -> None:
        while True:
            await self._leads.wait()
            identity = await self._shop.queue.take()
            try:
                await self._step(identity)
            finally:
                self._shop.queue.done(identity)

    async def _step(self, identity: Identity) -> None:
        declared = self._shop.world.objects.get(identity)
        if declared is None:
            self._failures.pop(identity, None)
            return
        if identity.kind not in self._steps:
            return
        begun_at = self._clock()
        outcome = await self._outcome(declared)
        self._metrics.reconciled(identity.kind, outcome, self._clock() - begun_at)

    async def _outcome(self, declared: Declared) -> Outcome:
        """Take a step, see to the next one, and tell how it went."""
        identity = declared.identity
        try:
            following = await self._steps[identity.kind](self._shop, declared)
        except NotLeadingError:
            self._failures.clear()  # all is looked at anew when we lead again
            return Outcome.NOT_LEADING
        except ObjectChangedError:
            self._again(identity)  # what it is now is on its way, and mostly here before that
            return Outcome.CHANGED
        except HomeError as problem:
            _log(identity, f"cannot be brought up to date: {problem}", logging.WARNING)
            self._again(identity)
            return Outcome.HOME_FAILED
        except Exception:
            logger.exception("%s: a fault of Penstock's own.", identity)
            self._shop.queue.add_later(identity, LATER_SECONDS)
            return Outcome.FAULT
        self._schedule(identity, following)
        return Outcome.FAILED if following is Next.AFTER_BACKOFF else Outcome.DONE

    def _schedule(self, identity: Identity, following: Next) -> None:
        if following is Next.AFTER_BACKOFF:
            self._again(identity)
            return
        self._failures.pop(identity, None)
        if following is Next.AT_ONCE:
            self._shop.queue.add(identity)
        if following is Next.SOON:
            self._shop.queue.add_later(identity, DELETION_SECONDS)
        if following is Next.AT_THE_PERIOD and identity.kind == CONNECTION.name:
            self._shop.queue.add_later(identity, self._period_seconds)

    def _again(self, identity: Identity) -> None:
        failures = self._failures[identity] = self._failures.get(identity, 0) + 1
        chance = random.random()  # noqa: S311 - jitter needs no cryptographer
        self._shop.queue.add_later(identity, retry.delay_seconds(failures, chance))

    async def _listen(self) -> None:
        """Hear of links that change, and of changes behind our back that servers tell of."""
        async for change in self._shop.links.changes():
            if isinstance(change, Place):
                for claimant in self._shop.world.claimants(change):
                    self._shop.queue.add(claimant.identity)
                for hear in self._shop.noticed:
                    hear(change)
            elif change in self._shop.world.objects:
                self._shop.wake(change)
                self._shop.wake_dependents(self._shop.world.objects[change])

    def _lead_changed(self, is_held: bool) -> None:  # noqa: FBT001 - as listeners are called
        if not is_held:
            self._leads.clear()
            return
        self._leads.set()
        for identity in self._shop.world.objects:
            self._shop.queue.add(identity)


def _log(identity: Identity, message: str, level: int = logging.INFO) -> None:
    resource = {"kind": identity.kind, "namespace": identity.namespace, "name": identity.name}
    logger.log(level, "%s %s", identity, message, extra={"resource": resource})
