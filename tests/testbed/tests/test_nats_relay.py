"""Each fault of the relay, as a client's socket sees it."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.testbed import ports
from tests.testbed.nats.client import connection
from tests.testbed.nats.fixtures import StartRelay
from tests.testbed.nats.relay import Relay
from tests.testbed.nats.server import NatsServer

pytestmark = pytest.mark.full

PATIENCE_SECONDS = 30
SILENCE_SECONDS = 0.3


@pytest.fixture
def echo_port() -> Iterator[int]:
    """The port of a server that sends back what it gets, one connection after the other."""
    with socket.create_server((ports.LOOPBACK, 0)) as listener:
        thread = threading.Thread(target=_echo, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE_SECONDS)


def _echo(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # the fixture shut it down
            return
        threading.Thread(target=_send_back, args=(connection,), daemon=True).start()


def _send_back(connection: socket.socket) -> None:
    with connection:
        try:
            while chunk := connection.recv(65536):
                connection.sendall(chunk)
        except ConnectionError:
            return


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


def test_a_healthy_relay_passes_everything_both_ways(client: socket.socket) -> None:
    text = bytes(range(256)) * 4000
    sender = threading.Thread(target=client.sendall, args=(text,))
    sender.start()
    assert received(client, len(text)) == text
    sender.join()


def test_the_end_of_one_direction_is_passed_on(client: socket.socket) -> None:
    client.sendall(b"last words")
    client.shutdown(socket.SHUT_WR)
    assert received(client, 10) == b"last words"
    assert client.recv(1) == b""


def test_a_cut_resets_the_connections_and_lets_new_ones_in(relay: Relay, client: socket.socket) -> None:
    relay.cut()
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    with connected(relay) as another:
        assert echoed(another, b"again") == b"again"


def test_a_cut_that_refuses_lets_no_one_in_until_healed(relay: Relay, client: socket.socket) -> None:
    relay.cut(refuse=True)
    with pytest.raises(ConnectionResetError):
        client.recv(1)
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


def test_a_delay_holds_each_chunk_in_both_directions(relay: Relay, client: socket.socket) -> None:
    relay.delay(milliseconds=100)
    started = time.monotonic()
    assert echoed(client, b"there and back") == b"there and back"
    assert time.monotonic() - started >= 0.2


def test_healing_lets_through_at_once_what_is_delayed(relay: Relay, client: socket.socket) -> None:
    relay.delay(milliseconds=60_000)
    client.sendall(b"held")
    assert is_silent(client)
    relay.heal()
    assert received(client, 4) == b"held"


def test_dripping_lets_so_many_bytes_through_per_second(relay: Relay, client: socket.socket) -> None:
    relay.drip(bytes_per_second=1000)
    started = time.monotonic()
    assert echoed(client, bytes(500)) == bytes(500)
    assert time.monotonic() - started >= 0.4  # the last of the drips needs no waiting for a next one
    relay.heal()


def test_where_the_server_is_down_a_client_is_reset(start_relay: StartRelay) -> None:
    relay = start_relay(ports.free_port())
    with pytest.raises(ConnectionResetError), connected(relay) as client:  # the reset may come before connect returns
        client.recv(1)


def test_closing_leaves_no_thread_and_no_open_port(echo_port: int) -> None:
    threads = threading.active_count()
    with Relay(echo_port) as relay, connected(relay) as client:
        assert echoed(client, b"hello") == b"hello"
    with pytest.raises(ConnectionRefusedError):
        connected(relay)
    assert not any(thread.name == f"relay-{relay.port}" for thread in threading.enumerate()), threads


async def test_a_nats_client_reconnects_after_a_cut_and_hears_on(
    nats_server: NatsServer, start_relay: StartRelay
) -> None:
    relay = start_relay(nats_server.port)
    reconnected = asyncio.Event()

    async def note() -> None:
        reconnected.set()

    arguments = {**nats_server.login_arguments(), "reconnected_cb": note, "reconnect_time_wait": 0}
    async with connection(servers=[relay.url], **arguments) as client:
        subscription = await client.subscribe("orders")
        await client.flush()
        relay.cut()
        await asyncio.wait_for(reconnected.wait(), PATIENCE_SECONDS)
        await client.publish("orders", b"one")
        assert (await subscription.next_msg(timeout=PATIENCE_SECONDS)).data == b"one"
