"""What becomes of a message when it is answered, as its consumer shows it."""

import asyncio
import json
from collections.abc import Callable

import pytest

from penstock_jetstream.client.message import Message
from penstock_jetstream.errors import NoRespondersError
from tests.jetstream.scene import SECOND, Scene, on_every_server, until

FINAL: dict[str, Callable[[Message], None]] = {
    "ack": Message.ack,
    "term": Message.term,
    "reason": lambda message: message.term("cannot be read: no such région"),
}


@pytest.mark.requirement("S-18", "S-20", "S-19")
@on_every_server
async def test_acked_or_terminated_message_is_done(it: Scene, subtests: pytest.Subtests) -> None:
    await it.fill(2)
    for name, answer in FINAL.items():
        with subtests.test(name):
            consumer = await it.create(name)
            for message in await consumer.fetch(2):
                answer(message)
            await it.until(lambda info: info.ack_floor.stream_sequence == 2 and info.num_ack_pending == 0, name)


@pytest.mark.requirement("S-20", "V-05")
@on_every_server
async def test_reason_of_a_termination_stands_in_the_servers_advisory(it: Scene, fresh_name: str) -> None:
    consumer = await it.create()
    await it.fill(1)
    async with it.watched(f"$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.{fresh_name}.c") as advisories:
        (message,) = await consumer.fetch(1)
        message.term("rotten: 3 bytes")
        await until(lambda: advisories)
        assert json.loads(advisories[0].payload)["reason"] == "rotten: 3 bytes"


@pytest.mark.requirement("S-20")
@on_every_server
async def test_nak_has_the_message_redelivered_at_once_or_after_a_delay(it: Scene) -> None:
    consumer, message = await it.one_message()
    message.nak()
    (message,) = await consumer.fetch(1)
    began = asyncio.get_running_loop().time()
    message.nak(0.1)
    (message,) = await consumer.fetch(1)
    assert asyncio.get_running_loop().time() - began >= 0.1
    assert message.metadata.delivered == 3


@pytest.mark.requirement("S-20", "V-01")
@pytest.mark.full
@on_every_server
async def test_progress_holds_the_message_beyond_its_ack_wait(it: Scene) -> None:
    consumer, message = await it.one_message(ack_wait=4 * SECOND)
    for _ in range(3):
        assert await consumer.fetch(1, expires_seconds=1.5) == []
        message.in_progress()
    await message.double_ack()


@pytest.mark.requirement("S-21")
async def test_only_the_first_final_answer_is_sent(it: Scene, fresh_name: str) -> None:
    async with it.watched(f"$JS.ACK.{fresh_name}.>") as answers:
        _, message = await it.one_message()
        message.in_progress()
        message.ack()
        message.nak()
        message.term("late")
        message.in_progress()
        assert not await message.double_ack()
        await it.connection.flush()
        await until(lambda: len(answers) == 2)
        assert [answer.payload for answer in answers] == [b"+WPI", b"+ACK"]


@pytest.mark.requirement("S-22")
@on_every_server
async def test_without_acknowledgements_no_answer_is_sent(it: Scene, fresh_name: str) -> None:
    async with it.watched(f"$JS.ACK.{fresh_name}.>") as answers:
        _, message = await it.one_message(ack_policy="none")
        message.ack()
        message.nak()
        assert not await message.double_ack()
        await it.connection.flush()
        it.connection.publish(f"$JS.ACK.{fresh_name}.the-end")
        await until(lambda: answers)
        assert [answer.subject for answer in answers] == [f"$JS.ACK.{fresh_name}.the-end"]


@pytest.mark.requirement("S-20", "S-23")
@on_every_server
async def test_double_ack_returns_when_taken_and_may_be_repeated_after_an_error(it: Scene) -> None:
    consumer, message = await it.one_message()
    assert await message.double_ack()
    assert (await it.info()).num_ack_pending == 0
    await it.fill(1)
    (message,) = await consumer.fetch(1)
    await consumer.delete()
    for _ in range(2):
        with pytest.raises(NoRespondersError):
            await message.double_ack()
    assert not message.is_settled


@pytest.mark.requirement("S-20")
@on_every_server
async def test_one_ack_is_enough_where_the_policy_is_all(it: Scene) -> None:
    consumer = await it.create(ack_policy="all")
    await it.fill(10)
    messages = await consumer.fetch(10)
    await messages[8].double_ack()
    info = await it.info()
    assert (info.num_ack_pending, info.ack_floor.stream_sequence) == (1, 9)
