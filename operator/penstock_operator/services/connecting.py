"""One step for a Connection: read its Secrets, have the link kept as it is declared now, and say how it stands.

Secrets cannot be watched with the rights that the operator has: they are read again at a period, and at once when the
state of the link changes, as it does when credentials are refused. Does not open links (services.nats does), nor decide
what is said (plan.connections does).
"""

from penstock_operator.plan.conditions import is_news
from penstock_operator.plan.connections import MOST_NAMED, Connected, Failing, LinkState, plan_connection, who_needs_it
from penstock_operator.plan.decision import Finalizer, Next
from penstock_operator.plan.declared import Declared
from penstock_operator.plan.reasons import Reason
from penstock_operator.resources import ConnectionSpec
from penstock_operator.resources.references import NamespacesFrom
from penstock_operator.services.nats.material import secret_names
from penstock_operator.services.workshop import Workshop
from penstock_operator.storage.errors import RefusedError


async def look_after(shop: Workshop, declared: Declared) -> Next:
    """Take one step, and tell when to take the next."""
    if not isinstance(declared.spec, ConnectionSpec):
        shop.links.forget(declared.identity)
        state: LinkState = Failing(Reason.INVALID, declared.fault)
    else:
        state = await _keep(shop, declared, declared.spec)
        await _know_namespaces(shop, declared, declared.spec)
    if declared.deleting:
        await shop.forget_vanished(_blocking(shop, declared))
    decided = plan_connection(declared, state, _users(shop, declared))
    declared = await _write_finalizer(shop, declared, decided.finalizer)
    if declared.deleting and not declared.finalizers:
        await shop.tell(declared, decided.notes)
        return Next.AT_THE_PERIOD
    facts = state.facts if isinstance(state, Connected) else None
    await shop.say(declared, decided.verdicts, facts, decided.notes if is_news(declared, decided.verdicts) else ())
    return Next.AT_THE_PERIOD


async def _write_finalizer(shop: Workshop, declared: Declared, wanted: Finalizer) -> Declared:
    match wanted:
        case Finalizer.ADD_FIRST:
            return await shop.hold(declared)
        case Finalizer.REMOVE:
            return await shop.let_go(declared)
        case Finalizer.AS_IS:
            return declared


async def _keep(shop: Workshop, declared: Declared, spec: ConnectionSpec) -> LinkState:
    """Have the link made from what its Secrets hold now.

    They may be deleted before the Connection, and before what is to go through it, by any length of time: the
    controller that empties a namespace takes one kind after the other, in any order.
    """
    identity = declared.identity
    try:
        secrets = {name: await shop.home.secret(identity.namespace, name) for name in secret_names(spec)}
    except RefusedError as refusal:
        return Failing(Reason.SECRET_NOT_FOUND, f"A Secret cannot be read: {refusal}")
    shop.links.keep(identity, spec, secrets, is_needed=bool(who_needs_it(_users(shop, declared))))
    return shop.links.state(identity)


def _users(shop: Workshop, declared: Declared) -> list[Declared]:
    return [shop.world.objects[user] for user in shop.world.dependents(declared.identity)]


def _blocking(shop: Workshop, declared: Declared) -> list[Declared]:
    """Return those that keep a Connection from going, and are not being worked on: as many as a condition names.

    Each that turns out to be gone has the Connection looked at again, so the others follow.
    """
    needed_by = sorted(who_needs_it(_users(shop, declared)), key=str)
    idle = [each for each in needed_by if not shop.queue.is_expected(each)]
    return [shop.world.objects[each] for each in idle[:MOST_NAMED]]


async def _know_namespaces(shop: Workshop, declared: Declared, spec: ConnectionSpec) -> None:
    """Read the labels of the namespaces that use the Connection, if its selector is to choose among them."""
    if spec.allowed_namespaces.from_ is not NamespacesFrom.SELECTOR:
        return
    users = shop.world.dependents(declared.identity)
    changed = False
    for namespace in {user.namespace for user in users} - {declared.identity.namespace}:
        labels = await shop.home.namespace_labels(namespace)
        changed |= shop.namespaces.get(namespace) != labels
        shop.namespaces[namespace] = labels
    if changed:
        shop.wake_dependents(declared)
