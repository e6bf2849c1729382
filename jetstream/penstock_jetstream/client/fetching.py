"""Fetch and next: one answer of a consumer, awaited.

Knows that what was received belongs to the caller, and what to do with it when the caller is cancelled. Does not know
when a fetch is complete (core/fetch.py).
"""

import asyncio

from typing_extensions import override

from penstock_jetstream.client.message import Message
from penstock_jetstream.client.pulling import Pulling, ReportHandler, Source
from penstock_jetstream.core.actions import Unsubscribe, Verify
from penstock_jetstream.core.fetch import Fetch
from penstock_jetstream.core.options import FetchOptions
from penstock_jetstream.errors import JetStreamError


class Fetching(Pulling):
    """One fetch, from its pull to its last message."""

    def __init__(self, source: Source, options: FetchOptions, report: ReportHandler) -> None:
        pin_id = source.pin_ids.get(options.group, "")
        self._machine: Fetch
        machine = Fetch(options, stream=source.stream, consumer=source.consumer, pin_id=pin_id)
        super().__init__(source, machine, counts_bytes=options.max_bytes is not None, report=report)
        self._messages: list[Message] = []
        self._done: asyncio.Future[None] = self._loop.create_future()

    async def messages(self) -> list[Message]:
        """Return what came. A caller that is cancelled meanwhile gets nothing, so the server gets it back."""
        try:
            self._open()
            await self._done
        except asyncio.CancelledError:
            self._machine.stop(self._loop.time())
            self._quieten()
            self._spawn(self._give_all_back())
            raise
        return self._messages

    async def _give_all_back(self) -> None:
        await self._silence()
        self._leave()
        self.source.give_back(self._messages)

    @override
    def _take(self, messages: list[Message], now: float) -> None:
        self._messages += messages

    @override
    def _ended(self, error: JetStreamError | None) -> None:
        if self._done.done():
            return
        if error is None:
            self._done.set_result(None)
        else:
            self._done.set_exception(error)

    @override
    def _begin(self, work: Unsubscribe | Verify) -> None:
        raise AssertionError(f"A fetch has no {work}.")
