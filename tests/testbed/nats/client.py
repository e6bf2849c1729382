"""A nats-py connection that is closed however its use ends, even if it was refused.

nats-py leaves its socket open where the server refuses it, or is slow to take it, which Python reports as a leak; tests
take that as an error.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from nats.aio.client import Client

from tests.testbed.waiting import WITHIN_SECONDS


async def _ignore(_: Exception) -> None:
    """Take nats-py's reports of trouble while connecting; what comes of it is raised where the caller waits."""


@asynccontextmanager
async def connection(**arguments: Any) -> AsyncIterator[Client]:  # noqa: ANN401 - nats-py has their types
    """Connect with the arguments of `nats.connect`."""
    client = Client()
    try:
        await client.connect(**{"error_cb": _ignore, "connect_timeout": WITHIN_SECONDS, **arguments})
        yield client
    finally:
        await client.close()
