"""A connection to NATS: one link at a time, and another whenever that ends, until it is closed.

Knows when links are made and lost, and who has to be told. Does not know how a link is made (dialing.py) or works
(link.py), which server is next (core.servers), or what JetStream is.
"""

import asyncio
import random
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from penstock_jetstream.core import wire
from penstock_jetstream.core.headers import HeadersLike, encode
from penstock_jetstream.core.servers import Backoff, Servers, parse
from penstock_jetstream.core.session import ServerInfo, denied_publish
from penstock_jetstream.core.subjects import encode_target
from penstock_jetstream.errors import (
    AuthenticationError,
    ClosedError,
    JetStreamError,
    LinkError,
    RequestTimeoutError,
    UsageError,
)
from penstock_jetstream.transport.dialing import Dialer
from penstock_jetstream.transport.encryption import Tls
from penstock_jetstream.transport.events import (
    Closed,
    Connected,
    Disconnected,
    Failed,
    LameDuck,
    Listener,
    Listeners,
    ServerReported,
)
from penstock_jetstream.transport.identity import Auth
from penstock_jetstream.transport.link import Link
from penstock_jetstream.transport.options import Options
from penstock_jetstream.transport.requests import Reply, Requests
from penstock_jetstream.transport.sender import Sender
from penstock_jetstream.transport.subscriptions import BlockHandler, Handler, Subscription, Subscriptions

AnyFuture = asyncio.Future[Any]
LEAVING_SECONDS = 2
"""How long a server that is about to shut down has for what it has sent already."""


class Connection:
    """Where NATS is and who we are there. Open it by `async with`, in the event loop that uses it."""

    def __init__(
        self,
        servers: str | Sequence[str] = "nats://127.0.0.1:4222",
        *,
        auth: Auth | None = None,
        tls: Tls | None = None,
        name: str = "penstock",
        inbox_prefix: str = "_INBOX",
        wait_for_server: bool = False,
        options: Options = Options(),  # noqa: B008 - it is frozen
    ) -> None:
        encode_target(inbox_prefix)
        urls = [servers] if isinstance(servers, str) else servers
        backoff = Backoff(options.first_backoff_seconds, options.most_backoff_seconds)
        self._servers = Servers([parse(url) for url in urls], backoff)
        self._options = options
        self._wait_for_server = wait_for_server
        self._inbox_prefix = inbox_prefix
        self._listeners = Listeners()
        self._sender = Sender(options.max_pending_bytes)
        self._subscriptions = Subscriptions(self._sender.tell, self._hold_reading)
        self._requests = Requests(self.new_inbox(), self._subscriptions)
        self._dialer = Dialer(name, auth, tls, options, self._subscriptions.deliver, self._subscriptions.block_sids)
        self._link: Link | None = None
        self._info: ServerInfo | None = None
        self._links = 0
        self._is_closed = False
        self._connected = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._closer: asyncio.Task[None] | None = None

    # Its life.

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Connect to the first server that takes us, or say what each of them said."""
        if self._is_closed or self._keeper is not None:
            raise self._unusable() or UsageError("The connection is open already.", advice="Open it once.")
        opened: asyncio.Future[JetStreamError | None] = asyncio.get_running_loop().create_future()
        self._keeper = asyncio.create_task(self._keep(opened), name="penstock-connection")
        try:
            await asyncio.wait(_either(opened, self._keeper), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not opened.done() or opened.result() is not None:
                await self.close()
        if not opened.done():
            raise ClosedError("The connection was closed while it was being opened.")
        if (problem := opened.result()) is not None:
            raise problem

    async def close(self) -> None:
        """Send what waits to be sent, as far as that is possible in time, and close. Doing so again does no harm."""
        if self._closer is None:
            self._is_closed = True
            self._closer = asyncio.create_task(self._shut(), name="penstock-closing")
        await asyncio.shield(self._closer)

    async def _shut(self) -> None:
        try:
            if self._link is not None or self._sender.pending_bytes:
                with suppress(JetStreamError):
                    await self._flush(self._options.close_timeout_seconds)
        finally:
            unsent_bytes = self._sender.pending_bytes
            if self._keeper is not None:
                self._keeper.cancel()
                await asyncio.wait([self._keeper])
            if self._link is not None:
                await self._link.close(ClosedError("The connection was closed."))
            self._connected.set()  # who waits for a link waits in vain
            self._listeners.tell(Closed(unsent_bytes))

    async def _keep(self, opened: "asyncio.Future[JetStreamError | None]") -> None:
        """Have a link, always."""
        try:
            link = await (self._search() if self._wait_for_server else self._first_round())
        except JetStreamError as problem:
            opened.set_result(problem)
            return
        self._adopt(link)
        opened.set_result(None)
        while True:
            await asyncio.wait(_either(link.over, link.leaving), return_when=asyncio.FIRST_COMPLETED)
            if not link.over.done():
                await self._leave(link)
            link = self._link or await self._search()
            if link is not self._link:
                self._adopt(link)

    async def _first_round(self) -> Link:
        found = await self._round()
        if isinstance(found, Link):
            return found
        if len(found) == 1:
            raise found[0]
        sentence = f"None of {len(found)} servers took the connection: {' '.join(map(str, found))}"
        refused = any(isinstance(problem, AuthenticationError) for problem in found)
        raise AuthenticationError(sentence) if refused else LinkError(sentence)

    async def _search(self) -> Link:
        """Return a link to whichever server takes us, however long that takes."""
        while True:
            await asyncio.sleep(self._servers.wait_seconds(random.random()))  # noqa: S311 - no secret
            found = await self._round()
            if isinstance(found, Link):
                return found

    async def _round(self) -> Link | list[JetStreamError]:
        """Try each server once: return a link to the first that takes us, or what each of them said."""
        problems = []
        for address in self._servers.next_round(random.random()):  # noqa: S311 - no secret
            try:
                return await self._dialer.dial(address)
            except JetStreamError as problem:
                self._listeners.tell(Failed(str(address), problem))
                problems.append(problem)
        return problems

    async def _leave(self, link: Link) -> None:
        """Move from a server that is about to shut down to another; without one, stay until the end."""
        self._listeners.tell(LameDuck(link.info))
        successor = await self._elsewhere(link)
        if successor is None:
            await asyncio.wait([link.over])
            return
        try:
            with suppress(JetStreamError):
                self._sender.tell(self._subscriptions.farewell())
                await self._flush(LEAVING_SECONDS)  # what it has sent is here now
            await link.close(LinkError(f"{link.address} is about to shut down."))
        except BaseException:
            successor.end(LinkError("The connection was closed."))
            raise
        self._adopt(successor)

    async def _elsewhere(self, link: Link) -> Link | None:
        for address in self._servers.others(link.address, random.random()):  # noqa: S311 - no secret
            try:
                return await self._dialer.dial(address)
            except JetStreamError as problem:
                self._listeners.tell(Failed(str(address), problem))
        return None

    def _adopt(self, link: Link) -> None:
        """Make a link the one that is used, unless it has ended meanwhile."""
        if link.over.done():
            self._servers.lost(link.address, 0)
            self._listeners.tell(Failed(str(link.address), link.over.result()))
            return
        self._link = link
        link.moderation_seconds = self._options.read_moderation_seconds
        link.establish(self)
        self._sender.attach(link, first=self._subscriptions.replay())
        link.keep_watch(self._options.ping_interval_seconds, self._ping)
        if self._subscriptions.is_paused:
            link.hold_reading(hold=True)
        self.link_informed(link)
        reconnects, self._links = self._links, self._links + 1
        self._connected.set()
        self._listeners.tell(Connected(link.info, reconnects))

    # What a link tells.

    def link_informed(self, link: Link) -> None:
        self._info = link.info
        self._servers.learn(link.info.connect_urls, link.address)

    def link_refused(self, link: Link, text: str) -> None:  # noqa: ARG002
        if (subject := denied_publish(text)) is not None:
            self._requests.denied(subject, text)
        self._listeners.tell(ServerReported(text))

    def link_writable(self, link: Link) -> None:  # noqa: ARG002
        self._sender.writable()

    def link_over(self, link: Link, reason: JetStreamError) -> None:
        if link is not self._link:
            return
        self._link = None
        self._connected.clear()
        self._sender.detach()
        self._requests.link_lost(reason)
        self._servers.lost(link.address, asyncio.get_running_loop().time() - link.started_at)
        self._listeners.tell(Disconnected(reason))

    def _hold_reading(self, *, hold: bool) -> None:
        if self._link is not None:
            self._link.hold_reading(hold=hold)

    def _ping(self) -> None:
        self._send_ping(None)

    # What it can tell.

    @property
    def is_connected(self) -> bool:
        return self._link is not None

    @property
    def links(self) -> int:
        """How many links there have been: as long as this stays the same, the link is the same."""
        return self._links

    @property
    def server(self) -> ServerInfo:
        """What the server that we are connected to, or were last, says of itself."""
        if self._info is None:
            raise LinkError("There was no server yet.", advice="Open the connection first.")
        return self._info

    @property
    def pending_bytes(self) -> int:
        """How much waits to be sent."""
        return self._sender.pending_bytes

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have a function told what happens to the connection; what is returned ends that."""
        return self._listeners.add(listener)

    def new_inbox(self) -> str:
        """Return a subject on which nobody else listens."""
        return f"{self._inbox_prefix}.{secrets.token_hex(11)}"

    # Messages.

    def publish(
        self,
        subject: str,
        payload: bytes = b"",
        *,
        reply: str = "",
        headers: HeadersLike | None = None,
        perishable: bool = False,
    ) -> None:
        """Send a message with the next write; without a link it waits for one, unless it is perishable.

        A perishable message is worth nothing on another link than that of the moment: without one it is an error, and
        if the link is lost before it left, it is dropped.
        """
        self._check_open()
        if perishable and self._link is None:
            raise LinkError(f"There is no link now over which {subject} could be sent.")
        target, reply_to = encode_target(subject), encode_target(reply) if reply else b""
        header = self._header(headers) if headers else b""
        self._check_payload(payload, len(header))
        self._sender.send(wire.publish(target, payload, reply=reply_to, header=header), perishable=perishable)

    def send(self, data: bytes) -> None:
        """Send frames that were made elsewhere, and are whole."""
        self._check_open()
        self._sender.send(data)

    def subscribe(self, subject: str, handler: Handler, *, queue: str = "", max_messages: int = 0) -> Subscription:
        """Have a function called with each message, over all links, until unsubscribed or so many came."""
        self._check_not_closed()
        return self._subscriptions.add(subject, handler, queue=queue, max_messages=max_messages)

    def subscribe_blocks(self, subject: str, handler: BlockHandler, statuses: Handler) -> Subscription:
        """Have a function called with messages as they came, many at once; those without a reply go to `statuses`."""
        self._check_not_closed()
        return self._subscriptions.add_blocks(subject, handler, statuses)

    async def flush(self, timeout_seconds: float = 10) -> None:
        """Return when the server has seen all that was sent before."""
        self._check_open()
        await self._flush(timeout_seconds)

    async def request(
        self,
        subject: str,
        payload: bytes = b"",
        *,
        headers: HeadersLike | None = None,
        timeout_seconds: float = 5,
        before: bytes = b"",
    ) -> Reply:
        """Ask, and return the answer. Without a link one is waited for; if it is lost after that, so is the answer.

        `before` are whole frames that leave right before the question, over the same link, or not at all: what a server
        answers is then good for them, too.
        """

        def send(inbox: str) -> None:
            if before:
                self._sender.send(before, perishable=True)
            self.publish(subject, payload, reply=inbox, headers=headers, perishable=True)

        self._check_open()
        encode_target(subject)
        deadline = asyncio.timeout(timeout_seconds)
        try:
            async with deadline:
                await self._link_wanted()
                return await self._requests.ask(subject, send)
        except TimeoutError as problem:
            if not deadline.expired():
                raise
            where = "answer" if self.is_connected else "link to a server"
            raise RequestTimeoutError(f"{subject}: no {where} within {timeout_seconds:g} s.") from problem

    async def _link_wanted(self) -> Link:
        """Return the link of the moment, as soon as there is one."""
        while self._link is None:
            await self._connected.wait()
            if self._link is None:
                self._check_not_closed()
        return self._link

    async def _flush(self, timeout_seconds: float) -> None:
        deadline = asyncio.timeout(timeout_seconds)
        try:
            async with deadline:
                await self._link_wanted()
                seen: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._send_ping(seen)
                await seen
        except TimeoutError as problem:
            if not deadline.expired():
                raise
            raise RequestTimeoutError(
                f"No server has confirmed within {timeout_seconds:g} s that it saw what was sent."
            ) from problem

    def _send_ping(self, waiter: "asyncio.Future[None] | None") -> None:
        if self._link is not None:
            self._sender.tell(wire.PING)
            self._link.expect_pong(waiter)

    def _header(self, headers: HeadersLike) -> bytes:
        if self._info is not None and not self._info.headers:
            raise UsageError(f"Server {self._info.name} takes no headers.", advice="Allow them in its configuration.")
        return encode(headers)

    def _check_payload(self, payload: bytes, header_bytes: int) -> None:
        if not isinstance(payload, bytes | bytearray | memoryview):
            raise UsageError(f"A payload is bytes, not {type(payload).__name__}.", advice="Encode it.")
        if self._info is not None and len(payload) + header_bytes > self._info.max_payload_bytes:
            raise UsageError(
                f"A message of {len(payload) + header_bytes} bytes is larger than the {self._info.max_payload_bytes} "
                f"that server {self._info.name} takes.",
                advice="Split it, or raise max_payload there.",
            )

    def _check_open(self) -> None:
        if self._is_closed or self._keeper is None:
            raise self._unusable() or ClosedError("The connection is not open yet.", advice="Open it first.")

    def _check_not_closed(self) -> None:
        if (error := self._unusable()) is not None:
            raise error

    def _unusable(self) -> ClosedError | None:
        return ClosedError("The connection was closed.", advice="Make a new one.") if self._is_closed else None


def _either(one: AnyFuture, other: AnyFuture) -> list[AnyFuture]:
    return [one, other]
