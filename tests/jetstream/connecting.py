"""What tests of the connection share: handlers and listeners that keep what they get, logins, and links to cut."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.encryption import Tls
from penstock_jetstream.transport.events import LinkEvent
from penstock_jetstream.transport.identity import Auth, Credentials, Nkey, Nobody, Token, UserPassword
from penstock_jetstream.transport.options import Options
from tests.testbed.nats.authentication import Access
from tests.testbed.nats.encryption import Encryption
from tests.testbed.nats.fixtures import StartNats, StartRelay
from tests.testbed.nats.relay import Relay
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import WITHIN_SECONDS, eventually_async

QUICK = Options(connect_timeout_seconds=30, ping_interval_seconds=60, most_backoff_seconds=0.2)
"""Reconnects soon, and does not take a server that was stopped for a moment for dead."""
WATCHFUL = replace(QUICK, connect_timeout_seconds=2, ping_interval_seconds=0.5, close_timeout_seconds=2)
"""Notices soon that a peer is silent. It takes a stopped server for one, so that links may break unexpectedly."""

E = TypeVar("E", bound=LinkEvent)


class Changing:
    """Something that a test waits for to change."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def change(self) -> None:
        self._changed.set()

    async def until(self, condition: Callable[[], bool], seconds: float = WITHIN_SECONDS) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                self._changed.clear()
                await self._changed.wait()


class Heard(Changing):
    """A handler that keeps what it hears."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[tuple[bytes, bytes, bytes, bytes]] = []

    def __call__(self, subject: bytes, reply: bytes, header: bytes, payload: bytes) -> None:
        self.messages.append((subject, reply, header, payload))
        self.change()

    @property
    def payloads(self) -> list[bytes]:
        return [message[3] for message in self.messages]

    async def have(self, count: int) -> list[bytes]:
        """Return the payloads, once there are so many."""
        await self.until(lambda: len(self.messages) >= count)
        return self.payloads


class Events(Changing):
    """A listener that keeps what happens to a connection."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self.all: list[LinkEvent] = []
        self.remove = connection.listen(self._take)

    def _take(self, event: LinkEvent) -> None:
        self.all.append(event)
        self.change()

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.all if isinstance(event, kind)]

    async def have(self, kind: type[E], count: int = 1) -> E:
        """Return the event of that kind that comes as the `count`th."""
        await self.until(lambda: len(self.of(kind)) >= count)
        return self.of(kind)[count - 1]


def login(access: Access) -> Auth:
    """Return what gets into a server of the testbed, as our library has it."""
    match access.client.arguments:
        case {"user": user, "password": password}:
            return UserPassword(user, password)
        case {"token": token}:
            return Token(token)
        case {"nkeys_seed": file}:
            return Nkey(Path(file))
        case {"user_credentials": file}:
            return Credentials(Path(file))
        case _:
            return Nobody()


def trust(encryption: Encryption) -> Tls:
    """Return what reaches an encrypted server of the testbed, as our library has it."""
    shown = encryption.client_certificate
    return Tls(
        ca=encryption.authority,
        certificate=shown.certificate if shown else None,
        key=shown.key if shown else None,
        handshake_first=encryption.handshake_first,
    )


def echo(connection: Connection, subject: str) -> None:
    """Answer requests with what they say."""

    def answer(_subject: bytes, reply: bytes, _header: bytes, payload: bytes) -> None:
        connection.publish(reply.decode(), payload)

    connection.subscribe(subject, answer)


@dataclass
class Fragile:
    """A connection through a relay, to a server of its own, that can be lost before what it sent has arrived."""

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
