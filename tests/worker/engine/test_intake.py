"""The intake on a real server: what it has asked for is not withdrawn while the server is about to deliver it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest

from penstock_jetstream import Block
from penstock_worker.engine import intake
from penstock_worker.engine.ground import look
from penstock_worker.engine.intake import Intake
from penstock_worker.policy.settings import BatchSettings
from tests.testbed.nats.shared import NEWEST, SharedServers
from tests.worker.engine.working import WITHDRAWN_SECONDS, Scene, scene

AT_ONCE = 30
"""So many messages the server delivers, and no more before some are acknowledged."""
ASKED = 2 * AT_ONCE
LOOKS = 50
QUIET_SECONDS = 0.002


@dataclass
class Taking:
    """An intake that was told to pull, and what it has taken."""

    work: Scene
    intake: Intake
    replies: list[bytes] = field(default_factory=list)

    async def until_taken(self, messages: int) -> None:
        await self.work.eventually(lambda: len(self.replies) == messages)

    async def requests(self) -> int:
        return (await self.work.info()).num_waiting


@pytest.fixture
async def taking(
    shared_servers: SharedServers, fresh_name: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Taking]:
    monkeypatch.setattr(intake, "QUIET_SECONDS", QUIET_SECONDS)
    async with scene(shared_servers.get(NEWEST).url, f"intake-{fresh_name}") as work:
        await work.consumer(max_ack_pending=AT_ONCE)
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


async def test_what_a_server_is_about_to_deliver_is_not_withdrawn(taking: Taking) -> None:
    """Here it stops, as servers do that have something else to do: it says how much is left to deliver."""
    await taking.work.publish_many(ASKED)
    taking.intake.release(ASKED)
    await taking.until_taken(AT_ONCE)
    taking.intake.rest()
    assert [await taking.requests() for _ in range(LOOKS)] == [1] * LOOKS
    taking.work.js.consumer(taking.work.stream, "etl").lane().ack(taking.replies)
    await taking.until_taken(ASKED)
    assert (await taking.work.info()).delivered.consumer_sequence == ASKED


async def test_what_nothing_is_left_for_is_withdrawn(taking: Taking) -> None:
    await taking.work.publish_many(AT_ONCE)
    taking.intake.release(ASKED)
    await taking.until_taken(AT_ONCE)
    taking.intake.rest()
    await taking.work.until_withdrawn()


async def test_to_rest_again_does_not_put_off_the_withdrawal(taking: Taking) -> None:
    """The machine states after every step that it is full, and steps may follow each other quickly."""
    await taking.work.publish_many(AT_ONCE)
    taking.intake.release(ASKED)
    await taking.until_taken(AT_ONCE)
    async with asyncio.timeout(WITHDRAWN_SECONDS):
        taking.intake.rest()
        while await taking.requests():
            taking.intake.rest()


async def test_who_wants_more_meanwhile_gets_it(taking: Taking) -> None:
    await taking.work.publish_many(AT_ONCE)
    taking.intake.release(AT_ONCE)
    await taking.until_taken(AT_ONCE)
    taking.intake.rest()
    taking.intake.release(1)
    taking.work.js.consumer(taking.work.stream, "etl").lane().ack(taking.replies)
    await taking.work.publish_many(1)
    await taking.until_taken(AT_ONCE + 1)
