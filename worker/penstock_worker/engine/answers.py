"""The engine's answers to the server: acknowledgements, terminations, what goes back, and renewals of leases.

Answers to many messages are sent in slices, and the server is waited for before more waits to be sent than a connection
takes: 400,000 renewals are 40 MB. What was said first is sent first. Knows how answers are sent and confirmed. Does not
know what is answered, or why.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock_jetstream import Connection
from penstock_jetstream.core.acks import ACK, IN_PROGRESS, nak_payload, term_payload
from penstock_jetstream.core.wire import publish_same
from penstock_jetstream.errors import JetStreamError, LinkError

CONFIRM_SECONDS = 10.0
TERM = term_payload("dead letter")
"""The server publishes this text in an advisory, so it does not give the reason. The dead letter does."""
SLICE_MESSAGES = 10_000
"""Answers that are put together at once: a megabyte, in a few milliseconds."""
MOST_WAITING_BYTES = 8 << 20
"""When more waits to be sent, no answers are added before the server has seen it."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settlement:
    """The final answers of a batch."""

    acknowledged: Sequence[bytes]
    terminated: Sequence[bytes]


@dataclass(slots=True)
class Answers:
    """Of one consumer. They need no lane that is open: a message can be answered long after its lane was closed."""

    connection: Connection
    is_open: bool = True
    """Whether the link is there, and what is held is still meant by it. What is said meanwhile is dropped."""
    _waiting: deque[tuple[Sequence[bytes], bytes]] = field(default_factory=deque)
    _is_said: asyncio.Event = field(default_factory=asyncio.Event)
    _is_sent: asyncio.Event = field(default_factory=asyncio.Event)

    def ack(self, replies: Sequence[bytes]) -> None:
        self._say(replies, ACK)

    def nak(self, replies: Sequence[bytes], delay_seconds: float) -> None:
        self._say(replies, nak_payload(delay_seconds or None))

    def in_progress(self, replies: Sequence[bytes]) -> None:
        """Renew leases; former renewals that are not sent yet are worth nothing more."""
        self._waiting = deque(said for said in self._waiting if said[1] != IN_PROGRESS)
        self._say(replies, IN_PROGRESS)

    def _say(self, replies: Sequence[bytes], payload: bytes) -> None:
        if self.is_open and replies:
            self._waiting.append((replies, payload))
            self._is_sent.clear()
            self._is_said.set()

    async def run(self) -> None:
        """Send what is said, for as long as the process lives."""
        while True:
            while self._waiting:
                replies, payload = self._waiting.popleft()
                try:
                    await self._send(replies, payload)
                except JetStreamError as problem:
                    logger.warning("%d answers may not have been sent: %s", len(replies), problem)
            self._is_sent.set()
            self._is_said.clear()
            await self._is_said.wait()

    async def sent(self) -> None:
        """Return when all that was said has been sent."""
        if self._waiting or self._is_said.is_set():
            await self._is_sent.wait()

    async def _send(self, replies: Sequence[bytes], payload: bytes) -> None:
        for first in range(0, len(replies), SLICE_MESSAGES):
            if self.connection.pending_bytes > MOST_WAITING_BYTES:
                await self.connection.flush(CONFIRM_SECONDS)
            elif first:
                await asyncio.sleep(0)
            if self.is_open:
                self.connection.send(publish_same(replies[first : first + SLICE_MESSAGES], payload))

    async def settle(self, settlement: Settlement) -> None:
        """Give final answers, and return when the server has taken them; if that is not known, raise.

        The server takes answers of one link in their order: its word for the last one is good for all before it.
        """
        if not self.is_open:
            raise LinkError("There is no link to the server at the moment.")
        links = self.connection.links
        answers = ((settlement.terminated, TERM), (settlement.acknowledged, ACK))
        *before, (replies, payload) = [each for each in answers if each[0]]
        for others, their_payload in (*before, (replies[:-1], payload)):
            await self._send(others, their_payload)
        await self.connection.request(replies[-1].decode(), payload, timeout_seconds=CONFIRM_SECONDS)
        if self.connection.links != links:
            raise LinkError("The link was lost while a batch was settled.")
