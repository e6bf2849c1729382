"""The workers of queue groups, asked over NATS: how they stand, and to pause, resume or end a run.

Knows the micro service `penstock-worker` that each worker is (penstock_worker.engine.service; tests of both sides hold
the form): a subject on which all workers of a group answer. Who does not answer in time is not there.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from penstock_jetstream import Connection
from penstock_jetstream.core.tokens import as_token

PREFIX = "penstock.worker"
FIRST_SECONDS = 2.0
"""How long to wait for the first answer, where somebody listens."""
NEXT_SECONDS = 0.3
"""How long after an answer another one may come: all were asked at the same time."""
NO_RESPONDERS = b"NATS/1.0 503"

Status = Mapping[str, Any]


def subject_of(group: str, endpoint: str, *, worker: str | None = None) -> str:
    """Return where all workers of a group are asked, or one of them."""
    return ".".join((PREFIX, as_token(group), *([] if worker is None else [as_token(worker)]), endpoint))


async def statuses(connection: Connection, group: str, *, expected: int | None = None) -> list[Status]:
    """Return what each worker says of itself, in the order of their names.

    Where it is known how many there are, nobody is waited for once so many have answered.
    """
    found = await _ask(connection, subject_of(group, "status"), expected)
    return sorted(found, key=lambda each: str(each.get("worker")))


async def order(connection: Connection, group: str, endpoint: str) -> int:
    """Tell all workers of a group to do something, and return how many have heard it."""
    return len(await _ask(connection, subject_of(group, endpoint)))


async def order_one(connection: Connection, group: str, worker: str, endpoint: str) -> bool:
    """Tell one worker of a group to do something, and return whether it has heard it."""
    return bool(await _ask(connection, subject_of(group, endpoint, worker=worker), 1))


async def _ask(connection: Connection, subject: str, expected: int | None = None) -> list[Status]:
    answers: asyncio.Queue[bytes | None] = asyncio.Queue()

    def hear(_subject: bytes, _reply: bytes, header: bytes, payload: bytes) -> None:
        answers.put_nowait(None if header.startswith(NO_RESPONDERS) and not payload else payload)

    inbox = connection.new_inbox()
    subscription = connection.subscribe(inbox, hear)
    try:
        connection.publish(subject, reply=inbox)
        return [json.loads(answer) for answer in await _gathered(answers, expected)]
    finally:
        subscription.unsubscribe()


async def _gathered(answers: "asyncio.Queue[bytes | None]", expected: int | None) -> list[bytes]:
    """Wait for answers until no more come, or as many have come as can, or the server says that nobody listens."""
    found: list[bytes] = []
    while expected is None or len(found) < expected:
        try:
            async with asyncio.timeout(NEXT_SECONDS if found else FIRST_SECONDS):
                answer = await answers.get()
        except TimeoutError:
            return found
        if answer is None:
            return found
        found.append(answer)
    return found
