"""Messages that come after all: a server that was silent for too long still has the pulls that were given up."""

import asyncio

import pytest

from penstock_jetstream.core.acks import parse_token
from penstock_jetstream.errors import HeartbeatMissedError
from tests.jetstream.scene import Scene, read, scene, until
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer


async def given_up(it: Scene, server: NatsServer) -> None:
    """Let a pull be given up and another be made, both of which the server then has."""
    await it.until_waiting(1)
    with server.frozen():
        await until(lambda: any(isinstance(report, HeartbeatMissedError) for report in it.reports))
    await it.until_waiting(2)


@pytest.mark.requirement("C-30", "C-35", "C-51")
async def test_late_messages_are_handed_out_and_no_more_is_asked_for_because_of_them(start_nats: StartNats) -> None:
    """Naive: they are taken for those of the new pull, which lets too much be asked for from then on."""
    server = start_nats()
    async with scene(server.url, "S") as it:
        consumer = await it.create()
        seen: set[int] = set()
        async with consumer.consume(max_messages=4, expires_seconds=10, idle_heartbeat_seconds=0.5) as messages:
            await given_up(it, server)
            await it.fill(12)
            await it.until_pending(8)
            await read(messages, seen, 12)
        assert seen == set(range(1, 13))


@pytest.mark.requirement("C-30", "C-51")
async def test_lane_hands_out_late_blocks_too(start_nats: StartNats) -> None:
    server = start_nats()
    async with scene(server.url, "S") as it:
        consumer = await it.create()
        seen: set[int] = set()
        async with consumer.lane(max_messages=4, expires_seconds=10, idle_heartbeat_seconds=0.5) as lane:
            await given_up(it, server)
            await it.fill(12)
            async with asyncio.timeout(60):
                while len(seen) < 12:
                    block = await anext(lane)
                    seen.update(parse_token(reply).stream_sequence for reply in block.replies)
                    lane.ack(block.replies)
        assert seen == set(range(1, 13))
