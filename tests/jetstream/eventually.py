"""Waiting, in an event loop, for what servers do in their own time: elections, moves, expiries."""

from collections.abc import Awaitable, Callable

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.errors import ApiError, NoRespondersError, RequestTimeoutError
from tests.testbed.waiting import WITHIN_SECONDS, eventually_async

NOT_YET = (ApiError, NoRespondersError, RequestTimeoutError)


async def eventually(condition: Callable[[], Awaitable[bool]], what: str, seconds: float = WITHIN_SECONDS) -> None:
    """Return as soon as the condition holds. A server that does not answer, or refuses, counts as false."""
    await eventually_async(condition, what, seconds, not_yet=NOT_YET)


async def reachable(jetstream: JetStream) -> None:
    """Return when a domain behind a leaf answers: a leaf that has connected has yet to say what it listens to."""
    await eventually_async(jetstream.account, f"{jetstream.api.prefix} answers", not_yet=NOT_YET)
