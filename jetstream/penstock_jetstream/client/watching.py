"""Watching keys of a bucket: what they have, and then what becomes of them.

Knows when all that was there at the beginning has been seen. Does not know how the order is kept (ordering.py): a watch
lives through lost links, servers that restart, and consumers that get lost.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from penstock_jetstream.client.message import Message
from penstock_jetstream.client.ordering import Ordering
from penstock_jetstream.core.keyvalue import Entry, operation_of

SILENCE_SECONDS = 0.5
"""So long nothing comes, before it is asked again whether anything is still to come."""


@dataclass(frozen=True, slots=True)
class View:
    """What of a bucket is watched, and how."""

    bucket: str
    prefix: str
    """Of the subjects; the key follows."""
    includes_history: bool
    includes_marks: bool
    """Also where values were removed."""
    begins_now: bool
    """Without what is there already."""
    first_revision: int


class Watch:
    """Begins with `async with`. `initial` gives what is there; iterating gives what comes then, for ever.

    Without a call of `initial`, iterating begins with what is there.
    """

    def __init__(self, view: View, ordering: Ordering, last_revision: Callable[[], Awaitable[int]]) -> None:
        self._view = view
        self._ordering = ordering
        self._last_revision = last_revision
        """Of all that is watched; 0 where there is nothing."""
        self._seen_revision = view.first_revision - 1
        self._held_back: Entry | None = None

    async def __aenter__(self) -> Self:
        await self._ordering.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._ordering.__aexit__(kind, problem, trace)

    async def initial(self) -> list[Entry]:
        """Return what was there when this is first called: the last entry of each key, or the history of all."""
        if self._view.begins_now:
            return []
        found: list[Entry] = []
        end = await self._last_revision()
        while self._seen_revision < end:
            message = await self._ordering.next(SILENCE_SECONDS)
            if message is None and self._ordering.is_over:
                break
            if message is None:  # was the last one removed before it came?
                end = min(end, await self._last_revision())
                continue
            entry = self._entry(message)
            if entry.revision > end:  # the last one was removed, and this is news
                self._held_back = entry
                break
            found.append(entry)
        if not self._view.includes_history:
            found = list({entry.key: entry for entry in found}.values())
        return [entry for entry in found if self._is_wanted(entry)]

    def __aiter__(self) -> AsyncIterator[Entry]:
        return self

    async def __anext__(self) -> Entry:
        while True:
            entry, self._held_back = self._held_back, None
            if entry is None:
                entry = self._entry(await anext(self._ordering))
            if self._is_wanted(entry):
                return entry

    def _is_wanted(self, entry: Entry) -> bool:
        return entry.is_value or self._view.includes_marks

    def _entry(self, message: Message) -> Entry:
        token = message.metadata
        self._seen_revision = token.stream_sequence
        return Entry(
            bucket=self._view.bucket,
            key=message.subject.removeprefix(self._view.prefix),
            value=message.data,
            revision=token.stream_sequence,
            created=token.timestamp,
            operation=operation_of(message.headers),
            delta=token.pending,
        )
