"""`penstock pause`, `resume` and `restart` in a cluster: said in the QueueGroup, carried out by the operator.

Knows how it is told, who would set it back, and by which status it is seen that all has ended. NATS is not asked: who
may change the object needs no way to it.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any

import click
from kubernetes.aio.client import ApiClient

from penstock_operator.cli import human
from penstock_operator.cli.cluster import objects_in
from penstock_operator.cli.naming import chosen
from penstock_operator.cli.output import Doing, say
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.sayings import who_says
from penstock_operator.resources import QUEUE_GROUP
from penstock_operator.storage import commanding
from penstock_operator.storage.commanding import MANAGER, Object
from penstock_operator.storage.errors import RefusedError

LOOK_SECONDS = 0.5
UNSEEN_SECONDS = 20.0
"""After so long somebody who waits is told that the operator has not even looked."""
FORBIDDEN = 403
FIELD = "suspend"


async def pause(client: ApiClient, namespace: str | None, name: str) -> Identity:
    """Have its workers stop, and return which group that is."""
    identity = await _named(client, namespace, name)
    before = await commanding.look(client, identity)
    others = who_says(before["metadata"], FIELD, but=MANAGER)
    with _changing(identity):
        await commanding.suspend(client, before, identity)
    say(f"{identity} is paused: its workers finish what they hold, and end.")
    if others and not before["spec"].get(FIELD):
        say(f"{' and '.join(others)} said suspend: false, and will set it back when applied again: say it there, too.")
    return identity


async def until_nothing_is_held(client: ApiClient, identity: Identity) -> None:
    begun = time.monotonic()
    is_doubtful = False
    with closing(Doing()) as doing:
        while True:
            found = await commanding.look(client, identity)
            status = _status_of_this_generation(found)
            if status is not None and not status.get("replicas") and not status.get("held"):
                return
            if status is None and not is_doubtful and time.monotonic() > begun + UNSEEN_SECONDS:
                is_doubtful = True
                say("The operator has not looked at it yet. Does it run, and serve this namespace?")
            doing.tell(_waits_for(status))
            await asyncio.sleep(LOOK_SECONDS)


async def resume(client: ApiClient, namespace: str | None, name: str) -> None:
    identity = await _named(client, namespace, name)
    with _changing(identity):
        after = await commanding.resume(client, await commanding.look(client, identity), identity)
    if not after["spec"].get(FIELD):
        say(f"{identity} goes on.")
        return
    others = who_says(after["metadata"], FIELD, but=MANAGER)
    by = f" by {' and '.join(others)}" if others else ""
    say(f"{identity} is declared with suspend: true{by}, which only its manifest takes back.")


async def restart(client: ApiClient, namespace: str | None, name: str) -> None:
    identity = await _named(client, namespace, name)
    with _changing(identity):
        await commanding.restart(client, identity, datetime.now(UTC).isoformat(timespec="seconds"))
    say(f"{identity}: its workers are started anew, a few at a time.")


@contextmanager
def _changing(identity: Identity) -> Iterator[None]:
    """Tell a person what a refusal to change the object means."""
    try:
        yield
    except RefusedError as refusal:
        if refusal.code != FORBIDDEN:
            raise
        sentence = f"You may not change {identity}: that needs the verb patch on queuegroups.penstock.dev."
        raise click.ClickException(sentence) from refusal


async def _named(client: ApiClient, namespace: str | None, name: str) -> Identity:
    found = [Declared.read(each).identity for each in await objects_in(client, [QUEUE_GROUP.name], namespace)]
    return chosen(found, name)[0]


def _status_of_this_generation(found: Object) -> Mapping[str, Any] | None:
    """Return the status, once it is about what is declared now."""
    status: Mapping[str, Any] = found.get("status") or {}
    conditions: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
    ready = next((each for each in conditions if each["type"] == "Ready"), {})
    return status if ready.get("observedGeneration") == found["metadata"]["generation"] else None


def _waits_for(status: Mapping[str, Any] | None) -> str:
    if status is None:
        return "The operator has not looked at it yet … "
    return f"{human.workers(status.get('replicas', 0))}, {human.number(status.get('held', 0))} messages held … "
