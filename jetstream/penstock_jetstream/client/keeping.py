"""Looks after the ack waits of messages that wait in a buffer.

Knows the event loop's clock, and how ack waits are renewed: with one write. Does not know which (core/ack_waits.py).
"""

import asyncio
from collections import deque
from contextlib import suppress
from itertools import islice

from penstock_jetstream.client.message import Message
from penstock_jetstream.core import wire
from penstock_jetstream.core.ack_waits import AckWaits
from penstock_jetstream.core.acks import IN_PROGRESS
from penstock_jetstream.errors import LinkError
from penstock_jetstream.transport.connection import Connection


class Keeper:
    """Renews what waits in this buffer, and drops what has run out."""

    def __init__(
        self, buffer: deque[Message], connection: Connection, ack_wait_seconds: float, *, keep_alive: bool
    ) -> None:
        self._buffer = buffer
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._waits = AckWaits(ack_wait_seconds, keep_alive=keep_alive, now=self._loop.time())
        self.arrived = self._waits.arrived
        self.taken = self._waits.taken
        self._timer: asyncio.TimerHandle | None = None
        self._set_timer()

    def take_expired(self) -> list[Message]:
        """Take what has run out off the front of the buffer; called whenever a user wants a message."""
        count = self._waits.asked(self._loop.time())
        return [self._buffer.popleft() for _ in range(count)]

    def discarded(self) -> None:
        self._waits.discarded()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _set_timer(self) -> None:
        if self._waits.wake_at is not None:
            self._timer = self._loop.call_at(self._waits.wake_at, self._renew)

    def _renew(self) -> None:
        count = self._waits.renew(self._loop.time()) if self._connection.is_connected else 0
        if count:
            replies = [message.raw_reply for message in islice(self._buffer, len(self._buffer) - count, None)]
            with suppress(LinkError):
                self._connection.send(wire.publish_same(replies, IN_PROGRESS))
        self._set_timer()
