"""Reading many streams and consumers at once: by lists where that takes fewer requests, one by one where not.

Knows what a page of a list holds. A list that is read page by page may skip what is on it while others delete: so what
was not found on one is asked for before it is said to be missing. Does not know what is read, or what for.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

from penstock_jetstream import JetStream
from penstock_jetstream.errors import AuthenticationError, IncompleteListError, JetStreamError
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Missing, Observed, Place, Present, Unknown
from penstock_operator.services.links import Wanted
from penstock_operator.services.nats.account import Account
from penstock_operator.services.nats.failures import unseen
from penstock_operator.services.nats.presence import consumer_present, stream_present

PAGE_ENTRIES = 256
"""As many streams or consumers a server puts on a page."""
OPEN_REQUESTS = 16
"""So many are asked at once: enough to hide the way there and back, too few to keep others waiting."""
ENTRIES_WORTH_A_REQUEST = 16
"""What nobody wanted costs, too: so many entries of a list as one request."""

Told = tuple[Place, Observed]
T = TypeVar("T")


async def read_all(jetstream: JetStream, account: Account, wanted: Wanted) -> AsyncIterator[Told]:
    """Tell of each stream and consumer that is wanted, once."""
    reading = _Reading(jetstream, account)
    work = []
    async for place, observed in reading.streams(wanted):
        yield place, observed
        if wanted[place.stream]:
            work.append(partial(reading.consumers, place.stream, wanted[place.stream], observed))
    async for found in _side_by_side(work):
        for told in found:
            yield told


def list_is_cheaper(wanted: int, there: int) -> bool:
    """Tell whether to read a list of so many entries, or to ask for each that is wanted."""
    pages = -(-there // PAGE_ENTRIES)
    return wanted > pages + there // ENTRIES_WORTH_A_REQUEST


class _Reading:
    def __init__(self, jetstream: JetStream, account: Account) -> None:
        self._jetstream = jetstream
        self._account = account.identity
        self._alone = account.alone
        self._silence: Unknown | None = None
        """What is said of all that is left, once nobody answers any more."""

    async def streams(self, wanted: Iterable[str]) -> AsyncIterator[Told]:
        left = dict.fromkeys(wanted)
        if list_is_cheaper(len(left), await self._streams_there()):
            async for place, observed in self._listed_streams():
                if place.stream in left:
                    del left[place.stream]
                    yield place, observed
        async for told in _side_by_side([partial(self._stream, name) for name in left]):
            yield told

    async def consumers(self, stream: str, wanted: Iterable[str], there: Observed) -> Sequence[Told]:
        left, found = dict.fromkeys(wanted), []
        if not isinstance(there, Present):
            unknown = there if isinstance(there, Unknown) else _no_stream(stream)
            return [(Place(self._account, stream, name), unknown) for name in left]
        if list_is_cheaper(len(left), there.facts["consumers"]):
            async for place, observed in self._listed_consumers(stream):
                if place.consumer in left:
                    del left[place.consumer]
                    found.append((place, observed))
        return found + [await self._consumer(stream, name) for name in left]

    async def _streams_there(self) -> int:
        try:
            return (await self._jetstream.account()).streams
        except JetStreamError as problem:
            self._note(problem)
            return 0

    async def _listed_streams(self) -> AsyncIterator[Told]:
        try:
            async for info in self._jetstream.streams.list():
                yield Place(self._account, info.name), stream_present(info, self._alone)
        except IncompleteListError as problem:
            for name in problem.unavailable:
                yield Place(self._account, name), Unknown(Reason.UNREACHABLE, str(problem))
        except JetStreamError as problem:
            self._note(problem)

    async def _listed_consumers(self, stream: str) -> AsyncIterator[Told]:
        try:
            async for info in self._jetstream.consumers.list(stream):
                yield Place(self._account, stream, info.name), consumer_present(info, self._alone)
        except IncompleteListError as problem:
            for name in problem.unavailable:
                yield Place(self._account, stream, name), Unknown(Reason.UNREACHABLE, str(problem))
        except JetStreamError as problem:
            self._note(problem)

    async def _stream(self, name: str) -> Told:
        place = Place(self._account, name)
        if self._silence:
            return place, self._silence
        try:
            return place, stream_present(await self._jetstream.streams.info(name), self._alone)
        except JetStreamError as problem:
            return place, self._unseen(problem, consumer=False)

    async def _consumer(self, stream: str, name: str) -> Told:
        place = Place(self._account, stream, name)
        if self._silence:
            return place, self._silence
        try:
            return place, consumer_present(await self._jetstream.consumers.info(stream, name), self._alone)
        except JetStreamError as problem:
            return place, self._unseen(problem, consumer=True)

    def _unseen(self, problem: JetStreamError, *, consumer: bool) -> Missing | Unknown:
        if not self._jetstream.connection.is_connected:
            self._note(problem)
        return unseen(problem, consumer=consumer)

    def _note(self, problem: JetStreamError) -> None:
        """Take it that who gave no answer gives none to the rest either, unless only this question is not allowed."""
        if not isinstance(problem, AuthenticationError):
            self._silence = self._silence or _unknown(problem)


def _unknown(problem: JetStreamError) -> Unknown:
    told = unseen(problem, consumer=False)
    return told if isinstance(told, Unknown) else Unknown(Reason.UNREACHABLE, str(problem))


def _no_stream(stream: str) -> Unknown:
    return Unknown(Reason.STREAM_NOT_FOUND, f"Stream {stream} does not exist.")


async def _side_by_side(work: Iterable[Callable[[], Awaitable[T]]]) -> AsyncIterator[T]:
    """Do it, some at a time, and give what comes out as it comes."""
    waiting, running = iter(work), set[asyncio.Future[T]]()
    try:
        while True:
            running |= {asyncio.ensure_future(each()) for each in islice(waiting, OPEN_REQUESTS - len(running))}
            if not running:
                return
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                yield each.result()
    finally:
        for each in running:
            each.cancel()
