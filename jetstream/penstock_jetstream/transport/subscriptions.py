"""Subscriptions: who hears what, over all links.

Knows which subscription has which id, how much of a limited one is left, and who wants reading to pause. Does not know
sockets: frames go out through a function.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Protocol

from typing_extensions import override

from penstock_jetstream.core import wire
from penstock_jetstream.core.subjects import encode_pattern, encode_queue
from penstock_jetstream.errors import UsageError
from penstock_jetstream.transport.events import report

Handler = Callable[[bytes, bytes, bytes, bytes], None]
"""Is called in the event loop with subject, reply (or empty), header block (or empty) and payload; must not block."""
BlockHandler = Callable[[wire.Block], None]
"""Is called in the event loop with messages that came next to each other; must not block."""


class Hold(Protocol):
    """How reading is stopped, and goes on."""

    def __call__(self, *, hold: bool) -> None: ...


class Subscription:
    """Ours on a subject. It outlives links, and ends when it is unsubscribed or has had as much as it may have."""

    __slots__ = ("_base", "_table", "block_handler", "delivered", "handler", "max_messages", "queue", "sid", "subject")

    def __init__(self, table: "Subscriptions", sid: bytes, subject: str, handler: Handler, *, queue: str = "") -> None:
        self.sid = sid
        self.subject = subject
        self.queue = queue
        self.handler = handler
        self.block_handler: BlockHandler | None = None
        self.delivered = 0
        """How many messages it has had."""
        self.max_messages = 0
        self._base = 0
        self._table = table

    @override
    def __repr__(self) -> str:
        return f"Subscription({self.subject!r})"

    @property
    def is_active(self) -> bool:
        return self._table.has(self)

    def unsubscribe(self, max_messages: int = 0) -> None:
        """End it: now, or once it has had so many messages since it began."""
        if not self.is_active:
            return
        if max_messages > self.delivered:
            self.max_messages = max_messages
            self._table.tell(self.limit())
        else:
            self._table.forget(self)
            self._table.tell(wire.unsubscribe(self.sid))

    def pause(self) -> None:
        """Have the whole connection stop reading, so that nothing has to be dropped: the server keeps the rest.

        Not for long: a server that cannot get rid of what it has to send closes the connection after some seconds.
        """
        if self.is_active:
            self._table.pause(self)

    def resume(self) -> None:
        """Have it read again, once no other subscription wants it to pause."""
        self._table.resume(self)

    def limit(self) -> bytes:
        """Return the frame that tells the server of the maximum; the server counts from when it heard of us."""
        return wire.unsubscribe(self.sid, self.max_messages - self._base)

    def frames(self) -> bytes:
        """Return what a server has to be told that does not know of it."""
        self._base = self.delivered
        frames = wire.subscribe(self.subject, self.sid, self.queue)
        return frames + self.limit() if self.max_messages else frames


class Subscriptions:
    """All of a connection, by id."""

    def __init__(self, tell: Callable[[bytes], None], hold_reading: Hold) -> None:
        self.tell = tell
        self.block_sids: set[bytes] = set()
        self._by_sid: dict[bytes, Subscription] = {}
        self._paused: set[bytes] = set()
        self._hold_reading = hold_reading
        self._numbers = count(1)

    def __iter__(self) -> Iterator[Subscription]:
        return iter(self._by_sid.values())

    @property
    def is_paused(self) -> bool:
        return bool(self._paused)

    def has(self, subscription: Subscription) -> bool:
        return subscription.sid in self._by_sid

    def add(self, subject: str, handler: Handler, *, queue: str = "", max_messages: int = 0) -> Subscription:
        if max_messages < 0:
            raise UsageError(
                f"{max_messages} cannot be a subscription's maximum.", advice="Give 0 for no maximum, or more."
            )
        subscription = self._new(subject, handler, queue)
        subscription.max_messages = max_messages
        return self._begun(subscription)

    def add_blocks(self, subject: str, handler: BlockHandler, statuses: Handler) -> Subscription:
        subscription = self._new(subject, statuses)
        subscription.block_handler = handler
        self.block_sids.add(subscription.sid)
        return self._begun(subscription)

    def _new(self, subject: str, handler: Handler, queue: str = "") -> Subscription:
        encode_pattern(subject)
        if queue:
            encode_queue(queue)
        return Subscription(self, b"%d" % next(self._numbers), subject, handler, queue=queue)

    def _begun(self, subscription: Subscription) -> Subscription:
        self._by_sid[subscription.sid] = subscription
        self.tell(subscription.frames())
        return subscription

    def forget(self, subscription: Subscription) -> None:
        self._by_sid.pop(subscription.sid, None)
        self.block_sids.discard(subscription.sid)
        self.resume(subscription)

    def pause(self, subscription: Subscription) -> None:
        self._paused.add(subscription.sid)
        self._hold_reading(hold=True)

    def resume(self, subscription: Subscription) -> None:
        if subscription.sid in self._paused:
            self._paused.discard(subscription.sid)
            self._hold_reading(hold=self.is_paused)

    def replay(self) -> bytes:
        """Return what a new server has to be told."""
        return b"".join(subscription.frames() for subscription in self)

    def farewell(self) -> bytes:
        """Return what makes a server send nothing more, while the subscriptions go on elsewhere."""
        return b"".join(wire.unsubscribe(subscription.sid) for subscription in self)

    def deliver(self, events: list[wire.Event], control: Callable[[wire.Event], None]) -> None:
        """Hand each message to its subscription's handler; what is none goes to `control`."""
        by_sid = self._by_sid
        for event in events:
            if type(event) is tuple:
                subscription = by_sid.get(event[0])
                if subscription is None:
                    continue  # it was on its way when we unsubscribed
                subscription.delivered += 1
                if subscription.delivered == subscription.max_messages:
                    self.forget(subscription)
                try:
                    subscription.handler(event[1], event[2], event[3], event[4])
                except Exception as problem:  # noqa: BLE001 - whatever it is, it is the caller's
                    report(f"The handler of {subscription.subject} failed.", problem)
            elif type(event) is wire.Block:
                self._deliver_block(event)
            else:
                control(event)

    def _deliver_block(self, block: wire.Block) -> None:
        subscription = self._by_sid.get(block.sid)
        if subscription is None or subscription.block_handler is None:
            return
        subscription.delivered += len(block)
        try:
            subscription.block_handler(block)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is the caller's
            report(f"The block handler of {subscription.subject} failed.", problem)
