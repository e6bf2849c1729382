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
from tests.testbed.nats.fixtures import StartNatsCluster, StartNatsLeaf
from tests.testbed.nats.leaf import LEAF_DOMAIN
from tests.testbed.run import current
from tests.testbed.waiting import WITHIN_SECONDS, eventually, eventually_async

pytestmark = pytest.mark.full

ids = map(str, itertools.count())


async def publish(client: Client) -> None:
    """Have one message stored, once; while the replicas elect a leader there is no answer."""
    message_id = {"Nats-Msg-Id": next(ids)}

    async def is_stored() -> bool:
        await client.jetstream().publish("orders", b"one", headers=message_id)
        return True

    await eventually_async(is_stored, "a message is stored", not_yet=(NatsError,))


def wait_stored(cluster: NatsCluster, messages: int) -> None:
    """Wait until the stream's leader reports so many: a new leader learns only then what is settled."""

    def is_stored() -> bool:
        info = request(cluster.connect_arguments(), "$JS.API.STREAM.INFO.ORDERS")
        return bool(info["state"]["messages"] == messages)

    eventually(is_stored, f"{messages} messages stored", not_yet=(*UNANSWERED, RefusedError))


def free_pair() -> int:
    """Return the lower of two neighbouring ports that are free."""
    while True:
        port = ports.free_port()
        with contextlib.suppress(ports.PortInUseError):
            ports.particular_port(port + 1)
            return port


async def test_leaders_step_down_and_a_killed_node_comes_back(nats_cluster: NatsCluster) -> None:
    async with connection(**nats_cluster.connect_arguments()) as client:
        stream = client.jetstream(timeout=WITHIN_SECONDS)
        await stream.add_stream(name="ORDERS", subjects=["orders"], num_replicas=3)
        for _ in range(5):
            await publish(client)
        await stream.pull_subscribe("orders", durable="reader")

    before = nats_cluster.stream_leader("ORDERS")
    assert nats_cluster.step_down_stream("ORDERS") is not before
    before = nats_cluster.consumer_leader("ORDERS", "reader")
    assert nats_cluster.step_down_consumer("ORDERS", "reader") is not before

    lost = nats_cluster.stream_leader("ORDERS")
    lost.kill()
    assert nats_cluster.stream_leader("ORDERS", other_than=lost).is_running
    wait_stored(nats_cluster, 5)
    lost.restart()
    nats_cluster.wait_current()
    async with connection(**lost.connect_arguments()) as client:
        await publish(client)
    wait_stored(nats_cluster, 6)


async def test_a_frozen_leader_is_replaced_and_comes_back_as_a_follower(nats_cluster: NatsCluster) -> None:
    frozen = nats_cluster.meta_leader()
    with frozen.frozen():
        assert nats_cluster.meta_leader(other_than=frozen) is not frozen
    nats_cluster.wait_current()
    assert nats_cluster.meta_leader() is not frozen


def test_a_cluster_in_operator_mode_has_consecutive_ports_and_steps_down(start_nats_cluster: StartNatsCluster) -> None:
    port = free_pair()
    cluster = start_nats_cluster(2, access=creds(current().new_folder("creds")), port=port)
    assert [node.port for node in cluster.nodes] == [port, port + 1]
    before = cluster.meta_leader()
    assert cluster.step_down_meta() is not before


@pytest.mark.parametrize("method", METHODS)
async def test_the_domain_behind_a_leaf_is_reachable_from_the_hub(start_nats_leaf: StartNatsLeaf, method: str) -> None:
    pair = start_nats_leaf(access=METHODS[method](current().new_folder(method)))
    async with connection(**pair.hub.connect_arguments()) as client:
        behind = client.jetstream(domain=LEAF_DOMAIN, timeout=WITHIN_SECONDS)
        await behind.add_stream(name="ORDERS", subjects=["orders"])
        assert (await behind.account_info()).domain == LEAF_DOMAIN
    async with connection(**pair.leaf.connect_arguments()) as client:
        assert (await client.jetstream().stream_info("ORDERS")).config.name == "ORDERS"
    if pair.hub.access.system is None:
        with pytest.raises(RuntimeError, match="no users beside a token"):
            pair.hub.system_arguments()
    else:
        async with connection(**pair.hub.system_arguments()) as client:
            assert b'"server"' in (await client.request("$SYS.REQ.SERVER.PING")).data
