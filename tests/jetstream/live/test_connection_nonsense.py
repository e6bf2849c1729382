"""A server that talks nonsense: the link is dropped with a reason, nothing hangs, and the next link is as good as new.

Real servers do not do so. A few lines of socket do: they greet as a server would, and then say what the test wants.
"""

import asyncio
import gc
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from penstock_jetstream.core.wire import MAX_FRAME_BYTES
from penstock_jetstream.errors import LinkError, ProtocolError
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.encryption import Tls
from penstock_jetstream.transport.events import Connected, Disconnected, Failed
from tests.jetstream.connecting import QUICK, Events, Heard

pytestmark = pytest.mark.interpreter
HASTY = replace(QUICK, connect_timeout_seconds=0.2)
INFO = b'INFO {"server_id":"X","server_name":"x","version":"2.15.0","max_payload":1048576,"headers":true}\r\n'
GIGABYTE = 1 << 30


@dataclass
class Script:
    """A server that answers PINGs; the nth connection gets the nth nonsense when it is established."""

    greeting: bytes = INFO
    nonsense: Sequence[bytes] = ()
    answers_pings: bool = True
    connections: int = 0
    url: str = ""
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        turn, self.connections = self.connections, self.connections + 1
        self.writers.append(writer)
        writer.write(self.greeting)
        while line := await reader.readline():
            if line == b"PING\r\n" and self.answers_pings:
                writer.write(b"PONG\r\n")
            if line.startswith(b"SUB ") and turn < len(self.nonsense):
                writer.write(self.nonsense[turn])
        writer.close()


@asynccontextmanager
async def playing(script: Script) -> AsyncIterator[Script]:
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    script.url = "nats://{}:{}".format(*server.sockets[0].getsockname())
    async with server:
        yield script
        for writer in script.writers:
            writer.close()


NONSENSE = (
    b"HTTP/1.1 400 Bad Request\r\n",
    b"MSG a 1 5\r\nhello, world\r\n",
    b"MSG a 1 %d\r\nhello" % GIGABYTE,
    b"INFO {\r\n",
    b'INFO {"max_payload":"much"}\r\n',
    b'INFO {"connect_urls":["a b:c"]}\r\n',
    b"\x00" * 2_000_000,
)


async def test_link_is_dropped_with_the_reason_and_replaced(subtests: pytest.Subtests) -> None:
    valid = b"MSG a 1 5\r\nhello\r\n"
    for nonsense in NONSENSE:
        with subtests.test(repr(nonsense[:40])):
            async with playing(Script(nonsense=[nonsense, valid])) as script:
                connection = Connection(script.url, options=QUICK)
                heard, events = Heard(), Events(connection)
                connection.subscribe("a", heard)
                async with connection:
                    assert (await heard.have(1))[-1] == b"hello"
                    (disconnected,) = events.of(Disconnected)
                    assert isinstance(disconnected.reason, ProtocolError)
                    assert script.url in str(disconnected.reason)
                    assert len(events.of(Connected)) == 2


async def test_link_is_dropped_before_it_receives_a_message_that_is_larger_than_the_limit() -> None:
    large = b"MSG a 1 70000\r\n"
    async with playing(Script(nonsense=[large, b"MSG a 1 5\r\nhello\r\n"])) as script:
        connection = Connection(script.url, options=replace(QUICK, max_message_bytes=65536))
        heard, events = Heard(), Events(connection)
        connection.subscribe("a", heard)
        async with connection:
            assert await heard.have(1) == [b"hello"]
            (disconnected,) = events.of(Disconnected)
            assert "A message of 70000 bytes is larger than 65536" in str(disconnected.reason)


async def test_frame_that_never_ends_is_given_up_with_its_link() -> None:
    """A claim that is just possible is waited for, without the memory it claims, until the peer is found dead."""
    torn = b"MSG a 1 %d\r\nhello" % (MAX_FRAME_BYTES - 1)
    async with playing(Script(nonsense=[torn, b"MSG a 1 5\r\nhello\r\n"])) as script:
        connection = Connection(script.url, options=QUICK)
        heard, events = Heard(), Events(connection)
        connection.subscribe("a", heard)
        async with connection:
            # The server goes on answering PINGs, but into the frame; it is heard, so it lives. Then it closes.
            await events.have(Connected)
            script.writers[0].close()
            assert await heard.have(1) == [b"hello"]


REFUSED_GREETINGS = (
    (b"220 smtp.example ready\r\n", "does not speak NATS. What came is not NATS: a line of 22 bytes."),
    (b"PING\r\n", "does not speak NATS: it does not begin with INFO"),
    (b"INFO nothing\r\n", "INFO is not JSON"),
    (b'INFO {"headers":"yes"}\r\n', "for headers, which is no bool"),
    (b"INFO " + b"[" * 100_000 + b"\r\n", "INFO is not JSON"),
    (b"x" * (2 << 20), "without a line's end"),
    (b"INFO {", "did not greet within 0.2 s"),
    (b"", "did not greet within 0.2 s"),
    (INFO + b"-ERR 'Go away'\r\n", "refused the connection: Go away"),
)


async def test_server_that_does_not_greet_or_answer_to_connect_ends_the_attempt(subtests: pytest.Subtests) -> None:
    scripts = [(Script(greeting), error) for greeting, error in REFUSED_GREETINGS]
    for server, error in (*scripts, (Script(answers_pings=False), r"did not answer to CONNECT within 0\.2 s")):
        with subtests.test(repr(server.greeting[:40])):
            async with playing(server) as script:
                with pytest.raises((LinkError, ProtocolError), match=error):
                    await Connection(script.url, options=HASTY if "within" in error else QUICK).open()
                gc.collect()


async def test_what_comes_with_the_greeting_is_not_lost() -> None:
    more = b'INFO {"server_name":"renamed"}\r\nPING\r\n'
    async with playing(Script(INFO + more)) as script, Connection(script.url, options=QUICK) as connection:
        assert connection.server.name == "renamed"
        assert connection.server.id == "X"


async def test_nothing_is_taken_that_was_slipped_in_before_encryption() -> None:
    demanding = INFO.replace(b'"headers"', b'"tls_required":true,"headers"')
    async with playing(Script(greeting=demanding + b"MSG a 1 5\r\nhello\r\n")) as script:
        with pytest.raises(ProtocolError, match="between its greeting and TLS"):
            await Connection(script.url, tls=Tls(), options=QUICK).open()


async def test_server_that_accepts_and_drops_is_not_asked_in_a_hot_loop() -> None:
    calm = replace(QUICK, first_backoff_seconds=0.05, most_backoff_seconds=0.05)
    async with playing(Script(nonsense=[b"nonsense\r\n"] * 1000)) as script:
        connection = Connection(script.url, options=calm)
        events = Events(connection)
        connection.subscribe("a", Heard())
        started = asyncio.get_running_loop().time()
        async with connection:
            await events.have(Disconnected, 20)
            assert asyncio.get_running_loop().time() - started > 0.1  # calm: at least; 20 pauses of 25 ms on average
            assert not events.of(Failed)
