"""Lost messages are counted on a real server: by limits, age, purge and deletion, and by maxDeliver."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from penstock_jetstream import Connection, JetStream
from penstock_jetstream.core.options import Wait
from penstock_operator.plan.message_loss import ConsumerPosition, count_losses
from penstock_operator.plan.surroundings import Place
from penstock_operator.resources.message_loss import MessageLoss
from penstock_operator.services.links import Link
from tests.operator.links.linking import OLD_AND_NEW, Kept, a_consumer, a_stream
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.waiting import eventually_async

MOST, FIRST = 100, 21
"""How many messages the stream keeps, and the first of them when the consumer is created."""


@dataclass
class Reading:
    """A stream, a consumer, and what a link says of both."""

    jetstream: JetStream
    link: Link
    name: str
    loss: MessageLoss | None = None

    async def publish(self, number: int) -> None:
        for _ in range(number):
            await self.jetstream.publish(f"{self.name}.new", b"x")

    async def process(self, number: int, *, ack: bool = True) -> None:
        """Take messages, and wait until the server knows that they were acknowledged."""
        consumer = self.jetstream.consumer(self.name, "reader")
        taken = await consumer.fetch(number, wait=Wait.FIRST)
        assert len(taken) == number
        for message in taken if ack else ():
            message.ack()
        if ack:
            await eventually_async(self._is_acked, "acknowledgements")

    async def _is_acked(self) -> bool:
        return not (await self.jetstream.consumers.info(self.name, "reader")).num_ack_pending

    async def purge(self) -> None:
        await self.jetstream.streams.purge(self.name)

    async def delete(self, sequence: int) -> None:
        await self.jetstream.streams.delete_message(self.name, sequence)

    async def look(self) -> MessageLoss:
        position = await self.link.position(Place(self.link.account, self.name, "reader"))
        assert isinstance(position, ConsumerPosition)
        self.loss = count_losses(self.loss, position)
        return self.loss


@asynccontextmanager
async def reading(
    url: str,
    link: Link,
    stream: dict[str, Any] | None = None,
    **consumer: Any,  # noqa: ANN401 - the server's own fields
) -> AsyncIterator[Reading]:
    async with Connection(url) as connection:
        jetstream = JetStream(connection)
        name = f"S{len([each async for each in jetstream.streams.names()])}"
        await jetstream.streams.create(a_stream(name, **(stream or {"max_msgs": MOST})))
        it = Reading(jetstream, link, name)
        await it.publish(MOST + FIRST - 1)
        await jetstream.consumers.create(name, a_consumer(**consumer))
        assert not (await it.look()).expired, "what was gone before the consumer was created"
        yield it


async def overtaken_while_it_stands_still(it: Reading) -> int:
    await it.publish(MOST + 30)
    return MOST + 30


async def overtaken_while_it_works(it: Reading) -> int:
    for _ in range(3):
        await it.process(10)
        await it.publish(40)
    await it.process(10)
    return 90


async def overtaken_between_two_readings(it: Reading) -> int:
    await it.process(10)
    await it.publish(60)
    await it.process(MOST)
    return 50


async def purged(it: Reading) -> int:
    await it.process(10)
    await it.purge()
    await it.publish(5)
    return MOST - 10


async def deleted(it: Reading) -> int:
    await it.delete(50)
    await it.delete(FIRST)
    await it.process(MOST - 2)
    return 2


async def processed_before_it_is_removed(it: Reading) -> int:
    await it.process(MOST)
    await it.publish(MOST)
    await it.process(MOST)
    await it.publish(MOST)
    return 0


async def unacknowledged_when_it_is_removed(it: Reading) -> int:
    await it.process(MOST, ack=False)
    await it.publish(MOST)
    return 0


CASES = {
    case.__name__.replace("_", " "): case
    for case in (
        overtaken_while_it_stands_still,
        overtaken_while_it_works,
        overtaken_between_two_readings,
        purged,
        deleted,
        processed_before_it_is_removed,
        unacknowledged_when_it_is_removed,
    )
}


async def test_messages_that_a_real_stream_removes_are_counted(
    subtests: pytest.Subtests, start_nats: StartNats, kept: Kept
) -> None:
    server = start_nats()
    link = await kept.link_to(server)
    for name, case in CASES.items():
        with subtests.test(name):
            async with reading(server.url, link) as it:
                expected = await case(it)
                loss = await it.look()
                assert loss.expired == expected
                if expected:
                    assert "maxMessages: 100" in loss.limits


@pytest.mark.parametrize("version", OLD_AND_NEW)
async def test_messages_that_reach_max_deliver_are_counted(
    version: str | None, start_nats: StartNats, kept: Kept
) -> None:
    server = start_nats(version=version)
    async with reading(server.url, await kept.link_to(server), {}, max_deliver=2) as it:

        async def has_given_up() -> bool:
            for message in await it.jetstream.consumer(it.name, "reader").fetch(10, wait=Wait.NOTHING):
                message.nak() if message.metadata.stream_sequence <= FIRST + 2 else message.ack()
            return (await it.look()).given_up == 3

        await eventually_async(has_given_up, "three messages given up")
        await it.publish(5)
        await it.process(1)
        assert (await it.look()).given_up == 3


@pytest.mark.full
async def test_messages_that_expire_are_counted_and_those_of_others_are_not(start_nats: StartNats, kept: Kept) -> None:
    server = start_nats()
    async with reading(server.url, await kept.link_to(server), {"max_age": 2 * 10**9}, filter_subject="*.old") as it:
        await it.jetstream.publish(f"{it.name}.old", b"x")
        await it.look()

        async def is_counted() -> bool:
            return (await it.look()).expired == 1

        await eventually_async(is_counted, "one message of this consumer")
