"""One step for a Stream or a Consumer: look at what is around it, have a plan made, carry it out, say so.

    claim → observe → plan → finalizer, place → server → finalizer → status → events

Any of these may be the last that this process does: whoever comes next begins anew, from what is there. Knows the
order. Decides nothing (plan does).
"""

import asyncio
from dataclasses import dataclass, replace

from penstock_jetstream.config import Facts
from penstock_operator.plan.claims import heir, holder, observes
from penstock_operator.plan.conditions import is_news
from penstock_operator.plan.decision import Failure, Finalizer, Next, Plan
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.dependencies import Resolved, was_told
from penstock_operator.plan.moves import newcomer
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.reconcile import plan, plan_after
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
from penstock_operator.plan.warnings import warnings_across
from penstock_operator.resources import CONSUMER, QUEUE_GROUP, StreamSpec
from penstock_operator.resources.translation import stream_config
from penstock_operator.services.links import Link
from penstock_operator.services.workshop import Workshop

LOOK_AGAIN_SECONDS = 5.0
"""Until a Consumer looks at its Stream again, which was being made when it looked."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where an object is to be, and the link that leads there."""

    resolved: Resolved
    link: Link


async def look_after(shop: Workshop, declared: Declared) -> Next:
    """Take one step, and tell when to take the next."""
    found = _find(shop, declared)
    behind = shop.former(declared, found.resolved) if isinstance(found, Target) else None
    if _passes_soon(shop, declared, _obstacle(found, behind)):
        return Next.WHEN_IT_CHANGES
    around = found if isinstance(found, Surroundings) else await _look(shop, declared, found)
    target, observed = found if isinstance(found, Target) else None, around.observed
    if behind and target:
        target, former = await _look_back(shop, declared, behind, target.resolved)
        around, observed = replace(around, former=former), former.observed
    decided = plan(declared, around)
    if decided.finalizer is Finalizer.ADD_FIRST:
        declared = await shop.hold(declared)
    if decided.action and target:
        declared = await shop.remember_place(declared, target.resolved)
    done, now = await _carry_out(shop, decided, target, observed)
    shop.seen.note(declared.identity, None if target is None or _gives_way(declared, around.holder) else now)
    if done.finalizer is Finalizer.REMOVE:
        declared = await shop.let_go(declared)
    await _say(shop, newcomer(declared) if done.leaves else declared, done, now, target, acted=bool(decided.action))
    if done.leaves:
        shop.wake(declared.identity)  # it claims its new place, and needs no more what it needed for the old one
    return done.next


def _find(shop: Workshop, declared: Declared) -> Target | Surroundings:
    """Find the way to the server; what is in the way is all that is known of the surroundings then."""
    if declared.spec is None:
        return Surroundings()
    resolved = shop.resolve(declared)
    if isinstance(resolved, Waiting):
        return Surroundings(obstacle=resolved)
    target = _target(shop, resolved)
    return Surroundings(obstacle=target) if isinstance(target, Waiting) else target


def _target(shop: Workshop, resolved: Resolved) -> Target | Waiting:
    link = shop.links.link(resolved.connection)
    if link is None:
        return Waiting(Reason.CONNECTION_NOT_READY, f"{resolved.connection} is not connected at the moment.")
    return Target(resolved, link)


def _obstacle(found: Target | Surroundings, behind: Resolved | Waiting | None) -> Waiting | None:
    """Return what is in the way to where the object is to be, or to where it was until now."""
    if isinstance(found, Surroundings):
        return found.obstacle
    return behind if isinstance(behind, Waiting) else None


def _passes_soon(shop: Workshop, declared: Declared, obstacle: Waiting | None) -> bool:
    """Tell whether what it waits for is being done at this moment: then there is nothing to say before that.

    A link that is opened wakes those that wait for it in any case; a Stream only if it says something new.
    """
    if obstacle is None or declared.deleting:
        return False
    stream = shop.stream_of(declared)
    is_being_made = stream is not None and shop.queue.is_expected(stream.identity)
    if obstacle.reason is Reason.STREAM_NOT_READY and is_being_made:
        shop.queue.add_later(declared.identity, LOOK_AGAIN_SECONDS)
        return True
    return obstacle.reason is Reason.CONNECTING


async def _look(shop: Workshop, declared: Declared, target: Target) -> Surroundings:
    place = target.resolved.place
    first = _other_holder(shop, declared, place)
    if _gives_way(declared, first):
        return Surroundings(holder=first)
    observed = await target.link.observe(place)
    return Surroundings(
        holder=first,
        heir=heir(shop.world.claimants(place), declared.identity),
        observed=observed,
        missing_seconds=shop.seen.missing_seconds(declared.identity, observed, asyncio.get_running_loop().time()),
        facts=_facts(shop, declared, target.link),
        warnings=_warnings(shop, declared),
    )


def _gives_way(declared: Declared, first: Identity | None) -> bool:
    """Tell whether another has the place, so that nothing there concerns this one: who only observes looks anyway."""
    return first is not None and not observes(declared)


async def _look_back(
    shop: Workshop, declared: Declared, behind: Resolved | Waiting, at: Resolved
) -> tuple[Target | None, Former]:
    """Look at the place where the object was until now, if there is still a way there."""
    target = _target(shop, behind) if isinstance(behind, Resolved) else behind
    if isinstance(target, Waiting):
        unseen = Unknown(target.reason, target.message)
        return None, Former(was=was_told(declared), becomes=str(at), observed=unseen)
    place = target.resolved.place
    observed = await target.link.observe(place)
    former = Former(
        was=was_told(declared),
        becomes=str(at),
        observed=observed,
        holder=_other_holder(shop, declared, place),
        heir=heir(shop.world.claimants(place), declared.identity),
    )
    return target, former


def _other_holder(shop: Workshop, declared: Declared, place: Place) -> Identity | None:
    """Return who has a place, if that is another; one who comes there has not claimed it yet."""
    first = holder([declared, *shop.world.claimants(place)])
    return first if first != declared.identity else None


def _facts(shop: Workshop, declared: Declared, link: Link) -> Facts:
    """Return what is known of the account and, for a consumer whose Stream is declared, of the stream."""
    stream = shop.stream_of(declared)
    if stream is None or not isinstance(stream.spec, StreamSpec):
        return link.facts
    return replace(link.facts, stream=stream_config(stream.spec, stream.identity.name))


def _warnings(shop: Workshop, declared: Declared) -> tuple[str, ...]:
    """Judge a Consumer together with those that it shares a stream, and its messages, with."""
    stream = shop.stream_of(declared)
    neighbours = shop.dependents(stream.identity, CONSUMER) if stream else ()
    return warnings_across(declared, stream, neighbours, shop.dependents(declared.identity, QUEUE_GROUP))


async def _carry_out(
    shop: Workshop, decided: Plan, target: Target | None, observed: Observed
) -> tuple[Plan, Observed | None]:
    """Do what was decided; return what is to be said after it, and what is on the server now."""
    if decided.action is None or target is None:
        return decided, observed
    async with shop.leadership.held():
        outcome = await target.link.carry_out(target.resolved.place, decided.action)
    match outcome:
        case Failure():
            return plan_after(decided, outcome), observed
        case Present():
            return decided, outcome
        case None:
            return decided, Missing()


async def _say(
    shop: Workshop, declared: Declared, done: Plan, observed: Observed | None, target: Target | None, *, acted: bool
) -> None:
    """Write the status and tell the notes that are news. Nothing is written about an object that is let go."""
    notes = done.notes if acted or is_news(declared, done.verdicts) else ()
    if declared.deleting and not declared.finalizers:
        await shop.tell(declared, notes)
        return
    if done.leaves or target is None:
        await shop.say(declared, done.verdicts, {} if done.leaves else None, notes)
        return
    facts = observed.facts if isinstance(observed, Present) else {} if isinstance(observed, Missing) else None
    await shop.say(declared, done.verdicts, facts, notes, target.resolved)
