"""Where messages come in: a lane while the machine wants any, and none while it does not.

Knows how a lane is held without giving anything back (what is on its way is taken all the same), how much one may have
on its way, that it asks for no more messages than are wanted, and what to do when it ends by itself. Does not know what
becomes of a message. Who has taken it holds it.

A server that is busy with a request when that is withdrawn delivers to nobody what it has chosen for it already, which
are hundreds of messages of a backlog, and then to somebody, at once or when their ack wait is over. So who is full for
a while only asks for no more: a backlog serves soon what is asked for, which is little. It is withdrawn once nothing is
left to deliver, so that messages that come later go to others.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock_jetstream import Block, Consumer, Lane
from penstock_jetstream.core.acks import parse_token
from penstock_jetstream.errors import (
    BadRequestError,
    ClosedError,
    ConsumerDeletedError,
    JetStreamError,
    MessageTooLargeError,
    PushBasedError,
)
from penstock_worker.engine.ground import Ground

OVERHEAD_BYTES = 512
"""Of a message on its way: subject, ack token, headers."""
FEWEST_SECONDS, MOST_SECONDS = 1.0, 10.0
"""How long a request for messages lasts."""
HEARTBEAT_SECONDS = 2.0
QUIET_SECONDS = 0.2
"""Without a message, when the last one was the last there was: the server is not about to deliver one."""
PAUSE_SECONDS = 1.0
"""Before another lane, when one has ended by an error."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Intake:
    """Pulls whenever it is both released (by the machine) and open (the link is there, and the consumer is ours)."""

    consumer: Consumer
    ground: Ground
    take: Callable[[Block], None]
    gone: Callable[[str], None]
    """Is called when the consumer is not there any more, or is not what it was."""
    max_payload_bytes: Callable[[], int]
    """What the server takes at most, which a new link may change."""
    _is_released: bool = False
    _wanted: int = 0
    """The room that the machine stated last."""
    _is_open: bool = True
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _lane: Lane | None = None
    _newest: bytes = b""
    """The reply subject of the last message."""
    _looking: asyncio.TimerHandle | None = None
    _largest_bytes: int = 0

    @property
    def is_asking(self) -> bool:
        """Tell whether a request for messages is open."""
        return self._lane is not None and self._lane.is_asking

    def release(self, messages: int) -> None:
        """Pull. There is room for this many messages in addition to those taken so far."""
        self._look_no_more()
        self._is_released, self._wanted = True, messages
        if self._lane is not None:
            self._lane.allow(messages)
        self._changed.set()

    def restart(self) -> None:
        """Pull by another lane."""
        if self._lane is not None:
            self._lane.stop()

    def rest(self) -> None:
        """Ask for no more for now, and leave to others what comes later."""
        self._is_released = False
        if self._lane is not None:
            self._lane.allow(0)
            if self._looking is None:
                self._look_whether_quiet()

    def hold(self) -> None:
        """Ask for no more, and have the server send no more."""
        self._look_no_more()
        self._is_released = False
        self._drain()

    def open(self) -> None:
        """The link is there, and what is pulled is of the stream that we know."""
        self._is_open = True
        self._changed.set()

    def shut(self) -> None:
        """Whose messages come is not known: have those that are on their way given back."""
        self._is_open = False
        if self._lane is not None:
            self._lane.stop()

    def _look_whether_quiet(self, newest: bytes | None = None) -> None:
        """Withdraw what is asked for, if nothing has come since, nor anything is left to come; else look again."""
        if self._newest == newest and not (newest and parse_token(newest).pending):
            self._drain()
        else:
            loop = asyncio.get_running_loop()
            self._looking = loop.call_later(QUIET_SECONDS, self._look_whether_quiet, self._newest)

    def _look_no_more(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def _drain(self) -> None:
        if self._lane is not None and not self._lane.is_over:
            self._lane.drain()

    async def run(self) -> None:
        """Pull for as long as the process lives."""
        while True:
            while not (self._is_released and self._is_open):
                self._changed.clear()
                await self._changed.wait()
            try:
                await self._one_lane()
            except ClosedError:
                return
            except (ConsumerDeletedError, PushBasedError, BadRequestError) as problem:
                self.gone(str(problem))
                return
            except MessageTooLargeError as problem:
                self._largest_bytes = max(self.max_payload_bytes(), 2 * self._lane_bytes())
                logger.warning("%s Up to %d bytes are asked for from now on.", problem, self._largest_bytes)
            except JetStreamError as problem:
                logger.warning("Pulling was interrupted, and goes on: %s", problem)
                await asyncio.sleep(PAUSE_SECONDS)

    async def _one_lane(self) -> None:
        lane = self._new_lane()
        lane.allow(self._wanted)
        async with lane:
            self._lane = lane
            try:
                async for block in lane:
                    self._newest = block.replies[-1]
                    self.take(block)
            finally:
                self._look_no_more()
                self._lane = None

    def _new_lane(self) -> Lane:
        config, batch = self.ground.consumer.config, self.ground.batch
        expires_seconds = MOST_SECONDS
        if (longest := config.get("max_expires", 0)) > 0:
            expires_seconds = min(MOST_SECONDS, max(FEWEST_SECONDS, longest / 10**9))
        heartbeat_seconds = min(HEARTBEAT_SECONDS, expires_seconds / 2)
        most = min(batch.max_messages, config.get("max_batch", 0) or batch.max_messages)
        if config.get("max_batch", 0) > 0 or most * self.max_payload_bytes() <= batch.max_bytes:
            return self.consumer.lane(
                max_messages=most, expires_seconds=expires_seconds, idle_heartbeat_seconds=heartbeat_seconds
            )
        return self.consumer.lane(
            max_bytes=self._lane_bytes(), expires_seconds=expires_seconds, idle_heartbeat_seconds=heartbeat_seconds
        )

    def _lane_bytes(self) -> int:
        """Return what may be on its way: about a batch, and at least one message, however large."""
        batch = self.ground.batch
        usual = batch.max_messages * (self.ground.usual_bytes + OVERHEAD_BYTES)
        largest = self.max_payload_bytes() + OVERHEAD_BYTES * 2
        return max(min(batch.max_bytes, usual), largest, self._largest_bytes)
