"""Answers to any number of messages are sent, however slow the server is."""

import asyncio

import pytest

from penstock_jetstream import Connection
from penstock_jetstream.errors import LinkError
from penstock_worker.engine.answers import MOST_WAITING_BYTES, SLICE_MESSAGES, Answers, Settlement
from tests.jetstream.connecting import QUICK
from tests.testbed.nats.fixtures import StartNats, StartRelay
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually_async

REPLY = b"answers.ORDERS.orders-etl.1.100000000.100000000.1763500000000000000.%d"
MESSAGES = 800_000
"""Their answers are 80 MB; a connection takes 64 MiB."""
SLICE_BYTES = SLICE_MESSAGES * 128


@pytest.mark.full
async def test_answers_to_more_messages_than_a_connection_buffers_are_sent(start_nats: StartNats) -> None:
    replies = [REPLY % message for message in range(MESSAGES)]
    server = start_nats()
    seen: list[bytes] = []
    async with Connection(server.url) as connection, Connection(server.url) as other, asyncio.TaskGroup() as tasks:
        other.subscribe((REPLY % (MESSAGES - 1)).decode(), lambda _subject, _reply, _header, data: seen.append(data))
        await other.flush()
        answers = Answers(connection)
        sending = tasks.create_task(answers.run())
        with server.frozen():
            answers.in_progress(replies)
            answers.in_progress(replies)
            answers.nak(replies, 0)
            await eventually_async(lambda: connection.pending_bytes > MOST_WAITING_BYTES, "the server is waited for")
            assert connection.pending_bytes < MOST_WAITING_BYTES + SLICE_BYTES
        await answers.sent()
        await eventually_async(lambda: len(seen) == 2, "the last answers of both arrive")
        sending.cancel()
    assert seen == [b"+WPI", b"-NAK"], "what was said first is sent first, and renewals only once"


async def test_settlement_that_begins_on_one_link_and_ends_on_another_is_not_confirmed(
    nats_server: NatsServer, start_relay: StartRelay
) -> None:
    """What was sent over the first link may be lost."""
    relay = start_relay(nats_server.port)
    settlement = Settlement([b"first", b"last"], [])
    async with Connection(relay.url, options=QUICK) as connection, Connection(nats_server.url) as other:
        other.subscribe("last", lambda _subject, reply, *_: other.publish(reply.decode()))
        await other.flush()
        await Answers(connection).settle(settlement)
        relay.cut(refuse=True)
        await eventually_async(lambda: not connection.is_connected, "the link is lost")
        settling = asyncio.create_task(Answers(connection).settle(settlement))
        relay.heal()
        with pytest.raises(LinkError):
            await settling
