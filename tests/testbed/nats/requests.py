"""Every request that a server was asked of JetStream, as the server itself tells of it: what, and by which connection.

Listens on a thread of its own, so that a test may wait for other things.
"""

import asyncio
import json
import threading
from typing import Any, Self

from nats.aio.msg import Msg

from tests.testbed.nats.client import connection

ADVISORIES = "$JS.EVENT.ADVISORY.API"
START_SECONDS = 40


class Requests:
    """What has been asked since the block began, in the server's order."""

    def __init__(self, **connect_arguments: Any) -> None:  # noqa: ANN401 - those of nats.connect
        self._arguments = connect_arguments
        self._loop = asyncio.new_event_loop()
        self._listening = threading.Event()
        self._ended = asyncio.Event()
        self._heard: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._listen(),))
        self._thread.start()
        assert self._listening.wait(START_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
        self._loop.close()

    def heard(self) -> list[dict[str, Any]]:
        """Return the advisories: `subject` of the request, and `client` with the name and id of the connection."""
        return list(self._heard)

    async def _listen(self) -> None:
        async with connection(**self._arguments) as client:
            await client.subscribe(ADVISORIES, cb=self._hear)
            await client.flush()
            self._listening.set()
            await self._ended.wait()

    async def _hear(self, message: Msg) -> None:
        self._heard.append(json.loads(message.data))
