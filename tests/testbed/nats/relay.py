"""A TCP relay that stands between a client and a server, and breaks the connection as networks do.

It runs in a thread of its own, so that tests with and without an event loop use it alike; each method has taken effect
when it returns. The server behind it may come and go.
"""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Coroutine
from typing import Any, Self, TypeVar

from tests.testbed import ports

CHUNK_BYTES = 65_536
DRIPS_PER_SECOND = 20
ANSWER_SECONDS = 60
BACKLOG = 128
RESET = struct.pack("ii", 1, 0)  # linger on, for no time: closing sends RST, and what is unsent is lost
GOODBYE = struct.pack("ii", 0, 0)  # linger off: closing sends what is left, then FIN

T = TypeVar("T")


class Relay:
    """Relays to one port on loopback, as a context manager."""

    def __init__(self, target_port: int) -> None:
        self._target = (ports.LOOPBACK, target_port)
        self.host, self.port = ports.LOOPBACK, ports.free_port()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"relay-{self.port}")
        self._flows = True
        self._bytes_per_second: int | None = None
        self._changed = asyncio.Event()
        self._listening: asyncio.Task[None] | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    @property
    def url(self) -> str:
        """The address as a NATS client takes it."""
        return f"nats://{self.host}:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._run(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        """Reset what is connected and end the thread."""
        self._run(self._cut(refuse=True))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        ports.release(self.port)

    def cut(self, *, refuse: bool = False) -> None:
        """Reset every connection, on both sides (RST); refuse new ones until healed, if so asked."""
        self._run(self._cut(refuse=refuse))

    def half_open(self) -> None:
        """Forward nothing and tell no one: connections stay, new ones are made, and all are silent.

        What was sent arrives when the relay is healed, as after a network's outage.
        """
        self._run(self._change(flows=False, bytes_per_second=self._bytes_per_second))

    def drip(self, bytes_per_second: int) -> None:
        """Let that much through per second, for each connection and direction."""
        self._run(self._change(flows=self._flows, bytes_per_second=bytes_per_second))

    def heal(self) -> None:
        """Be a good network again, at once: what is held or dripping goes through now."""
        self._run(self._heal())

    def connections(self) -> int:
        """Return how many clients are connected through it."""
        return len(self._connections)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(ANSWER_SECONDS)

    # What follows runs in the relay's thread.

    async def _listen(self) -> None:
        if self._listening is not None:
            return
        listener = socket.create_server(self.address, backlog=BACKLOG)
        listener.settimeout(0)
        self._listening = self._loop.create_task(self._accept(listener))

    async def _accept(self, listener: socket.socket) -> None:
        with listener:
            while True:
                client, _ = await self._loop.sock_accept(listener)
                connection = self._loop.create_task(self._serve(client))
                self._connections.add(connection)
                connection.add_done_callback(self._connections.discard)

    async def _serve(self, client: socket.socket) -> None:
        with socket.socket() as server, client:
            for side in (client, server):
                side.settimeout(0)
                side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            await self._until_it_flows()
            with contextlib.suppress(OSError):  # of dialling: the server is not there, and the client is reset
                await self._loop.sock_connect(server, self._target)
                await self._pump_both(client, server)

    async def _pump_both(self, client: socket.socket, server: socket.socket) -> None:
        try:
            async with asyncio.TaskGroup() as directions:
                directions.create_task(self._pump(client, server))
                directions.create_task(self._pump(server, client))
        except* OSError:
            pass  # one side was reset or is gone, and so the other will be reset
        else:
            for side in (client, server):
                side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, GOODBYE)

    async def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        while chunk := await self._receive(source):
            await self._forward(chunk, sink)
        await self._until_it_flows()
        with contextlib.suppress(OSError):  # the sink has closed already: there is no one to tell
            sink.shutdown(socket.SHUT_WR)

    async def _receive(self, source: socket.socket) -> bytes:
        try:
            return await self._loop.sock_recv(source, CHUNK_BYTES)
        except OSError:  # it was reset, which the other side hears no sooner than anything else
            await self._until_it_flows()
            raise

    async def _forward(self, chunk: bytes, sink: socket.socket) -> None:
        while chunk:
            await self._until_it_flows()
            rate = self._bytes_per_second
            size = CHUNK_BYTES if rate is None else max(1, rate // DRIPS_PER_SECOND)
            piece, chunk = chunk[:size], chunk[size:]
            await self._loop.sock_sendall(sink, piece)
            if rate is not None:
                await self._pause(len(piece) / rate)

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than conditions stay as they are."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)

    async def _until_it_flows(self) -> None:
        while not self._flows:
            await self._changed.wait()

    async def _heal(self) -> None:
        await self._change(flows=True, bytes_per_second=None)
        await self._listen()

    async def _change(self, *, flows: bool, bytes_per_second: int | None) -> None:
        self._flows, self._bytes_per_second = flows, bytes_per_second
        self._changed.set()  # wakes all that wait now; who waits from now on waits for the next change
        self._changed = asyncio.Event()

    async def _cut(self, *, refuse: bool) -> None:
        listening, self._listening = self._listening, None
        await _cancel([task for task in (listening, *self._connections) if task])
        if not refuse:
            await self._listen()


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
