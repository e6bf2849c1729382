"""One link to one server, from its first byte to its end.

Knows the socket's events and NATS's housekeeping: INFO, PING, PONG, -ERR. Hands messages to whom it was told to. Does
not know how links are made (dialing.py), or that there may be another after this one (connection.py).
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol, cast

from typing_extensions import override

from penstock_jetstream.core import wire
from penstock_jetstream.core.pulse import Pulse
from penstock_jetstream.core.servers import Address
from penstock_jetstream.core.session import ServerInfo, is_permission, refusal_error
from penstock_jetstream.errors import AuthenticationError, JetStreamError, LinkError, ProtocolError
from penstock_jetstream.transport.faults import explained

READ_BYTES = 256 << 10
SMALL_READ_BYTES = READ_BYTES // 2
"""A read below this was made too early, if many messages are on their way."""
WRITE_BACKLOG_BYTES = 1 << 20
"""With more than this in the transport, it is given no more: what waits with us survives the link."""

Control = Callable[[wire.Event], None]
Deliver = Callable[[list[wire.Event], Control], None]
"""Hands on messages and blocks, and gives back all other events through the second argument."""


class Owner(Protocol):
    """Who a link tells what happens to it, once it is established."""

    def link_informed(self, link: "Link") -> None:
        """The server has said something new of itself."""

    def link_refused(self, link: "Link", text: str) -> None:
        """The server did not like something."""

    def link_writable(self, link: "Link") -> None:
        """The backlog is gone."""

    def link_over(self, link: "Link", reason: JetStreamError) -> None:
        """Nothing more goes out or comes in."""


class Link(asyncio.BufferedProtocol):
    """Made for each attempt to connect; it is of no more use when `over` is done."""

    def __init__(self, address: Address, deliver: Deliver, block_sids: set[bytes], max_message_bytes: int) -> None:
        self.address = address
        self.info = ServerInfo()
        self.is_writable = True
        self.handed_over_bytes = 0
        self.moderation_seconds: float = 0
        loop = asyncio.get_running_loop()
        self.started_at = loop.time()
        self.informed: asyncio.Future[None] = loop.create_future()
        """Done when the server has greeted."""
        self.leaving: asyncio.Future[None] = loop.create_future()
        """Done when the server has said that it will shut down."""
        self.over: asyncio.Future[JetStreamError] = loop.create_future()
        """Done, with the reason, when nothing more goes out or comes in."""
        self.gone: asyncio.Future[None] = loop.create_future()
        """Done when the socket is closed."""
        self._loop = loop
        self._owner: Owner | None = None
        self._deliver = deliver
        self._parser = wire.Parser(max_message_bytes)
        self._parser.block_sids = block_sids
        self._block_sids = block_sids
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._transport: asyncio.Transport | None = None
        self._pongs: deque[asyncio.Future[None] | None] = deque()
        self._pulse = Pulse()
        self._heard = True
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._is_held = False
        self._refusal = ""

    def establish(self, owner: Owner) -> None:
        """From now on the owner is told what happens."""
        self._owner = owner

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self.over.done():
            self.handed_over_bytes += len(data)
            self._transport.write(data)

    @property
    def is_encrypted(self) -> bool:
        return self._transport is not None and self._transport.get_extra_info("ssl_object") is not None

    @property
    def backlog_bytes(self) -> int:
        """How much the transport could not yet give to the system."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def expect_pong(self, waiter: asyncio.Future[None] | None) -> None:
        """Take note that a PING is being sent; answers come in the order of the questions."""
        if self.over.done():
            if waiter is not None:
                waiter.set_exception(self.over.result())
        else:
            self._pongs.append(waiter)

    def end(self, reason: JetStreamError) -> None:
        """Drop it now, whatever is on its way."""
        self._finish(reason)
        if self._transport is not None:
            self._transport.abort()

    async def abandon(self, reason: JetStreamError) -> None:
        """Drop it, and return when the socket is closed."""
        self.end(reason)
        if self._transport is not None:
            await asyncio.wait([self.gone])

    async def close(self, reason: JetStreamError, timeout_seconds: float = 1) -> None:
        """Send what the transport still has, within the time, and close the socket."""
        self._finish(reason)
        if self._transport is None:
            return
        self._transport.close()
        await asyncio.wait([self.gone], timeout=timeout_seconds)
        await self.abandon(reason)

    # Reading.

    def hold_reading(self, *, hold: bool) -> None:
        """Stop reading, or go on: the server keeps what it cannot send, and the bound of memory is ours."""
        self._is_held = hold
        self._heard = True
        self._read_or_not()

    def _read_or_not(self) -> None:
        if self._transport is None or self.over.done():
            return
        wanted = not self._is_held and "moderation" not in self._timers
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    @override
    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    @override
    def buffer_updated(self, nbytes: int) -> None:
        self.feed(self._buffer[:nbytes].tobytes())
        if self.moderation_seconds and self._block_sids and nbytes < SMALL_READ_BYTES:
            self._timers["moderation"] = self._loop.call_later(self.moderation_seconds, self._moderated)
            self._read_or_not()

    def _moderated(self) -> None:
        self._timers.pop("moderation", None)
        self._read_or_not()

    def feed(self, data: bytes) -> None:
        self._heard = True
        try:
            self._deliver(self._parser.feed(data), self._control)
        except ProtocolError as problem:
            self.end(ProtocolError(f"{self.address} was dropped. {problem.sentence}"))

    def _control(self, event: wire.Event) -> None:
        match event:
            case wire.Ping():
                self.write(wire.PONG)
            case wire.Pong():
                waiter = self._pongs.popleft() if self._pongs else None
                if waiter is not None and not waiter.done():
                    waiter.set_result(None)
            case wire.Info(facts):
                self._take_info(ServerInfo.from_facts({**self.info.facts, **facts}))
            case wire.Refusal(text):
                self._take_refusal(text)
            case _:
                pass  # +OK: we do not ask for it

    def _take_info(self, info: ServerInfo) -> None:
        self.info = info
        if not self.informed.done():
            self.informed.set_result(None)
        if info.lame_duck and not self.leaving.done():
            self.leaving.set_result(None)
        if self._owner is not None:
            self._owner.link_informed(self)

    def _take_refusal(self, text: str) -> None:
        """Keep it as the reason for what most likely follows: the server closes the link."""
        if self._owner is None:
            self.end(refusal_error(str(self.address), text))
            return
        if not is_permission(text):
            self._refusal = text
        self._owner.link_refused(self, text)

    # The peer's life.

    def keep_watch(self, interval_seconds: float, ping: Callable[[], None]) -> None:
        """Send a PING every interval, and end the link if nothing answers."""
        if self.over.done():
            return
        self._timers["watch"] = self._loop.call_later(interval_seconds, self._look, interval_seconds, ping)

    def _look(self, interval_seconds: float, ping: Callable[[], None]) -> None:
        heard, self._heard = self._heard or self._is_held, False
        if self._pulse.beats(heard=heard, handed_over_bytes=self.handed_over_bytes, backlog_bytes=self.backlog_bytes):
            ping()
            self.keep_watch(interval_seconds, ping)
        else:
            self.end(LinkError(f"{self.address} does not answer any more: two PINGs, {interval_seconds:g} s apart."))

    # What asyncio calls.

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=WRITE_BACKLOG_BYTES)

    @override
    def pause_writing(self) -> None:
        self.is_writable = False

    @override
    def resume_writing(self) -> None:
        self.is_writable = True
        if self._owner is not None and not self.over.done():
            self._owner.link_writable(self)

    @override
    def eof_received(self) -> None:
        self.end(self._ended_by_server())

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._finish(self._ended_by_server(exc))
        self._transport = None
        self.gone.set_result(None)

    def _ended_by_server(self, problem: Exception | None = None) -> JetStreamError:
        if self._refusal:
            return refusal_error(str(self.address), self._refusal)
        if self.info.tls_verify and self._owner is None:
            return AuthenticationError(
                f"{self.address} closed the connection before it was established, and it looks at certificates.",
                advice="Give one that its authority issued: Tls(certificate=..., key=...).",
            )
        return explained(self.address, problem) if problem else LinkError(f"{self.address} closed the connection.")

    def _finish(self, reason: JetStreamError) -> None:
        if self.over.done():
            return
        self.over.set_result(reason)
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for waiter in self._pongs:
            if waiter is not None and not waiter.done():
                waiter.set_exception(reason)
        self._pongs.clear()
        if not self.informed.done():
            self.informed.set_exception(reason)
            self.informed.exception()  # it need not interest anyone
        if self._owner is not None:
            self._owner.link_over(self, reason)
