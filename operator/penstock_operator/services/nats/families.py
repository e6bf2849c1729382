"""Which links lead to the same JetStream: a family of links has one identity, for as long as any of them is there.

Names do not tell: accounts and clusters of strangers are often called the same. Two links to a server that is alone
compare its id; for links to clusters one says something that the other hears, or not. Where a user may not say
anything, names have to do. Does not know what an identity is used for.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from secrets import token_hex

from typing_extensions import override

from penstock_jetstream import Connection, ServerReported

PROBE = "_INBOX.penstock.probe"
"""What is said to be heard goes there: where all users may listen, as answers come there, too."""
HEARING_SECONDS = 1.0
"""Other servers of a cluster learn within milliseconds that someone listens."""
REPEAT_SECONDS = 0.05
_TOKEN_BYTES = 8
_DENIED = re.compile(rf'permissions violation for publish to "{re.escape(PROBE)}', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Family:
    """All its links have these names; the number tells it from others whose links have them, too."""

    names: str
    number: int

    @override
    def __str__(self) -> str:
        return self.names if self.number == 1 else f"{self.names} ({self.number})"


class Families:
    """All that there are in this process."""

    def __init__(self) -> None:
        self._of: dict[Connection, Family] = {}
        self._numbers: Counter[str] = Counter()
        self._one_by_one = asyncio.Lock()

    async def join(self, link: Connection, names: str) -> str:
        """Return the identity of the family that a link belongs to now."""
        async with self._one_by_one:
            before = self._of.pop(link, None)
            others = {
                family: other for other, family in self._of.items() if family.names == names and other.is_connected
            }
            found = await _relative(link, others)
            if found is None and before and before.names == names and before not in others:
                found = before  # nobody can tell otherwise
            self._of[link] = found or self._new(names)
            return str(self._of[link])

    def leave(self, link: Connection) -> None:
        self._of.pop(link, None)

    def _new(self, names: str) -> Family:
        """Return one that never was: what was there under the same names may have been something else."""
        self._numbers[names] += 1
        return Family(names, self._numbers[names])


async def _relative(link: Connection, others: Mapping[Family, Connection]) -> Family | None:
    """Return which of them leads to the same."""
    if not link.server.cluster:
        return next((family for family, other in others.items() if other.server.id == link.server.id), None)
    return await _hearing(link, others) if others else None


async def _hearing(link: Connection, others: Mapping[Family, Connection]) -> Family | None:
    """Return which of them hears what the link says; if it may say nothing, take the first for it."""
    heard: asyncio.Future[Family] = asyncio.get_running_loop().create_future()
    with _reported(link, heard, next(iter(others))), _listening(others, heard) as subjects:
        try:
            async with asyncio.timeout(HEARING_SECONDS):
                while not heard.done():
                    for subject in subjects:
                        link.publish(subject, perishable=True)
                    await asyncio.wait([heard], timeout=REPEAT_SECONDS)
        except TimeoutError:
            return None  # all had time to hear it
        return heard.result()


@contextmanager
def _listening(others: Mapping[Family, Connection], heard: asyncio.Future[Family]) -> Iterator[list[str]]:
    """Have each of them listen on a subject of its own."""
    subjects = {f"{PROBE}.{token_hex(_TOKEN_BYTES)}": family for family in others}
    subscriptions = [
        others[family].subscribe(subject, partial(_hear, heard, family)) for subject, family in subjects.items()
    ]
    try:
        yield list(subjects)
    finally:
        for subscription in subscriptions:
            subscription.unsubscribe()


@contextmanager
def _reported(link: Connection, heard: asyncio.Future[Family], otherwise: Family) -> Iterator[None]:
    """Have it settled when the server does not let the link say anything."""

    def listen(event: object) -> None:
        if isinstance(event, ServerReported) and _DENIED.search(event.text):
            _hear(heard, otherwise)

    remove = link.listen(listen)
    try:
        yield
    finally:
        remove()


def _hear(heard: asyncio.Future[Family], family: Family, *_: object) -> None:
    if not heard.done():
        heard.set_result(family)
