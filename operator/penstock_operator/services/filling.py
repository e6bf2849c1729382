"""Fills the reconciler's world from lists, before the watches begin, and takes out what they did not show the end of.

A list tells when all is known that is declared: before, nobody could say who is the oldest that declares a stream. And
a watch that was interrupted for long tells what there is, not what there is no more. Knows when to list; storage.pages
knows how. Called by handlers.process.
"""

import asyncio
import logging
from collections.abc import Sequence

from kubernetes.aio.client import ApiClient

from penstock_operator.resources import KINDS
from penstock_operator.services.home import HomeError
from penstock_operator.services.reconciler import Reconciler
from penstock_operator.storage.pages import list_objects, list_uids

AGAIN_SECONDS = 2.0
"""Until the next attempt to fill, while the API server cannot be asked."""
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
    """For ever, look whether all that is known is still there."""
    while True:
        await asyncio.sleep(RECOUNT_SECONDS)
        try:
            await take_out_vanished(client, namespaces, reconciler)
        except HomeError as problem:
            logger.warning("What is declared cannot be counted: %s", problem)


async def take_out_vanished(client: ApiClient, namespaces: Sequence[str], reconciler: Reconciler) -> None:
    """Take out what was known before the lists began and is in none of them."""
    known = dict(reconciler.known_uids())
    for kind in KINDS:
        listed = await list_uids(client, kind, namespaces)
        for identity, uid in known.items():
            if identity.kind == kind.name and uid not in listed:
                reconciler.gone(identity, uid)
