"""The lane, on real servers: every message comes in a block, every answer is taken, and nothing is lost on the way."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.client.lane import Lane, block_bytes
from penstock_jetstream.core.acks import parse_token
from penstock_jetstream.core.headers import Headers
from penstock_jetstream.core.wire import Block
from penstock_jetstream.errors import ConsumerDeletedError, LinkError, UsageError
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.options import Options
from tests.jetstream.connecting import QUICK, WATCHFUL
from tests.jetstream.scene import SECOND, Scene, on_newest_servers, until
from tests.testbed.nats.fixtures import StartRelay
from tests.testbed.nats.relay import Relay
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually_async

MAX_PAYLOAD_BYTES = 1 << 20


async def take(lane: Lane, messages: int) -> list[Block]:
    """Take blocks until so many messages have come."""
    blocks: list[Block] = []
    async with asyncio.timeout(60):
        async for block in lane:
            blocks.append(block)
            if sum(map(len, blocks)) >= messages:
                break
    return blocks


def numbers(blocks: list[Block]) -> list[int]:
    return [int(payload) for block in blocks for payload in block.payloads]


def replies(blocks: list[Block]) -> list[bytes]:
    return [reply for block in blocks for reply in block.replies]


@on_newest_servers
@pytest.mark.interpreter
async def test_lane_brings_every_message_once_and_in_order(it: Scene) -> None:
    consumer = await it.create()
    await it.fill(2000)
    async with consumer.lane(max_messages=300) as lane:
        seen = []
        async for block in lane:
            lane.ack(block.replies)
            seen += numbers([block])
            if len(seen) == 2000:
                break
    assert seen == list(range(1, 2001))
    await it.until(lambda info: not info.num_ack_pending and not info.num_pending)


@pytest.mark.requirement("S-18", "S-19")
@on_newest_servers
async def test_row_of_a_block_has_all_that_a_message_has_and_any_payload(it: Scene) -> None:
    consumer = await it.create()
    payloads = [b"plain", os.urandom(MAX_PAYLOAD_BYTES), b"\r\n" * 1000, b"", os.urandom(70_000), b"\r\nPING\r\n"]
    await it.publish(*payloads, subject="a")
    await it.publish(b"with\r\nMSG x 1 2\r\nheaders", subject="b", headers={"Key": "value"})
    await it.publish(b"", subject="c")
    async with consumer.lane() as lane:
        blocks = await take(lane, 8)
    rows = [(block, index) for block in blocks for index in range(len(block))]
    subjects = [block.subjects[index].decode() for block, index in rows]
    assert subjects == [f"{it.stream}.{token}" for token in "aaaaaabc"]
    assert [block.payloads[index] for block, index in rows] == [*payloads, b"with\r\nMSG x 1 2\r\nheaders", b""]
    assert [parse_token(block.replies[index]).stream_sequence for block, index in rows] == list(range(1, 9))
    (header,) = [header for block in blocks for header in block.headers.values()]
    assert Headers(header)["Key"] == "value"


async def test_answers_of_ten_thousand_messages_are_one_write(it: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = await it.create(max_ack_pending=20_000)
    await it.fill(10_000)
    async with consumer.lane(max_messages=10_000) as lane:
        held = replies(await take(lane, 10_000))
        sent: list[bytes] = []
        send = it.connection.send

        def watched(data: bytes) -> None:
            sent.append(data)
            send(data)

        monkeypatch.setattr(it.connection, "send", watched)
        lane.in_progress(held)
        lane.ack(held)
        assert [data.count(b"+WPI") for data in sent] == [10_000, 0]
        assert [data.count(b"+ACK") for data in sent] == [0, 10_000]
        await it.until(lambda info: not info.num_ack_pending)


@on_newest_servers
async def test_settled_messages_are_acknowledged_when_that_returns(it: Scene) -> None:
    """Each by itself, or all before one where the policy of the consumer is all."""
    await it.fill(5000)
    consumer = await it.create("explicit", max_ack_pending=5000)
    of_all = await it.create("all", ack_policy="all", max_ack_pending=5000)
    async with consumer.lane(max_messages=5000) as lane:
        held = replies(await take(lane, 5000))
        await lane.settle(held[:4000])
        info = await it.info("explicit")
    assert (info.num_ack_pending, info.ack_floor.stream_sequence) == (1000, 4000)
    async with of_all.lane() as lane:
        held = replies(await take(lane, 5000))
        await lane.settle(held[-1:])
        assert (await it.info("all")).num_ack_pending == 0


@pytest.mark.requirement("V-01")
async def test_messages_in_work_are_not_redelivered(it: Scene) -> None:
    """Naive: to take a batch and ack it when it is done, however long that takes."""
    consumer = await it.create(ack_wait=4 * SECOND)
    await it.fill(100)
    async with consumer.lane(max_messages=100) as lane:
        held = replies(await take(lane, 100))
        for _ in range(9):
            await asyncio.sleep(0.5)  # calm: the work, which takes longer than the ack wait in all
            lane.in_progress(held)
        await lane.settle(held)
    info = await it.info()
    assert (info.num_redelivered, info.num_ack_pending) == (0, 0)


async def test_messages_can_be_given_back_and_given_up(it: Scene) -> None:
    consumer = await it.create()
    await it.fill(10)
    async with consumer.lane() as lane:
        held = replies(await take(lane, 10))
        lane.term(held[:4], "no such customer")
        lane.nak(held[4:7])
        lane.nak(held[7:], delay_seconds=3600)
        again = await take(lane, 3)
        assert [parse_token(reply).delivered for reply in replies(again)] == [2, 2, 2]
        assert numbers(again) == [5, 6, 7]
        assert (await it.info()).num_ack_pending == 6


@pytest.mark.requirement("S-22")
async def test_with_ack_policy_none_no_answer_is_sent(it: Scene) -> None:
    async with it.watched(f"$JS.ACK.{it.stream}.>") as answers:
        consumer = await it.create(ack_policy="none")
        await it.fill(10)
        async with consumer.lane() as lane:
            held = replies(await take(lane, 10))
            lane.ack(held)
            await lane.settle(held)
        it.connection.publish(f"$JS.ACK.{it.stream}.the-end")
        await until(lambda: answers)
        assert [answer.subject for answer in answers] == [f"$JS.ACK.{it.stream}.the-end"]


@pytest.mark.requirement("C-35", "C-04")
async def test_lane_holds_no_more_than_its_maximum_which_is_redelivered_at_once_when_it_stops(it: Scene) -> None:
    """Naive: what was prefetched waits until its ack wait, here a minute, has run out."""
    consumer = await it.create(ack_wait=60 * SECOND)
    await it.fill(500)
    async with consumer.lane(max_messages=50):
        await it.until_pending(50)
        await it.connection.flush()
        assert (await it.info()).num_ack_pending == 50
    async with consumer.lane(max_messages=500) as lane:
        assert sorted(numbers(await take(lane, 500))) == list(range(1, 501))


async def test_drained_lane_hands_out_what_it_has_and_ends(it: Scene) -> None:
    consumer = await it.create()
    await it.fill(100)
    async with consumer.lane(max_messages=40) as lane:
        await it.until_pending(40)
        lane.drain()
        blocks = [block async for block in lane]
    assert numbers(blocks) == list(range(1, 41))


@pytest.mark.requirement("C-36")
async def test_bytes_are_counted_as_the_server_counts_them(it: Scene) -> None:
    """Without an exact count the budget would leak: 60 budgets' worth of messages pass here."""
    consumer = await it.create()
    for number in range(300):
        await it.publish(b"x" * 100, headers={"Number": str(number)})
    async with consumer.lane(max_bytes=1000) as lane:
        blocks = []
        async for block in lane:
            assert block_bytes(block, has_pins=False) <= 1000
            blocks.append(block)
            lane.ack(block.replies)
            if sum(map(len, blocks)) == 300:
                break
    assert it.reports == []


@pytest.mark.requirement("C-40")
async def test_lane_that_has_not_begun_or_whose_consumer_is_deleted_ends_with_an_error(it: Scene) -> None:
    consumer = await it.create()
    with pytest.raises(UsageError, match="async with"):
        await take(consumer.lane(), 1)
    async with consumer.lane() as lane:
        await it.until_waiting()
        await consumer.delete()
        with pytest.raises(ConsumerDeletedError, match=f"c of stream {it.stream}"):
            await take(lane, 1)


async def test_settling_over_a_lost_link_may_be_repeated(
    it: Scene, server: NatsServer, start_relay: StartRelay
) -> None:
    relay = start_relay(server.port)
    async with lane_over_a_relay(it, relay, WATCHFUL) as (lane, _, held):
        relay.half_open()
        with pytest.raises(LinkError):
            await lane.settle(held, timeout_seconds=60)
        relay.heal()
        await settle_at_last(lane, held)
    assert (await it.info()).num_ack_pending == 0


async def test_acks_leave_over_the_link_that_confirms_them(
    it: Scene, server: NatsServer, start_relay: StartRelay
) -> None:
    """Naive: the acks leave with the next link, and the last one is confirmed by the one after that."""
    relay = start_relay(server.port)
    async with lane_over_a_relay(it, relay, QUICK) as (lane, far, held):
        relay.cut(refuse=True)
        await until(lambda: not far.is_connected)
        settling = asyncio.create_task(lane.settle(held, timeout_seconds=60))
        await asyncio.sleep(0)  # calm: it begins
        assert far.pending_bytes == 0
        relay.heal()
        await settling
    assert (await it.info()).num_ack_pending == 0


@asynccontextmanager
async def lane_over_a_relay(
    it: Scene, relay: Relay, options: Options
) -> AsyncIterator[tuple[Lane, Connection, list[bytes]]]:
    """Take 100 messages over a connection that can be broken."""
    await it.create(ack_wait=60 * SECOND)
    await it.fill(100)
    async with Connection(relay.url, options=options) as far, JetStream(far).consumer(it.stream, "c").lane() as lane:
        yield lane, far, replies(await take(lane, 100))


async def settle_at_last(lane: Lane, held: list[bytes]) -> None:
    """Settle over a link that may break once more: it is taken for dead when the server is stopped for a moment."""

    async def is_settled() -> bool:
        await lane.settle(held, timeout_seconds=60)
        return True

    await eventually_async(is_settled, "settled", not_yet=(LinkError,))
