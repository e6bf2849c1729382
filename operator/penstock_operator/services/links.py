"""Links: open connections to NATS, one for each declared Connection, renewed when what they are made from changes.

Knows what is asked of links, and of whoever keeps them; services.nats is who does. Does not know where Connections and
Secrets come from (home.py), nor what is decided (plan).
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from typing_extensions import override

from penstock_jetstream.config import Facts
from penstock_operator.plan.connections import LinkState
from penstock_operator.plan.decision import Action, Failure
from penstock_operator.plan.declared import Identity
from penstock_operator.plan.message_loss import ConsumerPosition
from penstock_operator.plan.surroundings import Observed, Place, Present, Unknown
from penstock_operator.resources.connection import ConnectionSpec

Secrets = Mapping[str, Mapping[str, bytes] | None]
"""The data of Secrets by name, all of the Connection's namespace; None for one that is not there."""

Wanted = Mapping[str, frozenset[str]]
"""Streams by name, and of each the consumers that are wanted, too."""


WorkerStatus = Mapping[str, Any]
"""What a worker of a queue group says of itself, in its own words."""


@dataclass(frozen=True, slots=True)
class Counters:
    """How far a consumer is, as its leader counts."""

    pending: int
    ack_pending: int
    delivered: int
    """How many deliveries there were, ever."""
    is_paused: bool = False

    @classmethod
    def of(cls, position: ConsumerPosition) -> Self:
        return cls(position.pending, position.ack_pending, position.deliveries, is_paused=position.is_paused)


class Link(Protocol):
    """One JetStream account, reached by one Connection. None of its methods raises for what a server does."""

    @property
    def account(self) -> str:
        """Equal for links that lead to the same JetStream: what Place.account holds."""

    @property
    def facts(self) -> Facts:
        """What the last look at the account told: API level, clustered, limits."""

    async def observe(self, place: Place) -> Observed:
        """Ask the server for one stream or consumer."""

    async def carry_out(self, place: Place, action: Action) -> Present | Failure | None:
        """Do it, and return what is there now: None after a Delete, or the failure."""

    def read_all(self, wanted: Wanted) -> AsyncIterator[tuple[Place, Observed]]:
        """Read these streams and consumers in as few requests as possible. Each is told exactly once."""

    async def counters(self, place: Place) -> Counters | Unknown:
        """Ask how far a consumer is."""

    async def position(self, place: Place) -> ConsumerPosition | Unknown:
        """Ask where a stream begins and how far a consumer of it is."""

    async def workers(self, group: str, expected: int) -> Sequence[WorkerStatus]:
        """Ask the workers of a group how they stand; return once so many have said, or no more do."""

    async def tell_worker(self, group: str, worker: str, order: str) -> bool:
        """Give a worker an order, and return whether it has heard it."""


class RelayedLink(Link):
    """A link by way of another: the base of those that do something besides."""

    def __init__(self, link: Link) -> None:
        self._link = link

    @property
    @override
    def account(self) -> str:
        return self._link.account

    @property
    @override
    def facts(self) -> Facts:
        return self._link.facts

    @override
    async def observe(self, place: Place) -> Observed:
        return await self._link.observe(place)

    @override
    async def carry_out(self, place: Place, action: Action) -> Present | Failure | None:
        return await self._link.carry_out(place, action)

    @override
    def read_all(self, wanted: Wanted) -> AsyncIterator[tuple[Place, Observed]]:
        return self._link.read_all(wanted)

    @override
    async def counters(self, place: Place) -> Counters | Unknown:
        return await self._link.counters(place)

    @override
    async def position(self, place: Place) -> ConsumerPosition | Unknown:
        return await self._link.position(place)

    @override
    async def workers(self, group: str, expected: int) -> Sequence[WorkerStatus]:
        return await self._link.workers(group, expected)

    @override
    async def tell_worker(self, group: str, worker: str, order: str) -> bool:
        return await self._link.tell_worker(group, worker, order)


class Links(Protocol):
    """All links. Each is made and renewed in the background, for ever, until its Connection is forgotten."""

    def keep(self, connection: Identity, spec: ConnectionSpec, secrets: Secrets, *, is_needed: bool = False) -> None:
        """Have a link as it is declared now. Nothing happens if it is as it was.

        If its Secrets do not make one any more, one to the same server ends; not while something is to be deleted
        through it, as `is_needed` tells: it is kept for that alone.
        """

    def forget(self, connection: Identity) -> None:
        """Close its link, if it has one."""

    def link(self, connection: Identity) -> Link | None:
        """Return its link if JetStream can be asked over it now; state() tells what for."""

    def state(self, connection: Identity) -> LinkState:
        """Tell how it stands with its link."""

    def changes(self) -> AsyncIterator[Identity | Place]:
        """Tell of each Connection whose state has changed, and each place that somebody else changed, as it happens."""
