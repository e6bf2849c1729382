"""One NATS server: what it can be told to be, and how it is broken."""

import socket

import pytest

from tests.testbed import ports
from tests.testbed.nats.authentication import creds
from tests.testbed.nats.client import connection
from tests.testbed.nats.fixtures import StartNats, StartNatsCluster
from tests.testbed.nats.server import NatsServer
from tests.testbed.run import current

SILENCE_SECONDS = 1
PATIENCE_SECONDS = 60


def test_a_frozen_server_accepts_connections_and_answers_once_it_thaws(nats_server: NatsServer) -> None:
    address = (ports.LOOPBACK, nats_server.port)
    nats_server.freeze()
    with socket.create_connection(address, SILENCE_SECONDS) as client, pytest.raises(TimeoutError):
        client.recv(1)
    nats_server.thaw()
    with socket.create_connection(address, PATIENCE_SECONDS) as client:
        assert client.recv(5) == b"INFO "


async def test_extra_configuration_is_merged_and_in_force_on_the_port_asked_for(start_nats: StartNats) -> None:
    port = ports.free_port()
    extra = {"ping_interval": "7m", "jetstream": {"domain": "own"}}
    server = start_nats(port=port, max_payload_bytes=1000, extra=extra)
    assert server.url.endswith(f":{port}")
    async with connection(**server.connect_arguments()) as client:
        assert client.max_payload == 1000
        assert (await client.jetstream().account_info()).domain == "own"
    assert server.monitored("varz")["ping_interval"] == 7 * 60 * 1_000_000_000


def test_server_that_cannot_start_fails_with_the_port_in_use_or_its_log(
    start_nats: StartNats, nats_server: NatsServer
) -> None:
    with pytest.raises(ports.PortInUseError, match=f"Port {nats_server.port} on 127.0.0.1 is in use"):
        start_nats(port=nats_server.port)
    with pytest.raises(RuntimeError, match=r"(?s)nats ended with code 1.*unknown field"):
        start_nats(extra={"no_such_setting": True})


@pytest.mark.full
def test_cluster_in_operator_mode_elects_another_meta_leader(start_nats_cluster: StartNatsCluster) -> None:
    cluster = start_nats_cluster(2, access=creds(current().new_folder("creds")))
    assert cluster.step_down_meta().is_running
