"""Streams, and the messages in them: made, looked at, changed, emptied, deleted.

Knows which requests make up an operation. Does not know how they are worded (core) or sent (api.py).
"""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from penstock_jetstream.client.api import Api
from penstock_jetstream.core import stream_requests as requests
from penstock_jetstream.core.facts import Facts
from penstock_jetstream.core.requests import Request
from penstock_jetstream.core.selection import Selection
from penstock_jetstream.core.stored_message import StoredMessage
from penstock_jetstream.core.stream_info import StreamInfo
from penstock_jetstream.errors import ApiError, ErrorCode, MissingError, UsageError

_STORE_RETRY_SECONDS = 0.25


class Streams:
    """The streams of an account. A config is the server's own: its field names, durations in nanoseconds."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def create(self, config: Mapping[str, Any], *, pedantic: bool = False) -> StreamInfo:
        """Make a stream. One that is there and equal is as good; one that differs is a ConflictError.

        Pedantic makes the server refuse a config that it would otherwise complete or correct.
        """
        request = requests.create(config, pedantic=pedantic)
        try:
            return await self._info(request)
        except ApiError as problem:
            if problem.err_code != ErrorCode.STREAM_CREATE_FAILED:
                raise
        await asyncio.sleep(
            _STORE_RETRY_SECONDS
        )  # one of this name was deleted a moment ago, and is still going (V-11)
        return await self._info(request)

    async def update(self, config: Mapping[str, Any], *, pedantic: bool = False) -> StreamInfo:
        """Make a stream what this config says, all of it: a field that is left out goes back to its default."""
        return await self._info(requests.update(config, pedantic=pedantic))

    async def create_or_update(self, config: Mapping[str, Any], *, pedantic: bool = False) -> StreamInfo:
        """Make a stream what this config says, whether it is there or not."""
        try:
            return await self.update(config, pedantic=pedantic)
        except MissingError:
            return await self.create(config, pedantic=pedantic)

    async def modify(self, name: str, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> StreamInfo:
        """Read a stream's config, have it changed, and write it back; fields that nobody here knows survive.

        `change` gets a copy and returns what is to be. Nothing is written if that is what there is. Between reading and
        writing someone else may have written: the server has no way to tell.
        """
        info = await self.info(name)
        changed = change(copy.deepcopy(dict(info.config)))
        return info if changed == info.config else await self.update(changed)

    async def delete(self, name: str) -> None:
        """Delete a stream with all its messages and consumers."""
        await self._api.confirm(requests.delete(name))

    async def info(self, name: str, *, subjects: str | None = None, deleted: bool = False) -> StreamInfo:
        """Return config and state; with a subject filter also how many messages are on each subject that it matches."""
        if subjects is None:
            return await self._info(requests.info(name, deleted=deleted))
        counts: dict[str, int] = {}
        while True:
            facts = await self._api.ask(requests.info(name, subjects=subjects, deleted=deleted, offset=len(counts)))
            page = facts.object("state").mapping("subjects")
            counts |= page
            if not page or len(counts) >= facts.number("total", 0):
                state = {**facts.object("state").raw, "subjects": counts}
                return StreamInfo.read(Facts({**facts.raw, "state": state}, facts.of))

    def names(self, *, subject: str | None = None) -> AsyncIterator[str]:
        """Go through the names of all streams, or of those that take a subject."""
        return self._api.pages(
            lambda offset: requests.names(subject=subject, offset=offset), lambda facts: facts.texts("streams")
        )

    def list(self, *, subject: str | None = None) -> AsyncIterator[StreamInfo]:
        """Go through all streams, or those that take a subject. Those without a leader are in an error at the end."""
        return self._api.pages(
            lambda offset: requests.infos(subject=subject, offset=offset),
            lambda facts: [StreamInfo.read(each) for each in facts.objects("streams")],
        )

    async def find(self, subject: str) -> str:
        """Return the name of the one stream that takes a subject (S-04)."""
        found = [name async for name in self.names(subject=subject)]
        if len(found) == 1:
            return found[0]
        what = f"{len(found)} streams match {subject}: {', '.join(found)}" if found else f"No stream matches {subject}"
        raise UsageError(f"{what}.", advice="Name the stream." if found else "Create one that takes this subject.")

    async def purge(self, name: str, *, subject: str | None = None, up_to_sequence: int = 0, keep: int = 0) -> int:
        """Remove messages, and return how many: all, those on a subject, those before a sequence, or all but some."""
        request = requests.purge(name, subject=subject, up_to_sequence=up_to_sequence, keep=keep)
        return (await self._api.ask(request)).number("purged")

    async def get_message(
        self, name: str, *, sequence: int = 0, last_by_subject: str = "", next_by_subject: str = ""
    ) -> StoredMessage:
        """Return a message as the stream's leader has it: what was stored before is seen. MissingError if none is."""
        selection = Selection(sequence, last_by_subject, next_by_subject)
        facts = await self._api.ask(requests.get_message(name, selection))
        return StoredMessage.of_json(name, facts.object("message"))

    async def delete_message(self, name: str, sequence: int, *, erase: bool = True) -> None:
        """Remove a message; to erase is to overwrite its bytes, too."""
        await self._api.confirm(requests.delete_message(name, sequence, erase=erase))

    async def step_down(self, name: str, *, preferred: str | None = None) -> None:
        """Have a stream's replicas elect another leader: the preferred server, if it can."""
        await self._api.confirm(requests.step_down(name, preferred=preferred))

    async def remove_peer(self, name: str, peer: str) -> None:
        """Take a server out of a stream's replicas; the cluster finds another for it."""
        await self._api.confirm(requests.remove_peer(name, peer))

    async def _info(self, request: Request) -> StreamInfo:
        return StreamInfo.read(await self._api.ask(request))
