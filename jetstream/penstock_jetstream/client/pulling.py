"""What fetch and consume have in common: a machine of the core at work on a connection.

Knows how each action of a machine is carried out, and which event follows from what the connection tells: it owns
inbox, timer and pulls. Does not know when to pull (core), or what becomes of the messages (fetching.py, consuming.py).
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ParamSpec

from penstock_jetstream.client.message import Message, PinnedMessage
from penstock_jetstream.client.waiting import Timer
from penstock_jetstream.core import wire
from penstock_jetstream.core.acks import NAK
from penstock_jetstream.core.actions import (
    Action,
    End,
    Pinned,
    Pull,
    Report,
    Resubscribe,
    Unpinned,
    Unsubscribe,
    UnsubscribeAfter,
    Verify,
    WakeAt,
)
from penstock_jetstream.core.consume import Consume
from penstock_jetstream.core.fetch import Fetch
from penstock_jetstream.core.headers import Headers, HeadersLike
from penstock_jetstream.core.pulls import reply_to, request_number
from penstock_jetstream.core.session import denied_publish, denied_subscription
from penstock_jetstream.core.sizes import pin_id
from penstock_jetstream.core.statuses import read_status
from penstock_jetstream.errors import (
    AuthenticationError,
    ClosedError,
    JetStreamError,
    LinkError,
    ProtocolError,
    RequestTimeoutError,
)
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.events import Closed, Connected, Disconnected, LinkEvent, ServerReported
from penstock_jetstream.transport.events import report as report_failure
from penstock_jetstream.transport.subscriptions import Subscription

logger = logging.getLogger("penstock_jetstream")

ReportHandler = Callable[[JetStreamError], None]

PARTING_SECONDS = 2.0
"""How long to wait for what was on its way when a subscription was left."""


@dataclass(frozen=True, slots=True)
class Source:
    """The consumer that is pulled from, and what all who pull from it through one handle share."""

    connection: Connection
    stream: str
    consumer: str
    subject: str
    """Where pulls go."""
    headers: HeadersLike | None = None
    """What each pull is sent with."""
    is_acknowledged: bool = True
    """False where the ack policy is none: then no answer is ever sent."""
    pin_ids: dict[str, str] = field(default_factory=dict)
    """Which id the next pull carries, for each priority group."""
    tasks: set["asyncio.Task[None]"] = field(default_factory=set)
    """What still goes on after its caller has left; each ends within seconds."""

    def give_back(self, messages: Iterable[Message]) -> None:
        """Have messages that no one will work on here delivered to someone else at once, by one write."""
        replies = [message.raw_reply for message in messages if not message.is_settled]
        if replies and self.is_acknowledged:
            with suppress(LinkError):  # then they are delivered again when their ack wait is over
                self.connection.send(wire.publish_same(replies, NAK))


P = ParamSpec("P")


def guarded(callback: Callable[P, object]) -> Callable[P, None]:
    """Return a user's function as one that does not raise: what it raises must not keep us from our own work."""

    def call(*arguments: P.args, **named: P.kwargs) -> None:
        try:
            callback(*arguments, **named)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is the user's
            report_failure(f"{getattr(callback, '__name__', 'A callback')} failed.", problem)

    return call


def log_report(error: JetStreamError) -> None:
    """What becomes of reports that no one asked for."""
    logger.warning("%s", error)


class Pulling(ABC):
    """One machine at work. What comes is collected, and booked once per turn of the loop: one message or thousands."""

    _subscription: Subscription | None

    def __init__(self, source: Source, machine: Consume | Fetch, *, counts_bytes: bool, report: ReportHandler) -> None:
        self.source = source
        self._machine = machine
        self._counts_bytes = counts_bytes
        self._report = guarded(report)
        self._connection = source.connection
        self._loop = asyncio.get_running_loop()
        self._inbox = self._connection.new_inbox()
        self._answers = f"{self._inbox}.*"
        self._subscription = None
        self._former: set[Subscription] = set()
        """Those on inboxes that were given up, where something may still come."""
        self._stop_listening: Callable[[], None] | None = None
        self._timer = Timer(self._tick)
        self._arrivals: list[Message] = []
        self._arrived_bytes = 0

    # For those who inherit

    @abstractmethod
    def _take(self, messages: list[Message], now: float) -> None:
        """These have come."""

    @abstractmethod
    def _ended(self, error: JetStreamError | None) -> None:
        """Nothing more will be asked for."""

    @abstractmethod
    def _begin(self, work: Unsubscribe | Verify) -> None:
        """Begin what takes a while."""

    def _open(self) -> None:
        self._subscription = self._subscribe(self._answers)
        self._stop_listening = self._connection.listen(self._hear)
        self._carry_out(self._machine.start(self._loop.time(), connected=self._connection.is_connected))

    def _subscribe(self, subject: str) -> Subscription:
        return self._connection.subscribe(subject, self._receive)

    def _leave(self) -> None:
        """Let go of all that was taken. What the server has sent meanwhile is not waited for: see `_silence`."""
        if self._stop_listening is not None:
            self._stop_listening()
        self._timer.cancel()
        for subscription in self._subscriptions():
            self._leave_one(subscription)
        self._subscription = None

    def _leave_one(self, subscription: Subscription) -> None:
        self._former.discard(subscription)
        with suppress(LinkError):
            subscription.unsubscribe()

    def _subscriptions(self) -> list[Subscription]:
        return [*self._former, *([] if self._subscription is None else [self._subscription])]

    def _quieten(self) -> None:
        """Have the server send no more; what it has sent is still taken."""
        if self._connection.is_connected:
            with suppress(LinkError):
                self._connection.send(b"".join(wire.unsubscribe(one.sid) for one in self._subscriptions()))

    def _resubscribe(self, former_seconds: float) -> None:
        """Take a fresh inbox, and take what comes on the former one for late; it is left after so many seconds."""
        self._book()
        former, self._inbox = self._subscription, self._connection.new_inbox()
        self._answers = f"{self._inbox}.*"
        self._subscription = self._subscribe(self._answers)
        if former is None:
            return
        self._take_for_late(former)
        if former_seconds > 0:
            self._former.add(former)
            self._loop.call_later(former_seconds, self._leave_one, former)
        else:
            self._leave_one(former)

    def _take_for_late(self, former: Subscription) -> None:
        former.handler = self._receive_late

    async def _silence(self) -> None:
        """Return when all is here that the server had sent before it was quietened."""
        if self._connection.is_connected:
            with suppress(LinkError, RequestTimeoutError):
                await self._connection.flush(PARTING_SECONDS)
        self._book()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self.source.tasks.add(task)
        task.add_done_callback(self.source.tasks.discard)

    # What comes from the connection

    def _receive(self, subject: bytes, reply: bytes, header: bytes, payload: bytes) -> None:
        if not reply:
            self._take_status(subject, header)
            return
        message = self._message(subject, reply, header, payload)
        if isinstance(message, PinnedMessage):
            self._carry_out(self._machine.pinned(pin_id(header), self._loop.time()))
        if not self._arrivals:
            self._loop.call_soon(self._book)
        self._arrivals.append(message)
        if self._counts_bytes:
            self._arrived_bytes += message.size_bytes

    def _message(self, subject: bytes, reply: bytes, header: bytes, payload: bytes) -> Message:
        kind = PinnedMessage if header and self._machine.takes_pins and pin_id(header) else Message
        return kind(self._connection, subject, reply, header, payload, not self.source.is_acknowledged)

    def _receive_late(self, subject: bytes, reply: bytes, header: bytes, payload: bytes) -> None:
        """Take what comes of a request that had been given up."""
        if not reply:
            self._take_status(subject, header)
        elif isinstance(self._machine, Consume):
            message, now = self._message(subject, reply, header, payload), self._loop.time()
            self._take([message], now)
            size_bytes = message.size_bytes if self._counts_bytes else 0
            self._carry_out(self._machine.arrived_late(1, size_bytes, now))

    def _book(self) -> None:
        """Tell the machine of all that came since it was last told."""
        if self._arrivals:
            messages, size_bytes, now = self._arrivals, self._arrived_bytes, self._loop.time()
            self._arrivals, self._arrived_bytes = [], 0
            self._take(messages, now)
            self._carry_out(self._machine.arrived(len(messages), size_bytes, now))

    def _take_status(self, subject: bytes, header: bytes) -> None:
        self._book()
        try:
            headers = Headers.parse(header)
        except ProtocolError as problem:
            self._report(problem)
            return
        if headers.status is None:
            self._report(ProtocolError(f"What came on {subject!r} is neither a message of a stream nor a status."))
            return
        status = read_status(headers.status, headers.description, headers, request=request_number(subject))
        self._carry_out(self._machine.status(status, self._loop.time()))

    def _hear(self, event: LinkEvent) -> None:
        match event:
            case Connected():
                # A connection may move to another server without ever being without a link.
                self._carry_out(self._machine.disconnected(self._loop.time()))
                self._carry_out(self._machine.reconnected(self._loop.time()))
            case Disconnected(ClosedError()):
                self._book()  # Closed follows, which ends it: there is nothing to subscribe on
            case Disconnected():
                self._book()
                self._carry_out(self._machine.disconnected(self._loop.time()))
            case ServerReported(text):
                if denied_publish(text) == self.source.subject or denied_subscription(text) == self._answers:
                    self._abandon(self._denied(text))
            case Closed():
                self._abandon(self._unconnected())
            case _:
                pass

    def _abandon(self, error: JetStreamError) -> None:
        self._machine.stop(self._loop.time())
        self._end(error)

    def _denied(self, text: str) -> AuthenticationError:
        return AuthenticationError(
            f"The server does not let this user pull from {self._place}: {text}.",
            advice=f"Allow it to publish to {self.source.subject}, and to subscribe below the inbox prefix.",
        )

    def _unconnected(self) -> ClosedError:
        return ClosedError(
            f"The connection was closed while {self._place} was read.",
            advice="Stop consuming first, or leave its `async with` before that of the connection.",
        )

    @property
    def _place(self) -> str:
        return f"consumer {self.source.consumer} of stream {self.source.stream}"

    # What the machine wants

    def _carry_out(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Pull(number, body):
                    self._pull(number, body)
                case WakeAt(time):
                    self._timer.set(time)
                case Report(error):
                    self._report(error)
                case Resubscribe(former_seconds):
                    self._resubscribe(former_seconds)
                case UnsubscribeAfter(messages):
                    self._unsubscribe_after(messages)
                case Unsubscribe() | Verify():
                    self._begin(action)
                case Pinned() | Unpinned():
                    self._repin(action)
                case End(error):
                    self._end(error)

    def _pull(self, number: int, body: bytes) -> None:
        with suppress(LinkError):  # it ended just now: the machine hears of it, and asks anew
            self._connection.publish(
                self.source.subject,
                body,
                reply=reply_to(self._inbox, number),
                headers=self.source.headers,
                perishable=True,
            )

    def _tick(self) -> None:
        self._book()
        self._carry_out(self._machine.tick(self._loop.time()))

    def _repin(self, action: Pinned | Unpinned) -> None:
        self.source.pin_ids[self._machine.options.group] = action.pin_id if isinstance(action, Pinned) else ""

    def _unsubscribe_after(self, messages: int) -> None:
        if self._subscription is not None:
            with suppress(LinkError):
                self._subscription.unsubscribe(messages)

    def _end(self, error: JetStreamError | None) -> None:
        self._leave()
        self._ended(error)
