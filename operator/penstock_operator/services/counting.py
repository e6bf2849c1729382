"""Links whose questions and orders are counted, by what came of each. Knows links and metrics; changes neither."""

from collections.abc import AsyncIterator

from typing_extensions import override

from penstock_operator.plan.connections import LinkState
from penstock_operator.plan.decision import Action, Failure
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.message_loss import ConsumerPosition
from penstock_operator.plan.surroundings import Observed, Place, Present, Unknown
from penstock_operator.resources.connection import ConnectionSpec
from penstock_operator.services.links import Counters, Link, Links, RelayedLink, Secrets, Wanted
from penstock_operator.services.metrics import Metrics

OK = "ok"
OBSERVE = "observe"
READ = "read"
COUNT = "count"


class CountedLinks(Links):
    """All links, by way of whoever keeps them."""

    def __init__(self, links: Links, metrics: Metrics) -> None:
        self._links = links
        self._metrics = metrics

    @override
    def keep(self, connection: Identity, spec: ConnectionSpec, secrets: Secrets, *, is_needed: bool = False) -> None:
        self._links.keep(connection, spec, secrets, is_needed=is_needed)

    @override
    def forget(self, connection: Identity) -> None:
        self._links.forget(connection)

    @override
    def link(self, connection: Identity) -> Link | None:
        link = self._links.link(connection)
        return CountedLink(link, self._metrics) if link else None

    @override
    def state(self, connection: Identity) -> LinkState:
        return self._links.state(connection)

    @override
    def changes(self) -> AsyncIterator[Identity | Place]:
        return self._links.changes()


class CountedLink(RelayedLink):
    """One link, by way of another."""

    def __init__(self, link: Link, metrics: Metrics) -> None:
        super().__init__(link)
        self._metrics = metrics

    @override
    async def observe(self, place: Place) -> Observed:
        observed = await self._link.observe(place)
        self._count(OBSERVE, observed)
        return observed

    @override
    async def carry_out(self, place: Place, action: Action) -> Present | Failure | None:
        outcome = await self._link.carry_out(place, action)
        self._count(type(action).__name__.lower(), outcome)
        return outcome

    @override
    async def read_all(self, wanted: Wanted) -> AsyncIterator[tuple[Place, Observed]]:
        """Read them, and count what could not be read: the rest comes in lists, and is no request of its own."""
        async for place, observed in self._link.read_all(wanted):
            if isinstance(observed, Unknown):
                self._count(READ, observed)
            yield place, observed

    @override
    async def counters(self, place: Place) -> Counters | Unknown:
        counters = await self._link.counters(place)
        self._count(COUNT, counters)
        return counters

    @override
    async def position(self, place: Place) -> ConsumerPosition | Unknown:
        position = await self._link.position(place)
        self._count(COUNT, position)
        return position

    def _count(self, operation: str, outcome: object) -> None:
        if not isinstance(outcome, Failure | Unknown):
            self._metrics.asked_nats(operation, OK)
            return
        self._metrics.asked_nats(operation, outcome.reason.value)
        if outcome.err_code is not None:
            self._metrics.refused_by_nats(operation, outcome.err_code)
