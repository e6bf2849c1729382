"""A connection that a test can lose while what it sent has not reached the server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from penstock_jetstream.transport.connection import Connection
from tests.testbed.nats.fixtures import StartNats, StartRelay
from tests.testbed.nats.relay import Relay
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually_async


@dataclass
class Fragile:
    """A connection through a relay, to a server of its own."""

    server: NatsServer
    connection: Connection
    _relay: Relay

    async def lose(self) -> None:
        """Cut the link once everything is sent. Freeze the server before, so that it cannot answer."""
        await asyncio.sleep(0)  # calm: yields once, so that tasks that were just made begin
        await eventually_async(lambda: not self.connection.pending_bytes, "everything sent")
        self._relay.cut()


@asynccontextmanager
async def fragile(start_nats: StartNats, start_relay: StartRelay) -> AsyncIterator[Fragile]:
    server = start_nats()
    relay = start_relay(server.port)
    async with Connection(relay.url) as connection:
        yield Fragile(server, connection, relay)
