"""Publishing many messages, with several on their way at once.

Knows how many may be on their way, and what happens to them when the link is lost or no stream answers. Does not know
headers and answers (core), or a single publish (publishing.py), whose rules are the same.
"""

import asyncio
from dataclasses import dataclass
from itertools import count
from types import TracebackType
from typing import Self, Unpack

from penstock_jetstream.client.publishing import may_be_sent_twice, nobody_stores, silence, unknown_fate
from penstock_jetstream.core.headers import HeadersLike
from penstock_jetstream.core.publishing import Draft, PubAck, PublishOptions, Retry, headers_of
from penstock_jetstream.errors import ClosedError, JetStreamError, LinkError, UsageError
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.events import Closed, Connected, Disconnected, LinkEvent

_NO_RESPONDERS = b"NATS/1.0 503"
_UNKNOWN = "Whether it was stored is not known."


@dataclass(slots=True)
class _Flight:
    """A message that no stream has confirmed yet."""

    draft: Draft
    headers: HeadersLike | None
    reply: str
    deadline: float
    ack: "asyncio.Future[PubAck]"
    attempts: int = 0
    is_sent: bool = False
    """Over the present link; without one, or between two attempts, it waits here."""


class Publisher:
    """Messages go out in the order in which they are submitted; the acks come as futures.

    Leaving its context waits until each message is confirmed or has failed. A failure is in its future.
    """

    def __init__(self, connection: Connection, *, max_in_flight: int, retry: Retry, timeout_seconds: float) -> None:
        if max_in_flight < 1:
            raise UsageError(f"{max_in_flight} messages may be on their way.", advice="Give at least 1.")
        self._connection = connection
        self._max_in_flight = max_in_flight
        self._retry = retry
        self._timeout_seconds = timeout_seconds
        self._inbox = connection.new_inbox()
        self._tokens = count(1)
        self._flights: dict[bytes, _Flight] = {}
        """By reply subject; in the order of their deadlines, as they all have the same time."""
        self._landed = asyncio.Event()
        self._is_open = False
        self._watch: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._subscription = self._connection.subscribe(f"{self._inbox}.*", self._answered)
        self._stop_listening = self._connection.listen(self._link_changed)
        self._is_open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                await self.drain()
        finally:
            self._is_open = False
            self._stop_listening()
            self._subscription.unsubscribe()
            if self._watch is not None:
                self._watch.cancel()
            self._fail_all("The publisher was left before a message on {} was confirmed.")

    async def submit(
        self, subject: str, data: bytes = b"", **options: Unpack[PublishOptions]
    ) -> "asyncio.Future[PubAck]":
        """Send a message as soon as fewer than max_in_flight are on their way; return where its PubAck will be."""
        if not self._is_open:
            raise UsageError("The publisher is not open.", advice="Submit inside of its `async with`.")
        headers = headers_of(options)
        while len(self._flights) >= self._max_in_flight:
            self._landed.clear()
            await self._landed.wait()
        reply = f"{self._inbox}.{next(self._tokens)}"
        deadline = self._loop.time() + self._timeout_seconds
        flight = _Flight(Draft(subject, data, options), headers, reply, deadline, self._loop.create_future())
        self._send(flight)
        self._flights[reply.encode()] = flight
        if self._watch is None:
            self._watch = self._loop.call_at(deadline, self._check_deadlines)
        return flight.ack

    async def drain(self) -> None:
        """Wait until each message is confirmed or has failed."""
        while self._flights:
            self._landed.clear()
            await self._landed.wait()

    def _send(self, flight: _Flight) -> None:
        if self._connection.is_connected:
            self._connection.publish(
                flight.draft.subject, flight.draft.data, reply=flight.reply, headers=flight.headers, perishable=True
            )
            flight.is_sent = True
            flight.attempts += 1

    def _answered(self, reply: bytes, _: bytes, header: bytes, payload: bytes) -> None:
        flight = self._flights.get(reply)
        if flight is None:
            return
        if header.startswith(_NO_RESPONDERS) and not payload:
            self._nobody_answered(reply, flight)
            return
        try:
            ack = PubAck.read(payload, flight.draft.subject)
        except JetStreamError as problem:
            self._fail(reply, problem)
        else:
            if waiting := self._land(reply):
                waiting.set_result(ack)

    def _nobody_answered(self, reply: bytes, flight: _Flight) -> None:
        again = self._retry.next_attempt(flight.attempts, self._loop.time(), flight.deadline)
        if again is None:
            self._fail(reply, nobody_stores(flight.draft.subject, flight.attempts))
        else:
            flight.is_sent = False
            self._loop.call_at(again, self._send_again, reply)

    def _send_again(self, reply: bytes) -> None:
        flight = self._flights.get(reply)
        if flight is not None and not flight.is_sent:
            try:
                self._send(flight)
            except JetStreamError as problem:
                self._fail(reply, problem)

    def _link_changed(self, event: LinkEvent) -> None:
        match event:
            case Connected():
                for reply in tuple(self._flights):
                    self._send_again(reply)
            case Disconnected(ClosedError()) | Closed():
                self._fail_all("The connection was closed before a message on {} was confirmed.")
            case Disconnected(reason):
                self._link_lost(LinkError(reason.sentence))
            case _:
                pass

    def _link_lost(self, reason: LinkError) -> None:
        for reply, flight in tuple(self._flights.items()):
            if may_be_sent_twice(flight.draft.options):
                flight.is_sent = False
            elif flight.is_sent:
                self._fail(reply, unknown_fate(flight.draft.subject, reason))

    def _check_deadlines(self) -> None:
        now = self._loop.time()
        self._watch = None
        for reply, flight in tuple(self._flights.items()):
            if flight.deadline > now:
                self._watch = self._loop.call_at(flight.deadline, self._check_deadlines)
                return
            self._fail(reply, silence(flight.draft.subject, self._timeout_seconds, is_sent=flight.attempts > 0))

    def _fail_all(self, sentence: str) -> None:
        for reply, flight in tuple(self._flights.items()):
            self._fail(reply, ClosedError(sentence.format(flight.draft.subject), advice=_UNKNOWN))

    def _fail(self, reply: bytes, problem: JetStreamError) -> None:
        if waiting := self._land(reply):
            waiting.set_exception(problem)

    def _land(self, reply: bytes) -> "asyncio.Future[PubAck] | None":
        """Take a message off the list, and let another one go. Return who waits for it, if anybody still does."""
        ack = self._flights.pop(reply).ack
        self._landed.set()
        return None if ack.cancelled() else ack
