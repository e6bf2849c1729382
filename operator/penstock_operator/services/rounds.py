"""Goes round and lists what the operator watches, again and again, and notes how that went.

Knows when; storage.listing knows how; services.vitals takes the notes. A call never outlives its deadline, so a round
that does not end is a fault of this process. Called by handlers.process.
"""

import asyncio
import logging
from collections.abc import Sequence

from kubernetes.aio.client import ApiClient

from penstock_operator.plan.health import LIST_DEADLINE_SECONDS, LIST_PERIOD_SECONDS
from penstock_operator.resources import KINDS
from penstock_operator.services.vitals import Vitals
from penstock_operator.storage.access import find_access
from penstock_operator.storage.listing import Listed, ListingError, list_first

logger = logging.getLogger(__name__)


async def go_round(namespaces: Sequence[str], vitals: Vitals, can_list: asyncio.Event) -> None:
    """List for ever; the event is set when a round has ended well."""
    async with ApiClient(await find_access()) as client:
        while True:
            failure = vitals.facts.failure
            try:
                vitals.listed(await _round(client, namespaces))
            except ListingError as problem:
                vitals.not_listed(str(problem))
            else:
                can_list.set()
            _log_change(failure, vitals.facts.failure)
            await asyncio.sleep(LIST_PERIOD_SECONDS)


async def _round(client: ApiClient, namespaces: Sequence[str]) -> list[Listed]:
    found = [await list_first(client, kind, namespaces, LIST_DEADLINE_SECONDS) for kind in KINDS]
    return [listed for listed in found if listed]


def _log_change(before: str | None, now: str | None) -> None:
    if now and now != before:
        logger.warning("Not ready: %s", now)
    if before and not now:
        logger.info("What the operator watches can be listed again.")
