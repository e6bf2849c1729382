"""The intake on a real server: a request is not withdrawn while the server is about to serve it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest

from penstock_jetstream import Block
from penstock_worker.engine import intake
from penstock_worker.engine.ground import look
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


@dataclass
class Taking:
    """An intake that was told to pull, and the replies of the messages that it took."""

    work: Scene
    intake: Intake
    replies: list[bytes] = field(default_factory=list)

    async def take(self, *, published: int, asked: int, taken: int) -> None:
        """Publish messages, ask for some, and wait until so many have come."""
        await self.work.publish_many(published)
        self.intake.release(asked)
        await self.until_taken(taken)

    async def until_taken(self, messages: int) -> None:
        await self.work.eventually(lambda: len(self.replies) == messages)

    async def requests(self) -> int:
        return (await self.work.info()).num_waiting

    def acknowledge(self) -> None:
        self.work.js.consumer(self.work.stream, "etl").lane().ack(self.replies)


@pytest.fixture
async def taking(work: Scene, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Taking]:
    monkeypatch.setattr(intake, "QUIET_SECONDS", QUIET_SECONDS)
    monkeypatch.setattr(intake, "MOST_SECONDS", REQUEST_SECONDS)
    await work.replace_consumer(max_ack_pending=AT_ONCE)
    replies: list[bytes] = []

    def take(block: Block) -> None:
        replies.extend(block.replies)

    def gone(why: str) -> None:
        pytest.fail(why)

    consumer, found = work.js.consumer(work.stream, "etl"), await look(work.js, work.settings.engine)
    ground = replace(found, batch=BatchSettings(max_messages=ASKED))
    tried = Intake(consumer, ground, take, gone, lambda: work.js.connection.server.max_payload_bytes)
    running = asyncio.create_task(tried.run())
    yield Taking(work, tried, replies)
    running.cancel()


async def test_request_is_kept_while_the_server_has_messages_to_deliver_for_it(taking: Taking) -> None:
    """Here it stops, as a server does that has something else to do: it says how much is left to deliver."""
    await taking.take(published=ASKED, asked=ASKED, taken=AT_ONCE)
    taking.intake.rest()
    assert [await taking.requests() for _ in range(LOOKS)] == [1] * LOOKS
    taking.acknowledge()
    await taking.until_taken(ASKED)
    assert (await taking.work.info()).delivered.consumer_sequence == ASKED


async def test_resting_repeatedly_does_not_postpone_the_withdrawal(taking: Taking) -> None:
    """The machine states after every step that it is full, and steps may follow each other quickly."""
    await taking.take(published=AT_ONCE, asked=ASKED, taken=AT_ONCE)

    async def is_withdrawn() -> bool:
        looking = asyncio.create_task(taking.requests())
        while not looking.done():
            taking.intake.rest()
            await asyncio.sleep(0)  # calm: yields once
        return looking.result() == 0

    await eventually_async(is_withdrawn, "the request is withdrawn")


async def test_released_again_after_a_rest_it_takes_further_messages(taking: Taking) -> None:
    await taking.take(published=AT_ONCE, asked=AT_ONCE, taken=AT_ONCE)
    taking.intake.rest()
    taking.intake.release(1)
    taking.acknowledge()
    await taking.work.publish_many(1)
    await taking.until_taken(AT_ONCE + 1)
