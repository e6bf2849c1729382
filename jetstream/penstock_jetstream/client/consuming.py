"""Consume: messages of a consumer as they come, for as long as the user wants them.

Knows how messages are handed out, and when one counts as processed. Does not know how a consumption lives
(consumption.py), when to pull, or what ends it (core/consume.py).
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from inspect import isawaitable
from types import TracebackType
from typing import Self

from typing_extensions import override

from penstock_jetstream.client.consumption import Consumption, Exists
from penstock_jetstream.client.keeping import Keeper
from penstock_jetstream.client.message import Message
from penstock_jetstream.client.pulling import ReportHandler, Source, guarded, log_report
from penstock_jetstream.core.actions import Pinned, Unpinned
from penstock_jetstream.core.options import ConsumeOptions
from penstock_jetstream.errors import AckWaitOverError, UsageError

MessageHandler = Callable[[Message], object]
"""Is called with each message; what it returns is awaited if that is possible."""

LARGEST_BUNCH = 64
"""So many processed messages are accounted for together, at most …"""
BUNCHES_PER_BUFFER = 16
"""… and at least so often while a whole buffer is worked through, so that a pull leaves when it is due."""


@dataclass(frozen=True, kw_only=True)
class Extras:
    """What a consumption does besides handing out messages."""

    on_message: MessageHandler | None = None
    on_report: ReportHandler = log_report
    on_pinned: Callable[[str], None] | None = None
    on_unpinned: Callable[[], None] | None = None
    ack_wait_seconds: float | None = None
    keep_alive: bool = True


class Consuming(Consumption):
    """A consumption by messages: `async for` hands them out.

    Several tasks may iterate at once: each message goes to one of them. A message counts as processed when its task
    asks for the next one. With `on_message` the messages go there instead, one after another.
    """

    def __init__(self, source: Source, options: ConsumeOptions, extras: Extras, exists: Exists) -> None:
        super().__init__(source, options, extras.on_report, exists)
        self._extras = extras
        self._buffer: deque[Message] = deque()
        self._keeper: Keeper | None = None
        self._serving: asyncio.Task[None] | None = None
        self._bunch = max(1, min(LARGEST_BUNCH, options.maximum // BUNCHES_PER_BUFFER))
        self._bunch_bytes = options.maximum // BUNCHES_PER_BUFFER if options.by_bytes else None
        self._done_messages = 0
        self._done_bytes = 0

    # What users call

    @override
    async def __aenter__(self) -> Self:
        extras = self._extras
        if extras.ack_wait_seconds is not None and self.source.is_acknowledged and self._keeper is None:
            self._keeper = Keeper(self._buffer, self._connection, extras.ack_wait_seconds, keep_alive=extras.keep_alive)
        await super().__aenter__()
        if extras.on_message is not None:
            self._serving = self._loop.create_task(self._serve(extras.on_message))
        return self

    @override
    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._serving is not None and problem is not None:
            self._serving.cancel()
        try:
            await self._finished()
        except asyncio.CancelledError:
            if self._serving is not None:
                self._serving.cancel()
            raise
        if self._serving is not None and problem is None:
            self._serving.result()

    def __aiter__(self) -> AsyncIterator[Message]:
        if self._extras.on_message is not None:
            raise UsageError("These messages go to on_message.", advice="Use either on_message or `async for`.")
        self._check_begun()
        return Iteration(self)

    @override
    async def closed(self) -> None:
        """Wait until nothing more will come and, with on_message, that has returned. Raise what ended it, if anything.

        What ends it is stop() or drain(), an error, or an exception of on_message.
        """
        if self._serving is None:
            await super().closed()
        elif self._serving is asyncio.current_task():
            raise UsageError("on_message cannot wait for its own end.", advice="Call drain() or stop(), and return.")
        else:
            await asyncio.wait([self._serving])
            self._serving.result()

    # What Iteration calls

    @property
    def buffer(self) -> deque[Message]:
        return self._buffer

    def done_with(self, message: Message) -> bool:
        """The user is done with a message. Return whether it is time to give the event loop a turn."""
        self._done_messages += 1
        is_time = self._done_messages >= self._bunch
        if self._bunch_bytes is not None:
            self._done_bytes += message.size_bytes
            is_time = is_time or self._done_bytes >= self._bunch_bytes
        if is_time:
            self._account()
        return is_time

    def left(self, message: Message) -> None:
        """A loop was left with this message in hand: nobody will say any more that it is done with it."""
        if not self._waiting.is_over and not self._loop.is_closed():
            self.done_with(message)
            self._account()

    def next_message(self) -> Message:
        """Return the next of those in the buffer, which is not empty."""
        if self._keeper is not None:
            self._keeper.taken()
        return self._buffer.popleft()

    def drop_expired(self) -> None:
        """Drop what has waited for longer than its ack wait: the server has it delivered elsewhere."""
        expired = self._keeper.take_expired() if self._keeper is not None else ()
        if expired:
            for message in expired:
                self.done_with(message)
            self._report(AckWaitOverError(len(expired), stream=self.source.stream, consumer=self.source.consumer))

    # What Pulling and Consumption call

    @override
    def _take(self, messages: list[Message], now: float) -> None:
        self._buffer.extend(messages)
        if self._is_discarding:
            self._discard()
            return
        if self._keeper is not None:
            self._keeper.arrived(len(messages), now)
        self._waiting.wake(len(messages))

    @override
    def _repin(self, action: Pinned | Unpinned) -> None:
        super()._repin(action)
        if isinstance(action, Pinned) and self._extras.on_pinned is not None:
            guarded(self._extras.on_pinned)(action.pin_id)
        elif isinstance(action, Unpinned) and self._extras.on_unpinned is not None:
            guarded(self._extras.on_unpinned)()

    @override
    def _account(self) -> None:
        messages, size_bytes = self._done_messages, self._done_bytes
        if messages:
            self._done_messages = self._done_bytes = 0
            self._carry_out(self._machine.processed(messages, size_bytes, self._loop.time()))

    @override
    def _discard(self) -> None:
        self.source.give_back(self._buffer)
        self._buffer.clear()
        if self._keeper is not None:
            self._keeper.discarded()

    # Its own

    async def _serve(self, on_message: MessageHandler) -> None:
        try:
            async for message in Iteration(self):
                answer = on_message(message)
                if answer is not None and isawaitable(answer):
                    await answer
        finally:
            self.stop()

    async def _finished(self) -> None:
        """Wait for all that goes on; each ends soon, but a user's on_message when it likes."""
        going_on = [task for task in (self._serving, self._parting) if task is not None]
        if going_on:
            await asyncio.wait(going_on)
        if self._keeper is not None:
            self._keeper.close()


class Iteration:
    """One `async for` over a consumption. It gives the event loop a turn now and then, even if its user never does."""

    __slots__ = ("_consuming", "_in_hand")

    def __init__(self, consuming: Consuming) -> None:
        self._consuming = consuming
        self._in_hand: Message | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        consuming = self._consuming
        if self._in_hand is not None:
            message, self._in_hand = self._in_hand, None
            if consuming.done_with(message):
                await asyncio.sleep(0)
        buffer = consuming.buffer
        consuming.drop_expired()
        while not buffer:
            if not await consuming.more():
                raise StopAsyncIteration
            consuming.drop_expired()
        self._in_hand = consuming.next_message()
        return self._in_hand

    def __del__(self) -> None:
        if self._in_hand is not None:
            self._consuming.left(self._in_hand)
