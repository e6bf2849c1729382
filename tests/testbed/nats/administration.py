"""Requests to a nats-server's own API, for callers that may or may not have an event loop of their own.

Knows what JetStream's replies look like. Does not know what is asked; cluster.py and leaf.py say that.
"""

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.testbed.nats.client import connection

REQUEST_SECONDS = 5


class RefusedError(RuntimeError):
    """The server answered with an error."""


def request(
    arguments: Mapping[str, Any], subject: str, body: bytes = b"", *, seconds: float = REQUEST_SECONDS
) -> dict[str, Any]:
    """Connect, ask once, and return the answer; in a thread, so that a test's event loop may be running in this one."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        answer = thread.submit(asyncio.run, _request(arguments, subject, body, seconds)).result()
    if "error" in answer:
        raise RefusedError(f"{subject} was refused: {answer['error']}")
    return answer


async def _request(arguments: Mapping[str, Any], subject: str, body: bytes, seconds: float) -> dict[str, Any]:
    async with connection(**arguments, allow_reconnect=False) as client:
        reply = await client.request(subject, body, timeout=seconds)
        answer: dict[str, Any] = json.loads(reply.data)
        return answer
