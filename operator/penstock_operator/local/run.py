"""One run over all that is declared: first Streams, then Consumers, each planned and, if wanted, carried out.

Knows the order, how much is done at once, and when to stop. What is to be done is decided by plan.reconcile, and done
by links. Does not print: whoever runs it is told of each object when it has settled.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from penstock_operator.local.home import LocalHome
from penstock_operator.local.outcome import Outcome, outcome
from penstock_operator.plan import conditions, reconcile
from penstock_operator.plan.claims import holder
from penstock_operator.plan.connections import LinkState, plan_connection
from penstock_operator.plan.decision import Action, Create, Failure, Finalizer, Next, Plan, Recreate, Update
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.dependencies import Resolved, World, depends_on, former, resolve, was_told, whereabouts
from penstock_operator.plan.group_places import group_place
from penstock_operator.plan.moves import newcomer
from penstock_operator.plan.queue_groups import plan_queue_group
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.retry import delay_seconds
from penstock_operator.plan.surroundings import (
    Former,
    Missing,
    Observed,
    Place,
    Present,
    Surroundings,
    Unknown,
    Waiting,
)
from penstock_operator.plan.warnings import overlapping_streams, subjects_of, warnings_across
from penstock_operator.resources import ConsumerSpec, QueueGroupSpec
from penstock_operator.resources.management import FINALIZER
from penstock_operator.services.links import Link, Links

AT_ONCE = 16
"""How many objects are worked on at the same time: enough for thousands in seconds, and no burden to a server."""
CONNECTION, STREAM, CONSUMER, QUEUE_GROUP = "Connection", "Stream", "Consumer", "QueueGroup"
IN_ORDER = (STREAM, CONSUMER)
RUN = (CONNECTION, *IN_ORDER)
"""The kinds that a run knows what to do about, and the operator."""
RUN_HERE = (*RUN, QUEUE_GROUP)
"""Those that mean something on a laptop."""

Told = Callable[[Outcome], None]


@dataclass(frozen=True, slots=True)
class Patience:
    """When a run is to have ended, and by which clock and chance."""

    end: float
    clock: Callable[[], float]
    chance: Callable[[], float]


@dataclass(slots=True)
class _Look:
    """What was found when an object was looked at."""

    plan: Plan
    observed: Observed
    place: Place | None
    link: Link | None


class Run:
    """A run, over what a home declares and the links that are open. Nothing is changed without `patience`."""

    def __init__(
        self,
        home: LocalHome,
        links: Links,
        states: Mapping[Identity, LinkState],
        *,
        told: Told,
        patience: Patience | None = None,
    ) -> None:
        self._home = home
        self._links = links
        self._states = states
        self._told = told
        self._patience = patience
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._places: dict[Identity, Resolved | Waiting] = {}
        self._holders: dict[Identity, Identity | None] = {}
        self._groups = _groups(home.declared.values())
        self._readers: defaultdict[Place, list[Declared]] = defaultdict(list)
        """The Consumers of each stream."""
        self._subjects: defaultdict[str, dict[Identity, Sequence[str]]] = defaultdict(dict)
        """The subjects of each Stream, by account."""
        self._configs: dict[Place, Mapping[str, Any] | None] = {}
        """What each stream is configured as, or will be."""

    async def over(self, wanted: Iterable[Identity]) -> list[Outcome]:
        """Settle these objects in the order in which they depend on each other, and return what became of them."""
        objects = list(wanted)
        await self._read_labels(objects)
        outcomes = [self._connection(each) for each in objects if each.kind == CONNECTION]
        gate = asyncio.Semaphore(AT_ONCE)
        for kind in IN_ORDER:
            self._resolve(kind)
            chosen = [each for each in objects if each.kind == kind]
            outcomes += await asyncio.gather(*(self._settle(each, gate) for each in chosen))
        return outcomes + [self._group(each) for each in objects if each.kind == QUEUE_GROUP]

    async def _read_labels(self, objects: Iterable[Identity]) -> None:
        for namespace in sorted({each.namespace for each in objects}):
            self._namespaces[namespace] = await self._home.namespace_labels(namespace)

    def _connection(self, identity: Identity) -> Outcome:
        declared, state = self._home.declared[identity], self._states[identity]
        found = outcome(declared, plan_connection(declared, state), getattr(state, "facts", {}))
        self._told(found)
        return found

    def _group(self, identity: Identity) -> Outcome:
        """Look whether a queue group fits what is declared around it: its workers are not for a run to start."""
        declared = self._home.declared[identity]
        spec = declared.spec
        if isinstance(spec, QueueGroupSpec):
            place = group_place(identity, spec, self._home.declared)
        else:
            place = Waiting(Reason.INVALID, declared.fault)
        found = outcome(declared, plan_queue_group(declared, place), {})
        self._told(found)
        return found

    def _resolve(self, kind: str) -> None:
        """Find the places of all objects of a kind, and who has each."""
        world = self._world()
        claimants: defaultdict[Place, list[Declared]] = defaultdict(list)
        for identity, declared in self._home.declared.items():
            if identity.kind != kind or declared.spec is None:
                continue
            self._places[identity] = found = resolve(declared, world)
            if isinstance(found, Resolved):
                claimants[found.place].append(declared)
                if kind == STREAM:
                    self._subjects[found.place.account][identity] = subjects_of(declared)
                if kind == CONSUMER:
                    self._readers[_stream_of(found.place)].append(declared)
        for claiming in claimants.values():
            first = holder(claiming)
            for declared in claiming:
                self._holders[declared.identity] = first if first != declared.identity else None

    def _world(self) -> World:
        return World(declared=self._home.declared, links=self._states, namespaces=self._namespaces)

    async def _settle(self, identity: Identity, gate: asyncio.Semaphore) -> Outcome:
        declared = self._home.declared[identity]
        async with gate:
            look = await self._look(identity)
            planned = look.plan
            if self._patience:
                look = await self._carry_out(identity, look, self._patience)
        await self._note(identity, look)
        found = outcome(declared, look.plan, _facts(look.observed))
        if self._patience and planned.action and not found.is_obstructed:
            found = replace(outcome(declared, planned, found.facts), message=_told_of(planned))
        self._told(found)
        return found

    async def _look(self, identity: Identity) -> _Look:
        declared, found = self._home.declared[identity], self._places.get(identity)
        if not isinstance(found, Resolved):
            plan = reconcile.plan(declared, Surroundings(obstacle=found))
            return _Look(plan, await self._glance(declared), None, None)
        place, link = found.place, self._links.link(found.connection)
        if link is None:
            lost = Waiting(Reason.CONNECTION_NOT_READY, f"{found.connection} was lost.")
            return _Look(reconcile.plan(declared, Surroundings(obstacle=lost)), Missing(), place, None)
        observed = await self._observe(place, link)
        around = Surroundings(
            holder=self._holders.get(identity),
            observed=observed,
            facts=replace(link.facts, stream=await self._stream_config(place, link)),
            warnings=self._warnings(declared, place),
        )
        behind = await self._behind(declared, found)
        return _Look(planned_with_move(declared, around, behind), observed, place, link)

    async def _glance(self, declared: Declared) -> Observed:
        """Look at something that waits: it may be on the server from before."""
        at = whereabouts(declared, self._world()) if declared.spec else None
        link = self._links.link(at.connection) if isinstance(at, Resolved) else None
        if link is None or not isinstance(at, Resolved):
            return Unknown(Reason.CONNECTION_NOT_READY, "")
        return await link.observe(at.place)

    async def _behind(self, declared: Declared, at: Resolved) -> Former | None:
        """Look at where an object in a cluster was until now, if that is another place: a status remembers it."""
        was = former(declared, at, self._world())
        if was is None:
            return None
        link = self._links.link(was.connection) if isinstance(was, Resolved) else None
        observed: Observed = Unknown(Reason.CONNECTION_NOT_READY, getattr(was, "message", f"{was} cannot be asked."))
        if link and isinstance(was, Resolved):
            observed = await link.observe(was.place)
        return Former(was=was_told(declared), becomes=str(at), observed=observed)

    def _warnings(self, declared: Declared, place: Place) -> tuple[str, ...]:
        """Look at a Stream or a Consumer together with what is declared around it."""
        if not isinstance(declared.spec, ConsumerSpec):
            return overlapping_streams(declared.identity, self._subjects[place.account])
        namespace, reference = declared.identity.namespace, declared.spec.stream_ref
        stream = self._home.declared.get(Identity(STREAM, namespace, reference.name)) if reference else None
        groups = self._groups.get((namespace, declared.identity.name), ())
        return warnings_across(declared, stream, self._readers[_stream_of(place)], groups)

    async def _observe(self, place: Place, link: Link) -> Observed:
        """Look at the server; in a stream that this run is yet to make there is nothing."""
        observed = await link.observe(place)
        unmade = isinstance(observed, Unknown) and observed.reason is Reason.STREAM_NOT_FOUND
        if unmade and self._configs.get(_stream_of(place)) is not None:
            return Missing()
        if not place.consumer and isinstance(observed, Present):
            self._configs[place] = observed.config
        return observed

    async def _stream_config(self, place: Place, link: Link) -> Mapping[str, Any] | None:
        if not place.consumer:
            return None
        stream = _stream_of(place)
        if stream not in self._configs:
            observed = await link.observe(stream)
            self._configs[stream] = observed.config if isinstance(observed, Present) else None
        return self._configs[stream]

    async def _carry_out(self, identity: Identity, look: _Look, patience: Patience) -> _Look:
        """Do what is planned, and look again, until nothing is left to do or time is up."""
        failures = 0
        while look.plan.action or look.plan.next is Next.AFTER_BACKOFF:
            failure = await self._step(identity, look)
            if failure and not failure.passing:
                break
            if look.plan.next is Next.AFTER_BACKOFF:
                failures += 1
                wait_seconds = delay_seconds(failures, patience.chance())
                if patience.clock() + wait_seconds > patience.end:
                    break
                await asyncio.sleep(wait_seconds)
            elif look.plan.next is not Next.AT_ONCE or patience.clock() > patience.end:
                break
            look = await self._look(identity)
        return look

    async def _step(self, identity: Identity, look: _Look) -> Failure | None:
        """Take one step; the look says afterwards what is there now, or what went wrong."""
        declared = self._home.declared[identity]
        if look.plan.finalizer is Finalizer.ADD_FIRST:
            await self._home.write_finalizers(declared, (*declared.finalizers, FINALIZER))
        if look.plan.action is None or look.place is None or look.link is None:
            return None
        done = await look.link.carry_out(look.place, look.plan.action)
        if isinstance(done, Failure):
            look.plan = reconcile.plan_after(look.plan, done)
            return done
        for note in look.plan.notes:
            await self._home.tell(declared, note)
        look.observed = done or Missing()
        return None

    async def _note(self, identity: Identity, look: _Look) -> None:
        """Keep the status that follows, which what depends on it is judged by."""
        action = look.plan.action
        if look.place and not look.place.consumer and (config := _config(action)):
            self._configs[look.place] = config
        declared = self._home.declared[identity]
        status = conditions.status(declared, look.plan.verdicts, _facts(look.observed), datetime.now(UTC))
        if status is not None:
            await self._home.write_status(declared, status)


def planned_with_move(declared: Declared, around: Surroundings, behind: Former | None) -> Plan:
    """Plan what is to become of an object; of one that moves, what it leaves and what it will be are one plan."""
    decided = reconcile.plan(declared, replace(around, former=behind))
    if not decided.leaves:
        return decided
    arriving = reconcile.plan(newcomer(declared), around)
    left = tuple(note.message for note in decided.notes)
    return replace(arriving, losses=(*left, *arriving.losses))


def connections_of(wanted: Iterable[Identity], declared: Mapping[Identity, Declared]) -> list[Declared]:
    """Return the Connections among these objects, and those that they depend on."""
    needed: dict[Identity, None] = {}
    for identity in wanted:
        if identity.kind == CONNECTION:
            needed[identity] = None
        elif identity in declared:
            needed |= dict.fromkeys(
                each for each in depends_on(declared[identity], declared) if each.kind == CONNECTION
            )
    return [declared[identity] for identity in needed if identity in declared]


def _groups(objects: Iterable[Declared]) -> Mapping[tuple[str, str], list[Declared]]:
    """Return the QueueGroups of each Consumer, by its namespace and name."""
    found: defaultdict[tuple[str, str], list[Declared]] = defaultdict(list)
    for each in objects:
        if isinstance(each.spec, QueueGroupSpec):
            found[each.identity.namespace, each.spec.consumer_ref.name].append(each)
    return found


def _config(action: Action | None) -> Mapping[str, Any] | None:
    return action.config if isinstance(action, Create | Update | Recreate) else None


def _facts(observed: Observed) -> Mapping[str, Any]:
    return observed.facts if isinstance(observed, Present) else {}


def _stream_of(place: Place) -> Place:
    return replace(place, consumer="")


def _told_of(plan: Plan) -> str:
    return " ".join(note.message for note in plan.notes)
