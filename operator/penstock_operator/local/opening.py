"""Connections, opened for as long as a command runs: all at once, each until it is known whether it can be used.

Knows what a Connection is opened from, and how long a person waits for it. Does not know how a link is made
(services.nats), nor what it is used for (run.py).
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from penstock_operator.plan.connections import Connected, Connecting, Failing, LinkState
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.reasons import Reason
from penstock_operator.resources import ConnectionSpec
from penstock_operator.services.home import Home, HomeError
from penstock_operator.services.links import Links
from penstock_operator.services.nats.material import secret_names

OPEN_SECONDS = 10.0
"""Longer than each step of a connection may take: what is slower than this is as good as away."""
SECOND_THOUGHT_SECONDS = 1.0
"""How long one that fails may take to succeed after all: another of its servers may be there."""


async def open_links(connections: Iterable[Declared], home: Home, links: Links) -> Mapping[Identity, LinkState]:
    """Open a link for each Connection, and return how it stands with them."""
    failed: dict[Identity, LinkState] = {}
    opened = []
    for connection in connections:
        if not isinstance(connection.spec, ConnectionSpec):
            continue
        try:
            secrets = {
                name: await home.secret(connection.identity.namespace, name) for name in secret_names(connection.spec)
            }
        except HomeError as problem:
            failed[connection.identity] = Failing(Reason.SECRET_NOT_FOUND, str(problem))
            continue
        links.keep(connection.identity, connection.spec, secrets)
        opened.append(connection.identity)
    await _settled(opened, links)
    return failed | {identity: _final(links.state(identity)) for identity in opened}


async def _settled(connections: list[Identity], links: Links) -> None:
    """Wait until all are connected, or those that are not have had their time."""
    await _wait_while(
        lambda: any(isinstance(links.state(each), Connecting) for each in connections), links, OPEN_SECONDS
    )
    await _wait_while(
        lambda: any(_may_recover(links.state(each)) for each in connections), links, SECOND_THOUGHT_SECONDS
    )


async def _wait_while(condition: Callable[[], bool], links: Links, seconds: float) -> None:
    changes = links.changes()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while condition():
                await anext(changes)


def _may_recover(state: LinkState) -> bool:
    return isinstance(state, Failing) and state.reason is Reason.UNREACHABLE


def _final(state: LinkState) -> Connected | Failing:
    if isinstance(state, Connecting):
        return Failing(Reason.UNREACHABLE, f"No server has answered within {OPEN_SECONDS:g} s.")
    return state
