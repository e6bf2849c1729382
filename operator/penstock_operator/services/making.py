"""One step for a Stream or a Consumer: look at what is around it, have a plan made, carry it out, say so.

    claim → observe → plan → finalizer → server → finalizer → status → events

Any of these may be the last that this process does: whoever comes next begins anew, from what is there. Knows the
order. Decides nothing (plan does).
"""

from dataclasses import dataclass, replace

from penstock_jetstream.config import Facts
from penstock_operator.plan.claims import holder
from penstock_operator.plan.conditions import is_news
from penstock_operator.plan.decision import Failure, Finalizer, Next, Plan
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.dependencies import Resolved
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.reconcile import plan, plan_after
from penstock_operator.plan.surroundings import Missing, Observed, Present, Surroundings, Waiting
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
    if isinstance(found, Surroundings) and _passes_soon(shop, declared, found.obstacle):
        return Next.WHEN_IT_CHANGES
    around = found if isinstance(found, Surroundings) else await _look(shop, declared, found)
    target = found if isinstance(found, Target) else None
    decided = plan(declared, around)
    if decided.finalizer is Finalizer.ADD_FIRST:
        declared = await shop.hold(declared)
    done, observed = await _carry_out(shop, decided, target, around.observed)
    shop.seen.note(declared.identity, observed if target else None)
    if done.finalizer is Finalizer.REMOVE:
        declared = await shop.let_go(declared)
    await _say(shop, declared, done, observed, target, acted=decided.action is not None)
    return done.next


def _find(shop: Workshop, declared: Declared) -> Target | Surroundings:
    """Find the way to the server; what is in the way is all that is known of the surroundings then."""
    if declared.spec is None:
        return Surroundings()
    resolved = shop.resolve(declared)
    if isinstance(resolved, Waiting):
        return Surroundings(obstacle=resolved)
    link = shop.links.link(resolved.connection)
    if link is None:
        message = f"{resolved.connection} is not connected at the moment."
        return Surroundings(obstacle=Waiting(Reason.CONNECTION_NOT_READY, message))
    return Target(resolved, link)


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
    first = holder(shop.world.claimants(place))
    if first not in (None, declared.identity):
        return Surroundings(holder=first)
    observed = await target.link.observe(place)
    facts = _facts(shop, declared, target.link)
    return Surroundings(observed=observed, facts=facts, warnings=_warnings(shop, declared))


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
    if target is None:
        await shop.say(declared, done.verdicts, None, notes)
        return
    facts = observed.facts if isinstance(observed, Present) else {} if isinstance(observed, Missing) else None
    await shop.say(declared, done.verdicts, facts, notes, target.resolved)
