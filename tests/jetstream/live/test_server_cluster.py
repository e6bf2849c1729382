"""What a cluster of servers answers while its leaders change, without our client library."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from nats.aio.msg import Msg
from nats.errors import TimeoutError as NatsTimeoutError

from tests.jetstream.raw import Pull, Raw, connected, sequence, status, until_pending, until_waiting
from tests.jetstream.scene import eventually
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually_async

NO_WAIT = b'{"batch":1,"no_wait":true}'
ARRIVAL_SECONDS = 5
"""In which a pull is at its consumer, or lost."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[NatsCluster]:
    """Three nodes that the tests here share, as they leave it whole."""
    nodes = NatsCluster(3)
    try:
        nodes.start()
        yield nodes
    finally:
        nodes.close()


def consumer_of(node: NatsServer, name: str) -> dict[str, Any]:
    """Return what one node knows of a consumer by itself."""
    accounts = node.monitored("jsz?streams=1&consumers=1")["account_details"]
    streams = [stream for account in accounts for stream in account["stream_detail"]]
    (consumer,) = [found for stream in streams for found in stream["consumer_detail"] if found["name"] == name]
    known: dict[str, Any] = consumer
    return known


@pytest.mark.requirement("V-10")
async def test_consumer_information_comes_from_its_leader(cluster: NatsCluster, fresh_name: str) -> None:
    of = f"{fresh_name}.{fresh_name}c"
    async with connected(**cluster.connect_arguments()) as raw:
        await raw.make_stream(fresh_name, num_replicas=3)
        await raw.make_consumer(of)
        await until_heard(raw, of)
        await raw.publish(f"{fresh_name}.a", *[b"1"] * 20)
        for message in await raw.take(of, 5):
            await raw.answer(message, b"+ACK")
        await until_pending(raw, of, 15)

    for node in cluster.nodes:
        async with connected(**node.connect_arguments()) as raw:

            async def is_of_the_leader(node: NatsServer = node, raw: Raw = raw) -> bool:
                leader = cluster.consumer_leader(fresh_name, f"{fresh_name}c")
                info, known = await raw.consumer(of), consumer_of(node, f"{fresh_name}c")["num_pending"]
                assert info["num_pending"] == 15 or info["cluster"]["leader"] != leader.name
                return bool(info["cluster"]["leader"] == leader.name and known == (15 if node is leader else 0))

            await eventually(is_of_the_leader, f"{node.name} passes on what the leader says, and knows less by itself")


async def until_heard(raw: Raw, of: str) -> None:
    """Return once pulls reach a consumer that has no messages: others hear late of a leader."""

    async def is_heard() -> bool:
        return await (await raw.pull_raw(of, NO_WAIT)).status(ARRIVAL_SECONDS) == "404 No Messages"

    await eventually_async(is_heard, f"the leader of {of} is heard of", not_yet=(NatsTimeoutError,))


async def first_message(raw: Raw, of: str) -> Msg:
    """Return the message that is there, as soon as a leader is reached that knows of it."""
    while True:
        answer = await (await raw.pull(of)).next()
        if status(answer) is None:
            return answer


async def open_pull(raw: Raw, of: str) -> Pull:
    """Return a pull that a consumer's leader holds open.

    A young consumer may not be reachable from every node yet, or be led by another node in the next moment: pulls get
    lost then, by rights. So this one is repeated until the leader counts it.
    """
    while True:
        pull = await raw.pull(of)
        with contextlib.suppress(TimeoutError):
            await until_waiting(raw, of, 1, seconds=ARRIVAL_SECONDS)
            return pull
        await pull.give_up()


async def test_pull_is_answered_when_the_leader_changes(cluster: NatsCluster, fresh_name: str) -> None:
    async with connected(**cluster.connect_arguments()) as raw:
        await raw.make_stream(fresh_name, num_replicas=3)
        await raw.make_consumer(f"{fresh_name}.c")
        pull = await open_pull(raw, f"{fresh_name}.c")
        cluster.step_down_consumer(fresh_name, "c")
        answer = await pull.next()
        assert status(answer) == "409 Leadership Change"
        assert "Nats-Pending-Messages" not in (answer.headers or {})
        await raw.publish(f"{fresh_name}.a", b"1")
        assert await pull.is_silent(), "the pull is lost"
        assert sequence(await first_message(raw, f"{fresh_name}.c")) == 1
