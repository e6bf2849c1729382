"""The intake on a real server: a request is not withdrawn while the server is about to serve it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from penstock_jetstream import Block
from penstock_worker.engine import intake
from penstock_worker.engine.ground import Ground, look
from penstock_worker.engine.intake import Intake
from penstock_worker.policy.settings import BatchSettings
from tests.testbed.waiting import eventually_async
from tests.worker.engine.working import Scene

AT_ONCE = 30
"""So many messages the server delivers, and no more before some are acknowledged."""
ASKED = 2 * AT_ONCE
LOOKS = 50
QUIET_SECONDS = 0.002
REQUEST_SECONDS = 600
"""How long a request lasts that nothing withdraws."""


class Pulling:
    """An intake that runs, and the replies of the messages that it received."""

    def __init__(self, work: Scene, ground: Ground) -> None:
        self.work = work
        self.replies: list[bytes] = []
        self.consumer = work.js.consumer(work.stream, "etl")
        self.intake = Intake(
            self.consumer, ground, self.receive, pytest.fail, lambda: work.js.connection.server.max_payload_bytes
        )

    def receive(self, block: Block) -> None:
        self.replies.extend(block.replies)

    async def pull(self, *, published: int, asked: int) -> None:
        """Publish messages, ask for some, and wait until the server has delivered as many as it may."""
        await self.work.publish_many(published)
        self.intake.release(asked)
        await self.until_received(AT_ONCE)

    async def until_received(self, messages: int) -> None:
        await self.work.eventually(lambda: len(self.replies) == messages)

    async def requests(self) -> int:
        return (await self.work.info()).num_waiting

    def acknowledge(self) -> None:
        self.consumer.lane().ack(self.replies)


@pytest.fixture
async def pulling(work: Scene, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pulling]:
    monkeypatch.setattr(intake, "QUIET_SECONDS", QUIET_SECONDS)
    monkeypatch.setattr(intake, "MOST_SECONDS", REQUEST_SECONDS)
    await work.replace_consumer(max_ack_pending=AT_ONCE)
    found = await look(work.js, work.settings.engine)
    pulling = Pulling(work, replace(found, batch=BatchSettings(max_messages=ASKED)))
    running = asyncio.create_task(pulling.intake.run())
    yield pulling
    running.cancel()


async def test_request_is_kept_while_the_server_has_messages_to_deliver_for_it(pulling: Pulling) -> None:
    """Here it stops, as a server does that has something else to do: it says how much is left to deliver."""
    await pulling.pull(published=ASKED, asked=ASKED)
    pulling.intake.rest()
    assert [await pulling.requests() for _ in range(LOOKS)] == [1] * LOOKS
    pulling.acknowledge()
    await pulling.until_received(ASKED)
    assert (await pulling.work.info()).delivered.consumer_sequence == ASKED


async def test_resting_repeatedly_does_not_postpone_the_withdrawal(pulling: Pulling) -> None:
    """The machine states after every step that it is full, and steps may follow each other quickly."""
    await pulling.pull(published=AT_ONCE, asked=ASKED)

    async def is_withdrawn() -> bool:
        looking = asyncio.create_task(pulling.requests())
        while not looking.done():
            pulling.intake.rest()
            await asyncio.sleep(0)  # calm: yields once
        return looking.result() == 0

    await eventually_async(is_withdrawn, "the request is withdrawn")


async def test_released_again_after_a_rest_it_pulls_further_messages(pulling: Pulling) -> None:
    await pulling.pull(published=AT_ONCE, asked=AT_ONCE)
    pulling.intake.rest()
    pulling.intake.release(1)
    pulling.acknowledge()
    await pulling.work.publish_many(1)
    await pulling.until_received(AT_ONCE + 1)
