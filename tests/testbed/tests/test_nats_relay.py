"""Each fault of the relay, as a client's socket sees it."""

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Iterator

import pytest
from typing_extensions import override

from tests.testbed import ports
from tests.testbed.nats.fixtures import StartRelay
from tests.testbed.nats.relay import Relay

pytestmark = pytest.mark.full

PATIENCE_SECONDS = 30
SILENCE_SECONDS = 0.3


class EchoServer(socketserver.ThreadingTCPServer):
    daemon_threads = True


class Echo(socketserver.BaseRequestHandler):
    """Sends back what it receives."""

    @override
    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            while chunk := self.request.recv(65536):
                self.request.sendall(chunk)


@pytest.fixture
def echo_port() -> Iterator[int]:
    with EchoServer((ports.LOOPBACK, 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join(PATIENCE_SECONDS)


@pytest.fixture
def relay(start_relay: StartRelay, echo_port: int) -> Relay:
    return start_relay(echo_port)


@pytest.fixture
def client(relay: Relay) -> Iterator[socket.socket]:
    with connected(relay) as client:
        assert echoed(client, b"hello") == b"hello"
        yield client


def connected(relay: Relay) -> socket.socket:
    return socket.create_connection(relay.address, PATIENCE_SECONDS)


def echoed(client: socket.socket, text: bytes) -> bytes:
    client.sendall(text)
    return received(client, len(text))


def received(client: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        chunk = client.recv(size - len(got))
        assert chunk, f"the connection ended after {got!r}"
        got += chunk
    return got


def is_silent(client: socket.socket) -> bool:
    client.settimeout(SILENCE_SECONDS)
    try:
        client.recv(1)
    except TimeoutError:
        return True
    finally:
        client.settimeout(PATIENCE_SECONDS)
    return False


def test_a_healthy_relay_passes_everything_both_ways_and_the_end_of_one(client: socket.socket) -> None:
    text = bytes(range(256)) * 4000
    sender = threading.Thread(target=client.sendall, args=(text,))
    sender.start()
    assert received(client, len(text)) == text
    sender.join()
    client.sendall(b"last words")
    client.shutdown(socket.SHUT_WR)
    assert received(client, 10) == b"last words"
    assert client.recv(1) == b""


@pytest.mark.parametrize("refuse", [False, True])
def test_a_cut_resets_connections_and_may_refuse_new_ones_until_healed(
    relay: Relay, client: socket.socket, *, refuse: bool
) -> None:
    relay.cut(refuse=refuse)
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    if refuse:
        with pytest.raises(ConnectionRefusedError):
            connected(relay)
        relay.heal()
    with connected(relay) as another:
        assert echoed(another, b"again") == b"again"


def test_half_open_is_silence_on_old_and_new_connections_and_no_byte_is_lost(
    relay: Relay, client: socket.socket
) -> None:
    relay.half_open()
    client.sendall(b"anyone there?")
    assert is_silent(client)
    with connected(relay) as another:
        another.sendall(b"nor here?")
        assert is_silent(another)
        relay.heal()
        assert received(another, 9) == b"nor here?"
    assert received(client, 13) == b"anyone there?"


@pytest.mark.parametrize("unread", [b"", b"never read, which makes closing a reset"])
def test_behind_a_half_open_relay_the_end_of_the_server_is_not_noticed(start_relay: StartRelay, unread: bytes) -> None:
    with socket.create_server((ports.LOOPBACK, 0)) as listener:
        relay = start_relay(listener.getsockname()[1])
        with connected(relay) as client:
            server, _ = listener.accept()
            with server:
                client.sendall(unread)
                server.recv(len(unread), socket.MSG_PEEK)
                relay.half_open()
            assert is_silent(client)
            relay.heal()
            with pytest.raises(ConnectionResetError) if unread else contextlib.nullcontext():
                assert client.recv(1) == b""


def test_dripping_lets_so_many_bytes_through_per_second_until_healed(relay: Relay, client: socket.socket) -> None:
    relay.drip(bytes_per_second=1000)
    started = time.monotonic()
    assert echoed(client, bytes(500)) == bytes(500)
    assert time.monotonic() - started >= 0.4, "the last of the drips needs no waiting for a next one"
    relay.drip(bytes_per_second=1)
    client.sendall(b"held")
    relay.heal()
    assert received(client, 4) == b"held"


def test_where_the_server_is_down_a_client_is_reset(start_relay: StartRelay) -> None:
    relay = start_relay(ports.free_port())
    with pytest.raises(ConnectionResetError), connected(relay) as client:  # the reset may come before connect returns
        client.recv(1)


def test_closing_leaves_no_thread_and_no_open_port(echo_port: int) -> None:
    with Relay(echo_port) as relay, connected(relay) as client:
        assert echoed(client, b"hello") == b"hello"
    with pytest.raises(ConnectionRefusedError):
        connected(relay)
    assert not any(thread.name == f"relay-{relay.port}" for thread in threading.enumerate())
