"""Tells people what happened, as events, after it has happened and without keeping the work waiting for it.

Knows that telling is less urgent than doing: events leave one after another, and whoever has another to tell waits once
too many are untold. An event that the home refuses is logged and lost; what is true is in the status. Does not know
what is worth telling (plan does).
"""

import asyncio
import logging
from collections import deque

from penstock_operator.plan.decision import Note
from penstock_operator.plan.declared import Declared
from penstock_operator.services.home import Home, HomeError
from penstock_operator.services.leading import Leadership, NotLeadingError

MOST_UNTOLD = 1000

logger = logging.getLogger(__name__)


class Telling:
    def __init__(self, home: Home, leadership: Leadership) -> None:
        self._home = home
        self._leadership = leadership
        self._untold: deque[tuple[Declared, Note]] = deque()
        self._to_tell = asyncio.Semaphore(0)
        self._room = asyncio.Semaphore(MOST_UNTOLD)

    async def tell(self, declared: Declared, note: Note) -> None:
        """Have it told soon."""
        level = logging.WARNING if note.is_warning else logging.INFO
        logger.log(level, "%s: %s", declared.identity, note.message, extra=log_fields(declared, note))
        await self._room.acquire()
        self._untold.append((declared, note))
        self._to_tell.release()

    async def run(self) -> None:
        while True:
            await self._to_tell.acquire()
            declared, note = self._untold.popleft()
            self._room.release()
            try:
                async with self._leadership.held():
                    await self._home.tell(declared, note)
            except (HomeError, NotLeadingError) as problem:
                logger.warning("An event was lost: %s", problem, extra=log_fields(declared, note))


def log_fields(declared: Declared, note: Note) -> dict[str, object]:
    identity = declared.identity
    resource = {"kind": identity.kind, "namespace": identity.namespace, "name": identity.name}
    return {"resource": resource, "reason": note.reason}
