"""How a link is made: a socket, the server's greeting, TLS, CONNECT.

Knows the order of these steps and what each may fail of; every step has a deadline. Does not know which server to try,
or what happens afterwards.

Up to the server's greeting the socket is read by hand. So nothing that the server says can get lost between its
greeting and the beginning of TLS, and nothing that someone slipped in there is taken for the server's word.
"""

import asyncio
import socket
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeVar

from penstock_jetstream.core import wire
from penstock_jetstream.core.pulse import MOST_UNANSWERED
from penstock_jetstream.core.servers import Address, is_ip
from penstock_jetstream.core.session import ServerInfo, connect_options
from penstock_jetstream.errors import AuthenticationError, LinkError, ProtocolError
from penstock_jetstream.transport import identity
from penstock_jetstream.transport.encryption import Tls
from penstock_jetstream.transport.faults import explained
from penstock_jetstream.transport.link import Deliver, Link
from penstock_jetstream.transport.options import Options

SSL_SHUTDOWN_SECONDS = 1
GREETING_BYTES = 32 << 10
TCP_FAMILIES = (socket.AF_INET, socket.AF_INET6)
VERSION = version("penstock-jetstream")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Dialer:
    """Makes links, each as the one before. What its files say is read anew each time."""

    name: str
    auth: identity.Auth | None
    tls: Tls | None
    options: Options
    deliver: Deliver
    block_sids: set[bytes]

    async def dial(self, address: Address) -> Link:
        """Return a link that is established, or raise what went wrong; nothing is left open then."""
        link = Link(address, self.deliver, self.block_sids, self.options.max_message_bytes)
        try:
            await self._reach(link)
            await self._introduce(link)
        except BaseException as problem:
            await link.abandon(LinkError(f"The attempt to connect to {address} was given up."))
            if isinstance(problem, Exception):
                raise explained(address, problem) from problem
            raise
        return link

    async def _reach(self, link: Link) -> None:
        """Have a socket, encrypted if that is wanted, and the server's greeting."""
        address, greeting = link.address, b""
        tls = self.tls or (Tls() if address.tls else None)
        plain = await self._within(self._socket(address), f"{address} took no connection")
        try:
            self._tune(plain)
            if tls is None or not tls.handshake_first:
                advice = "If it wants TLS before anything else, say so: Tls(handshake_first=True)."
                greeting = await self._within(_greeting(plain, address), f"{address} did not greet", advice)
                tls = _chosen_encryption(address, greeting, tls)
            await self._within(self._hand_over(plain, link, tls), f"{address} did not finish TLS")
        except BaseException:
            plain.close()
            raise
        if greeting:
            link.feed(greeting)
        await self._within(link.informed, f"{address} did not greet")

    async def _socket(self, address: Address) -> socket.socket:
        reached = await self.options.reach(address.host, address.port) if self.options.reach else None
        return await _connected(address) if reached is None else reached

    def _tune(self, plain: socket.socket) -> None:
        """Have the system notice a peer that takes nothing any more."""
        if hasattr(socket, "TCP_USER_TIMEOUT") and plain.family in TCP_FAMILIES:
            patience_seconds = (1 + MOST_UNANSWERED) * self.options.ping_interval_seconds
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * patience_seconds))

    async def _hand_over(self, plain: socket.socket, link: Link, tls: Tls | None) -> None:
        """Have the event loop read the socket for the link from now on."""
        loop = asyncio.get_running_loop()
        if tls is None:
            await loop.create_connection(lambda: link, sock=plain)
            return
        await loop.create_connection(
            lambda: link,
            sock=plain,
            ssl=tls.new_context(),
            server_hostname=tls.server_name or link.address.server_name or link.address.host,
            ssl_handshake_timeout=self.options.connect_timeout_seconds,
            ssl_shutdown_timeout=SSL_SHUTDOWN_SECONDS,
        )

    async def _introduce(self, link: Link) -> None:
        """Say who we are; the answer to a PING tells that the server accepts it."""
        info = link.info
        encrypted = link.is_encrypted
        proof = self._proof(link.address, info)
        accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        link.expect_pong(accepted)
        link.write(wire.connect(connect_options(self.name, VERSION, proof, encrypted=encrypted)) + wire.PING)
        await self._within(accepted, f"{link.address} did not answer to CONNECT")

    def _proof(self, address: Address, info: ServerInfo) -> Mapping[str, str]:
        return (self.auth or identity.of_url(address)).prove(info.nonce)

    async def _within(self, step: Awaitable[T], failure: str, advice: str = "") -> T:
        seconds = self.options.connect_timeout_seconds
        deadline = asyncio.timeout(seconds)
        try:
            async with deadline:
                return await step
        except TimeoutError as problem:
            if not deadline.expired():
                raise
            raise LinkError(f"{failure} within {seconds:g} s.", advice=advice) from problem


async def _connected(address: Address) -> socket.socket:
    """Return a socket that is connected to the first that answers of all that the name stands for."""
    loop = asyncio.get_running_loop()
    problem: OSError | None = None
    for family, place in await _places(address):
        # With its protocol named: asyncio sends small pieces at once (TCP_NODELAY) only where it sees that it is TCP.
        plain = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            plain.settimeout(0)
            await loop.sock_connect(plain, place)
        except OSError as refused:
            plain.close()
            problem = refused
        except BaseException:
            plain.close()
            raise
        else:
            return plain
    raise problem or OSError("the name stands for nothing")


async def _places(address: Address) -> Sequence[tuple[int, Any]]:
    """Return what the host's name stands for: families and socket addresses. An IP stands for itself, at once."""
    if is_ip(address.host):
        return [(socket.AF_INET6 if ":" in address.host else socket.AF_INET, (address.host, address.port))]
    found = await asyncio.get_running_loop().getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    return [(family, place) for family, _, _, _, place in found]


async def _greeting(plain: socket.socket, address: Address) -> bytes:
    """Return what the server says first: its INFO, and what may have come with it."""
    loop = asyncio.get_running_loop()
    greeting = b""
    while b"\r\n" not in greeting:
        if len(greeting) > wire.MAX_LINE_BYTES:
            raise ProtocolError(f"{address} does not speak NATS: it sends {len(greeting)} bytes without a line's end.")
        more = await loop.sock_recv(plain, GREETING_BYTES)
        if not more:
            raise LinkError(f"{address} closed the connection before it greeted.")
        greeting += more
    return greeting


def _introduced(address: Address, line: bytes) -> ServerInfo:
    try:
        events = wire.Parser().feed(line)
        if events and isinstance(events[0], wire.Info):
            return ServerInfo.from_facts(events[0].facts)
    except ProtocolError as problem:
        raise ProtocolError(f"{address} does not speak NATS. {problem.sentence}") from problem
    raise ProtocolError(f"{address} does not speak NATS: it does not begin with INFO.")


def _chosen_encryption(address: Address, greeting: bytes, tls: Tls | None) -> Tls | None:
    """Return how to encrypt, given what we want and what the server says that it wants."""
    line, end, rest = greeting.partition(b"\r\n")
    info = _introduced(address, line + end)
    if tls is None and not info.tls_required:
        return None
    if not info.tls_required and not info.tls_available:
        raise LinkError(f"{address} does not offer TLS.", advice="Configure it there, or connect without.")
    if rest:
        raise ProtocolError(f"{address} sent something between its greeting and TLS, where nobody may.")
    chosen = tls or Tls()
    if info.tls_verify and not chosen.shows_certificate:
        raise AuthenticationError(
            f"{address} wants to see a certificate.", advice="Give one: Tls(certificate=..., key=...)."
        )
    return chosen
