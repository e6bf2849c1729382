"""A consumption's life: it begins, its users wait for what comes, and it ends by their will or by an error.

Knows who waits, what ended it, and how a subscription is left so that nothing is lost. Does not know what it hands out:
messages (consuming.py) or blocks (lane.py); nor when to pull, or what ends it (core/consume.py).
"""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from typing_extensions import override

from penstock_jetstream.client.pulling import Pulling, ReportHandler, Source
from penstock_jetstream.client.waiting import Waiting
from penstock_jetstream.core.actions import Unsubscribe, Verify
from penstock_jetstream.core.consume import Consume
from penstock_jetstream.core.options import ConsumeOptions
from penstock_jetstream.errors import ClosedError, JetStreamError, UsageError

Exists = Callable[[], Awaitable[bool]]


class Consumption(Pulling):
    """`async with` begins and ends it. `stop()` gives what is buffered back to the server, `drain()` hands it out.

    Anything else that ends it is raised where its user waits for more, and by `closed()`.
    """

    def __init__(self, source: Source, options: ConsumeOptions, report: ReportHandler, exists: Exists) -> None:
        pin_id = source.pin_ids.get(options.group, "")
        self._machine: Consume
        machine = Consume(options, stream=source.stream, consumer=source.consumer, pin_id=pin_id)
        super().__init__(source, machine, counts_bytes=options.by_bytes, report=report)
        self._exists = exists
        self._waiting = Waiting()
        self._parting: asyncio.Task[None] | None = None
        self._is_discarding = False

    # For those who inherit

    @abstractmethod
    def _discard(self) -> None:
        """Give what is buffered back to the server."""

    def _account(self) -> None:
        """Tell the machine of what was processed, if it does not know yet."""

    # What users call

    async def __aenter__(self) -> Self:
        if self._subscription is not None or self._waiting.is_over:
            raise UsageError("This consumption has begun before.", advice="Make another, as from the same consumer.")
        self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._parting is not None:
            await asyncio.wait([self._parting])

    @property
    def is_over(self) -> bool:
        """Tell whether nothing more will come; what is buffered is handed out all the same."""
        return self._waiting.is_over

    def stop(self) -> None:
        """Ask for no more. What is buffered is given back, and delivered to someone else at once."""
        if self._is_discarding:
            return
        self._is_discarding = True
        self._machine.stop(self._loop.time())
        self._quieten()  # first: what is given back must not be sent here again
        self._discard()
        if not self._waiting.is_over:
            self._waiting.end(None)
            self._parting = self._loop.create_task(self._part_and_leave())

    def drain(self) -> None:
        """Ask for no more. What is buffered or on its way is handed out; then it is over."""
        self._carry_out(self._machine.drain(self._loop.time()))

    async def closed(self) -> None:
        """Wait until nothing more will come, and raise what ended it: stop() and drain() raise nothing."""
        await self._waiting.ended()

    def _check_begun(self) -> None:
        if self._subscription is None and not self._waiting.is_over:
            raise UsageError("This consumption has not begun.", advice="Enter it with `async with` first.")

    # Waiting

    async def more(self) -> bool:
        """Wait until there may be something; False when nothing will come any more."""
        self._account()
        return await self._waiting.more()

    # Its end

    @override
    def _ended(self, error: JetStreamError | None) -> None:
        if isinstance(error, ClosedError):
            self._discard()
        self._waiting.end(error)

    @override
    def _begin(self, work: Unsubscribe | Verify) -> None:
        if isinstance(work, Verify):
            self._spawn(self._verify())
        else:
            self._quieten()
            self._parting = self._loop.create_task(self._part_and_hand_out())

    async def _part_and_leave(self) -> None:
        await self._silence()
        self._leave()

    async def _part_and_hand_out(self) -> None:
        await self._silence()
        self._carry_out(self._machine.unsubscribed(self._loop.time()))

    async def _verify(self) -> None:
        exists = await self._exists()
        self._carry_out(self._machine.verified(self._loop.time(), exists=exists))
