"""What all steps of the reconciler work with, and the end that they have in common: status first, then events.

Knows the order of writes, and that none is made by one who does not lead. Does not know what is decided (plan), nor
when (reconciler.py).
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from penstock_operator.plan import conditions, dependencies
from penstock_operator.plan.decision import Note, Verdict
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.dependencies import Resolved, connection_of, depends_on, former, last_seen, resolve
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Place, Waiting
from penstock_operator.resources import CONNECTION, CONSUMER, QUEUE_GROUP, STREAM, ConsumerSpec, Kind, StreamSpec
from penstock_operator.resources.management import FINALIZER
from penstock_operator.services.compacting import compact
from penstock_operator.services.home import Home
from penstock_operator.services.leading import Leadership
from penstock_operator.services.links import Links
from penstock_operator.services.queue import WorkQueue
from penstock_operator.services.seen import Seen
from penstock_operator.services.telling import Telling
from penstock_operator.services.world import World

logger = logging.getLogger(__name__)

AWAY = frozenset({Reason.CONNECTING, Reason.CONNECTION_NOT_READY, Reason.STREAM_NOT_READY})
"""What passes: whoever had a place before has it after."""


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """Used from one event loop, as everything here."""

    world: World
    home: Home
    links: Links
    queue: WorkQueue
    telling: Telling
    seen: Seen
    leadership: Leadership
    """Every write happens while it is held, to the server as to the home."""
    now: Callable[[], datetime]
    namespaces: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """The labels of each namespace that a Connection's selector was asked about."""
    noticed: list[Callable[[Place], None]] = field(default_factory=list)
    """Called with each place on a server that somebody else has changed."""

    async def say(
        self,
        declared: Declared,
        verdicts: Sequence[Verdict],
        facts: Mapping[str, Any] | None,
        notes: Sequence[Note],
        at: Resolved | None = None,
    ) -> None:
        """Write the status if it says anything new, then tell the notes."""
        status = conditions.status(declared, verdicts, facts, self.now(), at)
        if status is not None:
            async with self.leadership.held():
                answer = await self.home.write_status(declared, status)
            self._store_own_write(declared, answer, status=status)
            if _said(declared.status) != _said(status):
                self.wake_dependents(declared)
            self._follow(declared)
        await self.tell(declared, notes)

    async def remember_place(self, declared: Declared, at: Resolved) -> Declared:
        """Have it written where something is about to be done that has to go with the object."""
        status = conditions.place_ahead(declared, at)
        if status is None:
            return declared
        async with self.leadership.held():
            answer = await self.home.write_status(declared, status)
        self._store_own_write(declared, answer, status=status)
        self._follow(declared)
        return replace(declared, status=status)

    def _follow(self, before: Declared) -> None:
        """Need the Connection that leads to an object now, and no more the one that did: that may go."""
        led, after = connection_of(before), self.world.objects.get(before.identity)
        if led and after and connection_of(after) != led:
            self.wake(after.identity)
            self.queue.add(led)

    async def tell(self, declared: Declared, notes: Sequence[Note]) -> None:
        for note in notes:
            await self.telling.tell(declared, note)

    async def hold(self, declared: Declared) -> Declared:
        """Put our finalizer on an object, before there is anything on a server that has to go with it."""
        return await self._write_finalizers(declared, [*declared.finalizers, FINALIZER])

    async def let_go(self, declared: Declared) -> Declared:
        """Take our finalizer off an object: nothing has to go before it any more."""
        others = [finalizer for finalizer in declared.finalizers if finalizer != FINALIZER]
        return await self._write_finalizers(declared, others)

    async def _write_finalizers(self, declared: Declared, finalizers: Sequence[str]) -> Declared:
        async with self.leadership.held():
            answer = await self.home.write_finalizers(declared, finalizers)
        self._store_own_write(declared, answer, finalizers=tuple(finalizers))
        self.wake_connections(declared)
        return replace(declared, finalizers=tuple(finalizers))

    def store(self, before: Declared | None, declared: Declared) -> None:
        """Store an object as the home shows it, and queue whatever its changes since `before` concern."""
        self.world.show(declared)
        if before is None or self._has_news(before, declared):
            self.wake(declared.identity)
        if before is None or before.generation != declared.generation:
            self.wake_dependents(declared)
            self.wake_consumer_of(declared)
        if has_finalizer(before) != has_finalizer(declared):
            self.wake_connections(declared)

    def forget(self, declared: Declared) -> None:
        """Take out an object that the home does not show any more, and queue whatever its end concerns."""
        if has_finalizer(declared):
            self.wake_connections(declared)
        self.wake_consumer_of(declared)
        for other in self.world.forget(declared.identity):
            self.queue.add(other)
        self.wake_dependents(declared)
        self.seen.forget(declared.identity)
        self.links.forget(declared.identity)

    async def forget_vanished(self, objects: Iterable[Declared]) -> None:
        """Take out those of these objects that the home does not have any more: the event of their end may be lost."""
        for declared in objects:
            if not await self.home.exists(declared) and self.world.objects.get(declared.identity) is declared:
                logger.warning("%s is gone, which no event has told.", declared.identity)
                self.forget(declared)
                self.queue.add(declared.identity)

    def _store_own_write(self, declared: Declared, answer: Mapping[str, Any] | None, **written: Any) -> None:  # noqa: ANN401 - fields
        """Store the object that a write of ours was answered with, before a watch shows it.

        The whole answer counts, not only what we wrote. Others may have changed the object just before: the events of
        their changes are older than the answer, so they are ignored when they come.

        An answer as old as the stored object counts too: a write that removes the last finalizer of an object deletes
        it, and is answered with the version from before.
        """
        known = self.world.objects.get(declared.identity)
        if known is None or known.uid != declared.uid:
            return
        expected = replace(known, **written)
        if answer is None:
            self.world.show(expected)
            return
        now = compact(Declared.read(answer, known))
        if not is_newer(known.resource_version, now.resource_version):
            self.store(expected, now)

    def _has_news(self, before: Declared, now: Declared) -> bool:
        """Tell whether an object says anything new. Our own write may come back before we know that it succeeded."""
        if _requests(before) != _requests(now):
            return True
        return before.status != now.status and not self.queue.is_worked_on(now.identity)

    def wake(self, identity: Identity) -> None:
        """Have an object looked at, as something around it has changed; and others whose place it now claims, or left.

        The claim is made here and now, so that all claims are known before any worker acts on one.
        """
        declared = self.world.objects.get(identity)
        if declared and identity.kind != CONNECTION.name:
            self.world.need(identity, depends_on(declared, self.world.objects))
            for other in self._claim(declared):
                self.queue.add(other)
        self.queue.add(identity)

    def wake_dependents(self, declared: Declared) -> None:
        for dependent in self.world.dependents(declared.identity):
            self.wake(dependent)

    def wake_connections(self, declared: Declared) -> None:
        """Have the Connections looked at that an object depends on: they stay for as long as it needs them."""
        for need in depends_on(declared, self.world.objects):
            if need.kind == CONNECTION.name:
                self.queue.add(need)

    def wake_consumer_of(self, declared: Declared) -> None:
        """Queue the Consumer of a QueueGroup: what the group asks of it may be too much."""
        if declared.identity.kind == QUEUE_GROUP.name:
            for needed in depends_on(declared, self.world.objects):
                if needed.kind == CONSUMER.name:
                    self.queue.add(needed)

    def resolve(self, declared: Declared) -> Resolved | Waiting:
        """Find where a Stream or Consumer is to be."""
        return resolve(declared, self._surveyed(declared))

    def former(self, declared: Declared, at: Resolved) -> Resolved | Waiting | None:
        """Find where it was until now, if that is another place."""
        return None if declared.deleting else former(declared, at, self._surveyed(declared))

    def _surveyed(self, declared: Declared) -> dependencies.World:
        """Return what an object's references are resolved in."""
        connections = [need for need in depends_on(declared, self.world.objects) if need.kind == CONNECTION.name]
        links = {connection: self.links.state(connection) for connection in connections}
        return dependencies.World(declared=self.world.objects, links=links, namespaces=self.namespaces)

    def dependents(self, identity: Identity, kind: Kind) -> Iterator[Declared]:
        """Yield those of a kind that depend on an object, at first or second hand."""
        for dependent in self.world.dependents(identity):
            if dependent.kind == kind.name and dependent in self.world.objects:
                yield self.world.objects[dependent]

    def stream_of(self, declared: Declared) -> Declared | None:
        """Return the Stream that a Consumer refers to."""
        needs = depends_on(declared, self.world.objects)
        return next((self.world.objects.get(need) for need in needs if need.kind == STREAM.name), None)

    def _claim(self, declared: Declared) -> set[Identity]:
        """Claim the place of an object, and return whom that concerns. A link that is away costs nobody a claim."""
        if not isinstance(declared.spec, StreamSpec | ConsumerSpec):
            return self.world.claim(declared.identity, None)
        resolved = self._held(declared) or self.resolve(declared)
        if isinstance(resolved, Resolved):
            return self.world.claim(declared.identity, resolved.place)
        if resolved.reason is Reason.CONNECTION_NOT_ALLOWED:
            self._have_labels_read(declared)
        is_away = resolved.reason in AWAY
        return set() if is_away else self.world.claim(declared.identity, None)

    def _held(self, declared: Declared) -> Resolved | None:
        """Return where the object has something that is to go with it: it has that place until that has gone."""
        seen = last_seen(declared, self._surveyed(declared)) if FINALIZER in declared.finalizers else None
        return seen if isinstance(seen, Resolved) else None

    def _have_labels_read(self, declared: Declared) -> None:
        """Have the labels of its namespace read, if nobody knows them yet: a Connection's selector may choose it."""
        if declared.identity.namespace not in self.namespaces:
            self.wake_connections(declared)


def _said(status: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return what is said about the object, without the times and sentences."""
    return sorted(
        (said["type"], said["status"], said["reason"], said.get("observedGeneration"))
        for said in status.get("conditions", ())
    )


def has_finalizer(declared: Declared | None) -> bool:
    """Tell whether there is something on a server that has to go before the object does."""
    return declared is not None and FINALIZER in declared.finalizers


def _requests(declared: Declared) -> tuple[object, ...]:
    """Return what people, and others than us, ask of us with an object."""
    return declared.generation, declared.annotations, declared.finalizers, declared.deleting


def is_newer(version: str | None, than: str) -> bool:
    """Compare two versions of one object. Those of a home that has none are as new as they come."""
    return not version or not than or int(version) > int(than)
