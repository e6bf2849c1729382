"""Requests to a nats-server's own API, for callers that may or may not have an event loop of their own."""

import asyncio
import json
import secrets
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from tests.testbed.nats.client import connection
from tests.testbed.waiting import eventually_async

T = TypeVar("T")
REQUEST_SECONDS = 5
HEARING_SECONDS = 5

UNANSWERED = (NatsError, OSError)
"""Raised by a request without an answer: the one by nats-py, the other where there is no connection."""


class RefusedError(RuntimeError):
    """The server answered with an error."""


def request(
    arguments: Mapping[str, Any], subject: str, body: bytes = b"", *, seconds: float = REQUEST_SECONDS
) -> dict[str, Any]:
    """Connect, ask once, and return the answer; in a thread, so that a test's event loop may be running in this one."""
    answer = _apart(_request(arguments, subject, body, seconds))
    if "error" in answer:
        raise RefusedError(f"{subject} was refused: {answer['error']}")
    return answer


def all_hear_all(everyone: Sequence[Mapping[str, Any]]) -> bool:
    """Connect as each of them, and tell whether what one says is heard by every other.

    Servers tell each other who listens, one listener after the other: then they know of all that did before, too.
    """
    return _apart(_all_hear_all(everyone))


def _apart(work: Coroutine[Any, Any, T]) -> T:
    """Run something in an event loop of its own, whether there is another in this thread or not."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()


async def _request(arguments: Mapping[str, Any], subject: str, body: bytes, seconds: float) -> dict[str, Any]:
    async with connection(**arguments, allow_reconnect=False) as client:
        reply = await client.request(subject, body, timeout=seconds)
        answer: dict[str, Any] = json.loads(reply.data)
        return answer


async def _all_hear_all(everyone: Sequence[Mapping[str, Any]]) -> bool:
    subject = f"penstock-testbed-{secrets.token_hex(8)}"
    heard: set[tuple[int, bytes]] = set()

    async with AsyncExitStack() as ends:
        clients = []
        for number, arguments in enumerate(everyone):

            async def hear(message: Msg, listener: int = number) -> None:
                heard.add((listener, message.data))

            client = await ends.enter_async_context(connection(**arguments, allow_reconnect=False))
            await client.subscribe(subject, cb=hear)
            await client.flush(HEARING_SECONDS)
            clients.append(client)

        async def all_heard() -> bool:
            for number, client in enumerate(clients):
                await client.publish(subject, b"%d" % number)
                await client.flush(HEARING_SECONDS)
            return len(heard) == len(clients) ** 2

        try:
            await eventually_async(all_heard, "every node hears every other", HEARING_SECONDS)
        except TimeoutError:
            return False
    return True
