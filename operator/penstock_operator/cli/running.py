"""Runs over manifests, from a command: Connections are opened, everything is looked at, and all is closed again.

Knows what a run needs and in which order. Does not know what is printed: the command is told of each object.
"""

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from penstock_operator.cli.output import Progress
from penstock_operator.local.home import LocalHome
from penstock_operator.local.opening import open_links
from penstock_operator.local.outcome import Outcome
from penstock_operator.local.run import Patience, Run, connections_of
from penstock_operator.local.state import HomeRecord
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.resources import ConnectionSpec
from penstock_operator.services.nats.keeping import NatsLinks

NAME = "penstock command"
"""What servers show as the client's name."""

Told = Callable[[Outcome], None]


def run_over(
    home: LocalHome,
    wanted: Iterable[Identity],
    *,
    progress: str,
    told: Told | None = None,
    seconds: float | None = None,
) -> list[Outcome]:
    """Look at these objects; with `seconds`, make them as declared within that time."""
    return asyncio.run(over(home, list(wanted), progress=progress, told=told, seconds=seconds))


async def over(
    home: LocalHome,
    wanted: Sequence[Identity],
    *,
    progress: str,
    told: Told | None = None,
    seconds: float | None = None,
) -> list[Outcome]:
    shown = Progress(progress, len(wanted))

    def hear(outcome: Outcome) -> None:
        if told:
            shown.end()
            told(outcome)
        shown.step()

    async with NatsLinks(NAME, home.reach) as links:
        states = await open_links(connections_of(wanted, home.declared), home, links)
        patience = None if seconds is None else Patience(time.monotonic() + seconds, time.monotonic, random.random)
        outcomes = await Run(home, links, states, told=hear, patience=patience).over(wanted)
    shown.end()
    return outcomes


def reached_at(home: LocalHome, servers: Sequence[str]) -> None:
    """Have all Connections lead to these servers, whatever they say."""
    if not servers:
        return
    for identity, declared in home.declared.items():
        if isinstance(declared.spec, ConnectionSpec):
            home.declared[identity] = _reached_at(declared, declared.spec, servers)


def _reached_at(declared: Declared, spec: ConnectionSpec, servers: Sequence[str]) -> Declared:
    return replace(declared, spec=spec.model_copy(update={"servers": list(servers)}))


def reached_as(home: LocalHome, up: HomeRecord) -> None:
    """Have the Connections whose servers `penstock up` runs lead to those, which ask nobody who they are."""
    for record in up.connections:
        identity = Identity("Connection", record.namespace, record.name)
        declared = home.declared.get(identity)
        if record.embedded and declared is not None and isinstance(declared.spec, ConnectionSpec):
            bare = declared.spec.model_copy(update={"auth": None, "tls": None, "jet_stream": None})
            home.declared[identity] = _reached_at(declared, bare, record.servers)
