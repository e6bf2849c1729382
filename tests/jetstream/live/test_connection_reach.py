"""Sockets that come from elsewhere: a server that cannot be dialled is reached, and still has to be who it says."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from penstock_jetstream.errors import LinkError
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.encryption import Tls
from penstock_jetstream.transport.options import Reach
from tests.jetstream.connecting import QUICK
from tests.testbed.certificates import Authority
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer
from tests.testbed.run import current

pytestmark = pytest.mark.interpreter
PIECE_BYTES = 4096


class Tunnel:
    """Leads to one server, whatever the address, by one end of a pair of sockets."""

    def __init__(self, server: NatsServer) -> None:
        self._port = server.port
        self.asked: list[tuple[str, int]] = []
        self._carrying: list[asyncio.Task[None]] = []

    async def reach(self, host: str, port: int) -> socket.socket | None:
        self.asked.append((host, port))
        ours, theirs = socket.socketpair()
        theirs.settimeout(0)
        near, far = await asyncio.open_connection(sock=ours), await asyncio.open_connection("127.0.0.1", self._port)
        for (reader, _), (_, writer) in ((near, far), (far, near)):
            self._carrying.append(asyncio.create_task(carry(reader, writer)))
        return theirs

    async def ended(self) -> None:
        await asyncio.gather(*self._carrying)


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(PIECE_BYTES):
        writer.write(piece)
        await writer.drain()
    writer.close()
    await writer.wait_closed()


@asynccontextmanager
async def tunnel_to(server: NatsServer) -> AsyncIterator[Tunnel]:
    tunnel = Tunnel(server)
    yield tunnel
    await tunnel.ended()


def connection(url: str, reach: Reach, tls: Tls | None = None) -> Connection:
    return Connection(url, tls=tls, options=replace(QUICK, reach=reach))


async def test_server_that_no_name_leads_to_is_reached_by_a_socket_from_elsewhere(start_nats: StartNats) -> None:
    async with tunnel_to(start_nats()) as tunnel:
        async with connection("nats://nats.inside:4333", tunnel.reach) as opened:
            await opened.flush()
        assert tunnel.asked == [("nats.inside", 4333)]


async def test_tls_over_such_a_socket_checks_the_name_of_the_address(start_nats: StartNats) -> None:
    folder = current().new_folder("tls")
    authority = Authority.new("inside")
    files = authority.server("nats.inside").write(folder, "nats.inside")
    ca = authority.certificate.write(folder, "inside").certificate
    named = {"cert_file": str(files.certificate), "key_file": str(files.key), "ca_file": str(ca)}
    async with tunnel_to(start_nats(extra={"tls": named})) as tunnel:
        async with connection("nats://nats.inside", tunnel.reach, Tls(ca=ca)) as opened:
            await opened.flush()
        with pytest.raises(LinkError, match=r"nats\.elsewhere:4222 is not trusted"):
            await connection("nats://nats.elsewhere", tunnel.reach, Tls(ca=ca)).open()


async def test_address_is_dialled_without_a_socket_and_small_writes_are_not_delayed(server: NatsServer) -> None:
    """Naive: without TCP_NODELAY the second of two small writes waits for the peer's delayed ACK, 40 ms on Linux."""
    sockets: list[socket.socket | None] = [None, socket.create_connection(("127.0.0.1", server.port))]
    left = iter(sockets)

    async def reach(_host: str, _port: int) -> socket.socket | None:
        return next(left)

    for plain in sockets:
        if plain is not None:
            plain.settimeout(0)
        async with connection(server.url, reach) as opened:
            await opened.flush()
            assert plain is None or plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
