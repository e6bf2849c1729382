"""Consumers: made, looked at, changed, paused, put back, deleted. Reading from one is another matter (consumer.py).

Knows which requests make up an operation. Does not know how they are worded (core) or sent (api.py).
"""

import copy
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from typing import Any

from penstock_jetstream.client.api import Api
from penstock_jetstream.core import consumer_requests as requests
from penstock_jetstream.core.consumer_info import ConsumerInfo, Pause, Reset
from penstock_jetstream.core.facts import Facts
from penstock_jetstream.errors import MissingError, ProtocolError

_RESET_LEVEL = 4


class Consumers:
    """The consumers of an account's streams. A config is the server's own: its field names, nanoseconds."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def create(self, stream: str, config: Mapping[str, Any], *, pedantic: bool = False) -> ConsumerInfo:
        """Make a consumer. One that is there and equal is as good; one that differs is a ConflictError."""
        return await self._write(stream, config, "create", pedantic=pedantic)

    async def update(self, stream: str, config: Mapping[str, Any], *, pedantic: bool = False) -> ConsumerInfo:
        """Make a consumer what this config says, all of it: a field that is left out goes back to its default."""
        return await self._write(stream, config, "update", pedantic=pedantic)

    async def create_or_update(self, stream: str, config: Mapping[str, Any], *, pedantic: bool = False) -> ConsumerInfo:
        """Make a consumer what this config says, whether it is there or not."""
        return await self._write(stream, config, "", pedantic=pedantic)

    async def modify(
        self, stream: str, name: str, change: Callable[[dict[str, Any]], Mapping[str, Any]]
    ) -> ConsumerInfo:
        """Read a consumer's config, have it changed, and write it back; fields that nobody here knows survive.

        `change` gets a copy and returns what is to be. Nothing is written if that is what there is.
        """
        info = await self.info(stream, name)
        changed = change(copy.deepcopy(dict(info.config)))
        return info if changed == info.config else await self.update(stream, changed)

    async def delete(self, stream: str, name: str) -> None:
        await self._api.confirm(requests.delete(stream, name))

    async def info(self, stream: str, name: str) -> ConsumerInfo:
        """Return config and state, as the consumer's leader has them now."""
        return ConsumerInfo.read(await self._api.ask(requests.info(stream, name)))

    def names(self, stream: str) -> AsyncIterator[str]:
        return self._api.pages(
            lambda offset: requests.names(stream, offset=offset), lambda facts: facts.texts("consumers")
        )

    def list(self, stream: str) -> AsyncIterator[ConsumerInfo]:
        """Go through a stream's consumers. Those without a leader are in an error at the end."""
        return self._api.pages(
            lambda offset: requests.infos(stream, offset=offset),
            lambda facts: [ConsumerInfo.read(each) for each in facts.objects("consumers")],
        )

    async def pause(self, stream: str, name: str, until: datetime) -> Pause:
        """Deliver nothing until a time. Readers wait as if there were no messages."""
        return Pause.read(await self._api.ask(requests.pause(stream, name, until)))

    async def resume(self, stream: str, name: str) -> None:
        await self._api.ask(requests.resume(stream, name))

    async def reset(self, stream: str, name: str, *, sequence: int = 0) -> Reset:
        """Deliver again all behind the last acknowledged message, or from a sequence on. Redeliveries are forgotten."""
        await self._api.require_level(_RESET_LEVEL, "2.14", "Resetting a consumer")
        return Reset.read(await self._api.ask(requests.reset(stream, name, sequence=sequence)))

    async def unpin(self, stream: str, name: str, group: str) -> None:
        """Take the pin of a priority group from the client that has it; the next to pull gets it."""
        await self._api.ask(requests.unpin(stream, name, group))

    async def step_down(self, stream: str, name: str, *, preferred: str | None = None) -> None:
        """Have a consumer's replicas elect another leader: the preferred server, if it can."""
        await self._api.confirm(requests.step_down(stream, name, preferred=preferred))

    async def _write(
        self, stream: str, config: Mapping[str, Any], action: requests.Action, *, pedantic: bool
    ) -> ConsumerInfo:
        if requests.endangers_durability(config, action):
            config = await self._still_durable(stream, config)
        request = requests.create(stream, config, action, pedantic=pedantic)
        info = ConsumerInfo.read(await self._api.ask(request))
        if not requests.has_filters(Facts(info.config, request.object), config):
            raise ProtocolError(
                f"Consumer {info.name} of stream {stream} was {request.operation} without the filters asked for.",
                advice="It delivers other messages than you want: delete it. The server may be too old for them.",
            )
        return info

    async def _still_durable(self, stream: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """Name as durable what is so already."""
        try:
            present = (await self.info(stream, config["name"])).config
        except MissingError:
            return config
        return {**config, "durable_name": present["durable_name"]} if "durable_name" in present else config
