"""Fills the reconciler's world from lists, before the watches begin, and takes out what they did not show the end of.

A list tells when all is known that is declared: before, nobody could say who is the oldest that declares a stream. And
a watch that was interrupted for long tells what there is, not what there is no more. Knows when to list; storage.pages
knows how. Called by handlers.process.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence

from kubernetes.aio.client import ApiClient

from penstock_operator.resources import KINDS
from penstock_operator.services.home import HomeError
from penstock_operator.services.reconciler import Reconciler
from penstock_operator.storage.pages import list_objects, list_uids

AGAIN_SECONDS = 2.0
"""Until the next attempt to fill, while the API server cannot be asked."""
FIRST_RECOUNT_SECONDS = 5.0
"""From the first list to the first recount.

The watch begins with a list of its own, a second or more after ours. No event tells what was deleted between the two,
and nothing tells when the second has ended. So the first recounts come soon, and the pauses between them double: what
was missed is noticed within this long and twice the time between the two lists.
"""
RECOUNT_SECONDS = 300.0
"""How long something may be kept up that was deleted while the watch was away. A list of names costs little."""

logger = logging.getLogger(__name__)


async def fill(client: ApiClient, namespaces: Sequence[str], reconciler: Reconciler) -> None:
    """List until a list of everything has succeeded."""
    while True:
        try:
            for kind in KINDS:
                async for manifest in list_objects(client, kind, namespaces):
                    reconciler.shown(manifest)
        except HomeError as problem:
            logger.warning("What is declared cannot be listed yet: %s", problem)
            await asyncio.sleep(AGAIN_SECONDS)
        else:
            return


async def recount(client: ApiClient, namespaces: Sequence[str], reconciler: Reconciler) -> None:
    """Check again and again whether all that is known is still there."""
    for delay in recount_delays():
        await asyncio.sleep(delay)
        try:
            await take_out_vanished(client, namespaces, reconciler)
        except HomeError as problem:
            logger.warning("What is declared cannot be counted: %s", problem)


def recount_delays() -> Iterator[float]:
    """Yield the seconds to wait before each recount, without an end."""
    delay = FIRST_RECOUNT_SECONDS
    while True:
        yield delay
        delay = min(2 * delay, RECOUNT_SECONDS)


async def take_out_vanished(client: ApiClient, namespaces: Sequence[str], reconciler: Reconciler) -> None:
    """Take out what was known before the lists began and is in none of them."""
    known = dict(reconciler.known_uids())
    for kind in KINDS:
        listed = await list_uids(client, kind, namespaces)
        for identity, uid in known.items():
            if identity.kind == kind.name and uid not in listed:
                reconciler.gone(identity, uid)
