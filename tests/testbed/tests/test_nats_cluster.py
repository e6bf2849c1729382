"""A cluster of three, its leaders, and one node lost; and a domain behind a leaf node."""

import contextlib
import itertools

import pytest
from nats.aio.client import Client
from nats.errors import Error as NatsError

from tests.testbed import ports
from tests.testbed.nats.administration import UNANSWERED, RefusedError, request
from tests.testbed.nats.authentication import METHODS, creds
from tests.testbed.nats.client import connection
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.fixtures import StartNatsCluster, StartNatsLeaf, StartRelay
from tests.testbed.nats.leaf import LEAF_DOMAIN
from tests.testbed.nats.relay import Relay
from tests.testbed.run import current
from tests.testbed.waiting import eventually, eventually_async

pytestmark = pytest.mark.full

PATIENCE_SECONDS = 60
ids = map(str, itertools.count())


async def add_replicated_stream(client: Client, *, messages: int) -> None:
    stream = client.jetstream(timeout=PATIENCE_SECONDS)
    await stream.add_stream(name="ORDERS", subjects=["orders"], num_replicas=3)
    for _ in range(messages):
        await publish(client)


async def publish(client: Client) -> None:
    """Have one message stored, once; while the replicas elect a leader there is no answer."""
    message_id = {"Nats-Msg-Id": next(ids)}

    async def is_stored() -> bool:
        await client.jetstream().publish("orders", b"one", headers=message_id)
        return True

    await eventually_async(is_stored, "a message is stored", PATIENCE_SECONDS, not_yet=(NatsError,))


def wait_stored(cluster: NatsCluster, messages: int) -> None:
    """Wait until whoever leads the stream says that it has so many: a new leader learns only then what is settled."""

    def stored() -> int | None:
        with contextlib.suppress(*UNANSWERED, RefusedError):
            held: int = request(cluster.connect_arguments(), "$JS.API.STREAM.INFO.ORDERS")["state"]["messages"]
            return held
        return None

    eventually(lambda: stored() == messages, f"{messages} messages stored", PATIENCE_SECONDS)


def free_pair() -> int:
    """Return the lower of two neighbouring ports that are free."""
    while True:
        port = ports.free_port()
        with contextlib.suppress(ports.PortInUseError):
            ports.particular_port(port + 1)
            return port


async def test_a_stream_of_three_replicas_survives_one_node_killed(nats_cluster: NatsCluster) -> None:
    async with connection(**nats_cluster.connect_arguments()) as client:
        await add_replicated_stream(client, messages=5)
    lost = nats_cluster.stream_leader("ORDERS")
    lost.kill()
    assert nats_cluster.stream_leader("ORDERS", other_than=lost).is_running
    wait_stored(nats_cluster, 5)

    lost.restart()
    nats_cluster.wait_current()
    async with connection(**lost.connect_arguments()) as client:
        await publish(client)
    wait_stored(nats_cluster, 6)


async def test_after_a_step_down_another_node_leads(nats_cluster: NatsCluster) -> None:
    async with connection(**nats_cluster.connect_arguments()) as client:
        await add_replicated_stream(client, messages=1)
        await client.jetstream(timeout=PATIENCE_SECONDS).pull_subscribe("orders", durable="reader")

    before = nats_cluster.stream_leader("ORDERS")
    assert nats_cluster.step_down_stream("ORDERS") is not before
    before = nats_cluster.consumer_leader("ORDERS", "reader")
    assert nats_cluster.step_down_consumer("ORDERS", "reader") is not before
    before = nats_cluster.meta_leader()
    assert nats_cluster.step_down_meta() is not before
    assert nats_cluster.meta_leader() is not before


async def test_a_frozen_leader_is_replaced_and_comes_back_as_a_follower(nats_cluster: NatsCluster) -> None:
    frozen = nats_cluster.meta_leader()
    with frozen.frozen():
        assert nats_cluster.meta_leader(other_than=frozen) is not frozen
    nats_cluster.wait_current()
    assert nats_cluster.meta_leader() is not frozen


def test_a_cluster_in_operator_mode_forms_and_steps_down(start_nats_cluster: StartNatsCluster) -> None:
    cluster = start_nats_cluster(access=creds(current().new_folder("creds")))
    before = cluster.meta_leader()
    assert cluster.step_down_meta() is not before


def test_nodes_of_a_cluster_have_consecutive_ports_from_a_particular_one(start_nats_cluster: StartNatsCluster) -> None:
    port = free_pair()
    cluster = start_nats_cluster(2, port=port)
    assert [node.port for node in cluster.nodes] == [port, port + 1]


@pytest.mark.parametrize("method", ["anonymous", "userpass", "token", "nkey", "creds"])
async def test_the_domain_behind_a_leaf_is_reachable_from_the_hub(start_nats_leaf: StartNatsLeaf, method: str) -> None:
    pair = start_nats_leaf(access=METHODS[method](current().new_folder(method)))
    async with connection(**pair.hub.connect_arguments()) as client:
        behind = client.jetstream(domain=LEAF_DOMAIN, timeout=PATIENCE_SECONDS)
        await behind.add_stream(name="ORDERS", subjects=["orders"])
        assert (await behind.account_info()).domain == LEAF_DOMAIN
    async with connection(**pair.leaf.connect_arguments()) as client:
        assert (await client.jetstream().stream_info("ORDERS")).config.name == "ORDERS"


def test_a_leaf_that_is_cut_off_comes_back_when_the_network_does(
    start_nats_leaf: StartNatsLeaf, start_relay: StartRelay
) -> None:
    relays: list[Relay] = []

    def through(port: int) -> Relay:
        relays.append(start_relay(port))
        return relays[-1]

    pair = start_nats_leaf(through=through)
    relays[0].cut(refuse=True)
    eventually(lambda: not pair.is_connected(), "the hub noticing", PATIENCE_SECONDS)
    relays[0].heal()
    pair.wait_connected()
