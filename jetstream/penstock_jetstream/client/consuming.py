"""Consume: messages of a consumer as they come, for as long as the user wants them.

Knows how messages wait for users and users for messages, and how a consumption ends. Does not know when to pull, or
what ends it (core/consume.py).
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from typing_extensions import override

from penstock_jetstream.client.keeping import Keeper
from penstock_jetstream.client.message import Message
from penstock_jetstream.client.pulling import Pulling, ReportHandler, Source, log_report
from penstock_jetstream.core.actions import Pinned, Unpinned, Unsubscribe, Verify
from penstock_jetstream.core.consume import Consume
from penstock_jetstream.core.options import ConsumeOptions
from penstock_jetstream.errors import AckWaitOverError, ClosedError, JetStreamError, UsageError

MessageHandler = Callable[[Message], Awaitable[None] | None]

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


class Consuming(Pulling):
    """A consumption: `async with` begins and ends it, `async for` hands out its messages.

    Several tasks may iterate at once: each message goes to one of them. A message counts as processed when its task
    asks for the next one. With `on_message` the messages go there instead, one after another.

    `stop()` gives what is buffered back to the server, `drain()` hands it out first. Anything else that ends it is
    raised where messages are awaited, and by `closed()`.
    """

    def __init__(
        self, source: Source, options: ConsumeOptions, extras: Extras, exists: Callable[[], Awaitable[bool]]
    ) -> None:
        pin_id = source.pin_ids.get(options.group, "")
        self._machine: Consume
        machine = Consume(options, stream=source.stream, consumer=source.consumer, pin_id=pin_id)
        super().__init__(source, machine, counts_bytes=options.by_bytes, report=extras.on_report)
        self._extras = extras
        self._exists = exists
        self._buffer: deque[Message] = deque()
        self._keeper: Keeper | None = None
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._over: asyncio.Future[None] = self._loop.create_future()
        """Done when nothing more will come; its exception is what ended it."""
        self._over.add_done_callback(lambda over: over.exception())  # asyncio need not warn of it
        self._serving: asyncio.Task[None] | None = None
        self._parting: asyncio.Task[None] | None = None
        self._is_discarding = False
        self._bunch = max(1, min(LARGEST_BUNCH, options.maximum // BUNCHES_PER_BUFFER))
        self._bunch_bytes = options.maximum // BUNCHES_PER_BUFFER if options.by_bytes else None
        self._done_messages = 0
        self._done_bytes = 0

    # What users call

    async def __aenter__(self) -> Self:
        if self._subscription is not None or self._over.done():
            raise UsageError("This consumption has begun before.", advice="Call consume() again for another.")
        extras = self._extras
        if extras.ack_wait_seconds is not None and self.source.is_acknowledged:
            self._keeper = Keeper(self._buffer, self._connection, extras.ack_wait_seconds, keep_alive=extras.keep_alive)
        self._open()
        if extras.on_message is not None:
            self._serving = self._loop.create_task(self._serve(extras.on_message))
        return self

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
        if self._subscription is None and not self._over.done():
            raise UsageError("This consumption has not begun.", advice="Enter it with `async with` first.")
        return Iteration(self)

    @property
    def is_over(self) -> bool:
        """Tell whether nothing more will come; what is buffered is handed out all the same."""
        return self._over.done()

    def stop(self) -> None:
        """Ask for no more. What is buffered is given back, and delivered to someone else at once."""
        if self._is_discarding:
            return
        self._is_discarding = True
        self._machine.stop(self._loop.time())
        self._discard()
        if not self._over.done():
            self._finish(None)
            self._parting = self._loop.create_task(self._part_and_leave())

    def drain(self) -> None:
        """Ask for no more. What is buffered or on its way is handed out; then it is over."""
        self._carry_out(self._machine.drain(self._loop.time()))

    async def closed(self) -> None:
        """Wait until nothing more will come and, with on_message, that has returned. Raise what ended it, if anything.

        What ends it is stop() or drain(), an error, or an exception of on_message.
        """
        if self._serving is None:
            await asyncio.wait([self._over])
            self._over.result()
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
        if self._bunch_bytes is not None:
            self._done_bytes += message.size_bytes
            if self._done_bytes >= self._bunch_bytes:
                return self._account()
        return self._done_messages >= self._bunch and self._account()

    async def more(self) -> bool:
        """Wait until there may be messages; False when none will come any more."""
        self._account()
        if self._over.done():
            self._over.result()
            return False
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            else:
                self._wake(1)  # another may have what this one was woken for
            raise
        return True

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

    # What Pulling calls

    @override
    def _take(self, messages: list[Message], now: float) -> None:
        self._buffer.extend(messages)
        if self._is_discarding:
            self._discard()
            return
        if self._keeper is not None:
            self._keeper.arrived(len(messages), now)
        self._wake(len(messages))

    @override
    def _ended(self, error: JetStreamError | None) -> None:
        if isinstance(error, ClosedError):
            self._discard()
        self._finish(error)

    @override
    def _begin(self, work: Unsubscribe | Verify) -> None:
        if isinstance(work, Verify):
            self._spawn(self._verify())
        else:
            self._parting = self._loop.create_task(self._part_and_hand_out())

    @override
    def _repin(self, action: Pinned | Unpinned) -> None:
        super()._repin(action)
        if isinstance(action, Pinned) and self._extras.on_pinned is not None:
            self._extras.on_pinned(action.pin_id)
        elif isinstance(action, Unpinned) and self._extras.on_unpinned is not None:
            self._extras.on_unpinned()

    # Its own

    async def _serve(self, on_message: MessageHandler) -> None:
        try:
            async for message in Iteration(self):
                answer = on_message(message)
                if answer is not None:
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

    def _account(self) -> bool:
        """Tell the machine of all that was processed since it was last told."""
        messages, size_bytes = self._done_messages, self._done_bytes
        if messages:
            self._done_messages = self._done_bytes = 0
            self._carry_out(self._machine.processed(messages, size_bytes, self._loop.time()))
        return True

    def _wake(self, messages: int) -> None:
        for _ in range(min(messages, len(self._waiters))):
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def _finish(self, error: JetStreamError | None) -> None:
        if self._over.done():
            return
        if error is None:
            self._over.set_result(None)
        else:
            self._over.set_exception(error)
        self._wake(len(self._waiters))

    def _discard(self) -> None:
        self.source.give_back(self._buffer)
        self._buffer.clear()
        if self._keeper is not None:
            self._keeper.discarded()

    async def _part_and_leave(self) -> None:
        await self._part()
        self._leave()

    async def _part_and_hand_out(self) -> None:
        await self._part()
        self._carry_out(self._machine.unsubscribed(self._loop.time()))

    async def _verify(self) -> None:
        exists = await self._exists()
        self._carry_out(self._machine.verified(self._loop.time(), exists=exists))


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
        """A loop that was left is done with the message that it had."""
        if self._in_hand is not None:
            self._consuming.done_with(self._in_hand)
