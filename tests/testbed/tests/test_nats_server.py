"""One NATS server: what it can be told to be, and how it is broken."""

import socket

import pytest
from nats.errors import MaxPayloadError
from nats.js.errors import APIError

from tests.testbed import ports
from tests.testbed.binaries import NATS_SERVERS
from tests.testbed.nats.client import connection
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer

SILENCE_SECONDS = 1
PATIENCE_SECONDS = 60


async def stored(server: NatsServer, *, then_publish: int = 0) -> int:
    """Return how many messages the stream ORDERS holds; publish some more into it."""
    async with connection(**server.connect_arguments()) as client:
        stream = client.jetstream()
        held: int = (await stream.add_stream(name="ORDERS", subjects=["orders"])).state.messages
        for _ in range(then_publish):
            await stream.publish("orders", b"one")
        return held


async def acknowledgement_subject(server: NatsServer) -> str:
    async with connection(**server.connect_arguments()) as client:
        stream = client.jetstream()
        await stream.add_stream(name="ORDERS", subjects=["orders"])
        await stream.publish("orders", b"one")
        subscription = await stream.pull_subscribe("orders", durable="reader")
        return (await subscription.fetch(1, PATIENCE_SECONDS))[0].reply


def dialled(server: NatsServer, seconds: float) -> socket.socket:
    return socket.create_connection((ports.LOOPBACK, server.port), seconds)


async def test_a_server_of_the_newest_version_serves_jetstream(nats_server: NatsServer) -> None:
    assert await stored(nats_server, then_publish=2) == 0
    assert await stored(nats_server) == 2


@pytest.mark.parametrize("version", NATS_SERVERS)
async def test_an_older_version_is_built_from_its_go_module_and_serves_jetstream(
    start_nats: StartNats, version: str
) -> None:
    server = start_nats(version=version)
    async with connection(**server.connect_arguments()) as client:
        told = client.connected_server_version
    assert f"{told.major}.{told.minor}.{told.patch}" == version
    assert await stored(server, then_publish=1) == 0


async def test_a_killed_server_restarts_on_the_same_port_with_its_stream_intact(nats_server: NatsServer) -> None:
    before, url = nats_server.pid, nats_server.url
    await stored(nats_server, then_publish=3)
    nats_server.kill()
    assert not ports.answers(nats_server.port)
    nats_server.restart()
    assert (nats_server.url, nats_server.pid == before) == (url, False)
    assert await stored(nats_server) == 3


async def test_a_terminated_server_says_goodbye_and_restarts_with_its_stream_intact(nats_server: NatsServer) -> None:
    await stored(nats_server, then_publish=3)
    nats_server.terminate()
    assert "Server Exiting" in nats_server.program.log_tail()
    nats_server.restart()
    assert await stored(nats_server) == 3


def test_a_frozen_server_accepts_connections_but_answers_nothing_until_it_thaws(nats_server: NatsServer) -> None:
    nats_server.freeze()
    with dialled(nats_server, SILENCE_SECONDS) as client, pytest.raises(TimeoutError):
        client.recv(1)
    nats_server.thaw()
    with dialled(nats_server, PATIENCE_SECONDS) as client:
        assert client.recv(5) == b"INFO "


async def test_acknowledgement_subjects_have_9_tokens(nats_server: NatsServer) -> None:
    assert len((await acknowledgement_subject(nats_server)).split(".")) == 9


async def test_acknowledgement_subjects_have_11_tokens_under_js_ack_fc_v2(start_nats: StartNats) -> None:
    server = start_nats(js_ack_fc_v2=True)
    assert len((await acknowledgement_subject(server)).split(".")) == 11


async def test_a_message_over_max_payload_is_refused(start_nats: StartNats) -> None:
    server = start_nats(max_payload_bytes=1000)
    async with connection(**server.connect_arguments()) as client:
        assert client.max_payload == 1000
        with pytest.raises(MaxPayloadError):
            await client.publish("orders", bytes(1001))


async def test_a_stream_over_max_store_is_refused(start_nats: StartNats) -> None:
    server = start_nats(max_store_bytes=1_000_000)
    async with connection(**server.connect_arguments()) as client:
        with pytest.raises(APIError, match="insufficient storage"):
            await client.jetstream().add_stream(name="ORDERS", subjects=["orders"], max_bytes=1_000_001)


async def test_extra_configuration_is_laid_over_the_rest(start_nats: StartNats) -> None:
    server = start_nats(extra={"ping_interval": "7m", "jetstream": {"domain": "own"}})
    async with connection(**server.connect_arguments()) as client:
        assert (await client.jetstream().account_info()).domain == "own"
    assert server.monitored("varz")["ping_interval"] == 7 * 60 * 1_000_000_000


async def test_a_server_gets_the_particular_port_that_was_asked_for(start_nats: StartNats) -> None:
    port = ports.free_port()
    assert start_nats(port=port).url.endswith(f":{port}")


def test_a_particular_port_that_is_in_use_gets_its_sentence(start_nats: StartNats, nats_server: NatsServer) -> None:
    with pytest.raises(ports.PortInUseError, match=f"Port {nats_server.port} on 127.0.0.1 is in use"):
        start_nats(port=nats_server.port)


def test_a_server_that_cannot_start_fails_with_what_it_said(start_nats: StartNats) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)nats ended with code 1.*unknown field"):
        start_nats(extra={"no_such_setting": True})


async def test_two_servers_know_nothing_of_each_other(start_nats: StartNats) -> None:
    first, second = start_nats(), start_nats()
    await stored(first, then_publish=1)
    assert await stored(second) == 0
