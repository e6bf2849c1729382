"""Links that end: whatever the reason, there is another, and what outlives a link is there again."""

import asyncio
import contextlib
import os
import signal
from dataclasses import replace

import pytest

from penstock_jetstream.errors import AuthenticationError, ClosedError, LinkError, RequestTimeoutError
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.events import Closed, Connected, Disconnected, Failed, LameDuck
from penstock_jetstream.transport.options import Options
from tests.jetstream.connecting import QUICK, WATCHFUL, Events, Heard, echo
from tests.testbed import ports
from tests.testbed.nats.authentication import METHODS
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.fixtures import StartNats, StartNatsCluster, StartRelay
from tests.testbed.nats.server import NatsServer
from tests.testbed.run import current
from tests.testbed.waiting import eventually_async

DEAD_PEER_SECONDS = 10


async def works(connection: Connection, subject: str = "echo") -> bool:
    return (await connection.request(subject, b"hello")).payload == b"hello"


@pytest.mark.interpreter
async def test_subscriptions_and_published_messages_outlive_links(nats_server: NatsServer) -> None:
    async with Connection(nats_server.url, options=QUICK) as connection:
        events = Events(connection)
        heard, few = Heard(), Heard()
        connection.subscribe("a", heard)
        limited = connection.subscribe("a", few, max_messages=3)
        connection.publish("a", b"before")
        await connection.flush()
        nats_server.kill()
        await events.have(Disconnected)
        for number in range(1000):
            connection.publish("a", b"%d" % number)
        await asyncio.to_thread(nats_server.start)
        await events.have(Connected)
        assert await heard.have(1001) == [b"before", *(b"%d" % number for number in range(1000))]
        assert few.payloads == [b"before", b"0", b"1"]
        assert not limited.is_active


async def test_connected_is_reported_when_subscriptions_are_alive(nats_server: NatsServer) -> None:
    hasty = replace(QUICK, first_backoff_seconds=0.001, most_backoff_seconds=0.001)
    connection = Connection(nats_server.url, options=hasty)
    heard, events = Heard(), Events(connection)
    connection.listen(lambda event: connection.publish("a", b"now") if isinstance(event, Connected) else None)
    connection.subscribe("a", heard)
    async with connection:
        await heard.have(1)
        nats_server.kill()
        await events.have(Failed, 200)
        await asyncio.to_thread(nats_server.start)
        assert await heard.have(2) == [b"now", b"now"]


async def test_perishable_messages_of_the_old_link_are_not_sent_over_the_new_one(nats_server: NatsServer) -> None:
    async with Connection(nats_server.url, options=QUICK) as connection:
        events = Events(connection)
        heard = Heard()
        connection.subscribe("a", heard)
        with nats_server.frozen():
            while connection.pending_bytes < 4 << 20:  # from some point on all of it waits with us
                connection.publish("b", b"x" * 100_000)
                await asyncio.sleep(0)  # calm: the loop writes
            connection.publish("a", b"perishable", perishable=True)
            connection.publish("a", b"lasting")
            nats_server.kill()
        await events.have(Disconnected)
        with pytest.raises(LinkError, match="There is no link now"):
            connection.publish("a", b"perishable", perishable=True)
        await asyncio.to_thread(nats_server.start)
        assert await heard.have(1) == [b"lasting"]
        await connection.flush()
        assert heard.payloads == [b"lasting"]


async def test_request_fails_when_its_link_is_lost_and_without_one_waits_until_its_deadline(
    nats_server: NatsServer,
) -> None:
    async with Connection(nats_server.url, options=QUICK) as connection:
        asked, events = Heard(), Events(connection)
        connection.subscribe("silent", asked)
        echo(connection, "echo")
        asking = asyncio.create_task(connection.request("silent", timeout_seconds=60))
        flushing = asyncio.create_task(connection.flush(60))
        await asked.have(1)
        await flushing
        nats_server.kill()
        with pytest.raises(LinkError, match="whether it did what was asked is not known") as problem:
            await asking
        assert not isinstance(problem.value, RequestTimeoutError)
        await events.have(Disconnected)
        with pytest.raises(RequestTimeoutError, match=r"echo: no link to a server within 0\.1 s"):
            await connection.request("echo", timeout_seconds=0.1)
        asking = asyncio.create_task(connection.request("echo", b"hello", timeout_seconds=60))
        await asyncio.to_thread(nats_server.start)
        assert (await asking).payload == b"hello"


async def test_closing_without_a_link_waits_for_one_and_says_how_much_was_lost(nats_server: NatsServer) -> None:
    connection, events = await without_link(nats_server, replace(QUICK, close_timeout_seconds=0.1))
    waiting = [
        asyncio.create_task(connection.request("echo", timeout_seconds=60)),
        asyncio.create_task(connection.flush(60)),
    ]
    await asyncio.sleep(0)  # calm: they begin
    connection.publish("a", b"lost")
    await connection.close()
    for problem in await asyncio.gather(*waiting, return_exceptions=True):
        assert isinstance(problem, ClosedError)
    assert events.of(Closed) == [Closed(unsent_bytes=len(b"PUB a 4\r\nlost\r\n"))]
    await asyncio.to_thread(nats_server.start)
    connection, events = await without_link(nats_server, replace(QUICK, close_timeout_seconds=60))
    connection.publish("a", b"an ack, say")
    closing = asyncio.create_task(connection.close())
    await asyncio.to_thread(nats_server.start)
    await closing
    assert events.of(Closed) == [Closed(unsent_bytes=0)]


async def without_link(server: NatsServer, options: Options) -> tuple[Connection, Events]:
    """Open a connection and kill its server."""
    connection = Connection(server.url, options=options)
    await connection.open()
    events = Events(connection)
    server.kill()
    await events.have(Disconnected)
    return connection, events


@pytest.mark.parametrize("is_publishing", [False, pytest.param(True, marks=pytest.mark.full)])
async def test_half_open_link_is_noticed_and_replaced(
    server: NatsServer, start_relay: StartRelay, *, is_publishing: bool
) -> None:
    """It takes three intervals, which are no more than ten seconds by default; also while much is published."""
    assert 3 * Options().ping_interval_seconds < DEAD_PEER_SECONDS
    relay = start_relay(server.port)
    async with Connection(relay.url, options=WATCHFUL) as connection:
        events = Events(connection)
        relay.half_open()
        while is_publishing and not events.of(Disconnected):
            connection.publish("a", b"x" * 1000)
            await asyncio.sleep(0.001)  # calm: how fast a user publishes
        disconnected = await events.have(Disconnected)
        assert is_publishing or "does not answer any more" in str(disconnected.reason)
        relay.heal()
        await events.have(Connected)


@pytest.mark.full
async def test_slow_network_is_not_taken_for_a_dead_peer(nats_server: NatsServer, start_relay: StartRelay) -> None:
    relay = start_relay(nats_server.port)
    async with Connection(relay.url, options=replace(QUICK, ping_interval_seconds=1.5)) as connection:
        events = Events(connection)
        relay.drip(5 << 20)
        connection.send((b"PUB a 1048576\r\n%b\r\n" % bytes(1 << 20)) * 32)
        await connection.flush(120)  # which takes six seconds: longer than a silent peer is trusted
        assert not events.all


async def test_server_whose_connections_are_all_taken_is_tried_until_one_is_free(start_nats: StartNats) -> None:
    server = start_nats(extra={"max_connections": 1})
    async with Connection(server.url, wait_for_server=True):  # who looked whether it is ready may still be connected
        with pytest.raises(LinkError, match="maximum connections exceeded") as problem:
            await Connection(server.url).open()
        assert "max_connections" in problem.value.advice
        waiting = Connection(server.url, wait_for_server=True, options=QUICK)
        events = Events(waiting)
        opening = asyncio.create_task(waiting.open())
        await events.have(Failed, 3)
    await opening
    await waiting.close()


async def test_opening_may_wait_for_a_server_and_closing_interrupts_it(nats_server: NatsServer) -> None:
    nats_server.kill()
    for is_closed in (True, False):
        connection = Connection(nats_server.url, wait_for_server=True, options=QUICK)
        events = Events(connection)
        opening = asyncio.create_task(connection.open())
        await events.have(Failed, 2)
        if is_closed:
            await connection.close()
            with pytest.raises(ClosedError, match="closed while it was being opened"):
                await opening
            continue
        await asyncio.to_thread(nats_server.start)
        await opening
        await connection.close()


async def test_opening_says_what_each_server_said(start_nats: StartNats) -> None:
    guarded = start_nats(access=METHODS["token"](current().new_folder("token")))
    nowhere = ports.free_port()
    with pytest.raises(AuthenticationError, match="None of 2 servers took the connection") as problem:
        await Connection([guarded.url, f"nats://127.0.0.1:{nowhere}"]).open()
    assert f"nats://127.0.0.1:{nowhere} refused the connection: nothing listens there." in str(problem.value)
    assert f"{guarded.url} refused the connection: Authorization Violation." in str(problem.value)
    ports.release(nowhere)


async def test_name_may_have_addresses_where_nothing_listens_but_needs_one(server: NatsServer) -> None:
    async with Connection(f"localhost:{server.port}") as connection:  # often ::1 comes first
        assert connection.server.id == server_id(server)
    with pytest.raises(LinkError, match=r"nats://no\.such\.host\.invalid:4222 has no address"):
        await Connection("no.such.host.invalid").open()


@pytest.mark.interpreter
async def test_opening_can_be_interrupted(nats_server: NatsServer, start_relay: StartRelay) -> None:
    relay = start_relay(nats_server.port)
    relay.half_open()
    connection = Connection(relay.url)
    opening = asyncio.create_task(connection.open())
    await eventually_async(lambda: relay.connections() > 0, "a connection through the relay")
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.interpreter
async def test_closing_works_at_any_moment(server: NatsServer) -> None:
    for moments in range(12):
        connection = Connection(server.url, options=QUICK)
        opening = asyncio.create_task(connection.open())
        for _ in range(moments):
            await asyncio.sleep(0)  # calm: turns of the loop
        await connection.close()
        with contextlib.suppress(ClosedError):
            await opening
        assert asyncio.all_tasks() == {asyncio.current_task()}, f"after {moments} turns"


async def test_death_of_a_node_moves_the_connection_to_another(nats_cluster: NatsCluster) -> None:
    """At once, with default options: not when pings are missed, nor after a backoff that a failure would bring."""
    async with Connection(nats_cluster.nodes[0].url) as connection:  # it learns of the others from that one
        events = Events(connection)
        echo(connection, "echo")
        seconds = []
        for number in range(1, 3):
            mine = nats_cluster.node(connection.server.name)
            started = asyncio.get_running_loop().time()
            mine.kill()
            await events.have(Connected, number)
            seconds.append(asyncio.get_running_loop().time() - started)
            assert connection.server.name != mine.name
            assert await works(connection)
        assert min(seconds) < 5, seconds  # calm: a dead peer that is only missed is noticed after nine


async def test_server_that_is_about_to_shut_down_is_left_before_it_does(start_nats_cluster: StartNatsCluster) -> None:
    slow = {"lame_duck_duration": "30s", "lame_duck_grace_period": "10s"}
    cluster = start_nats_cluster(extra=slow)
    async with Connection(cluster.nodes[0].url) as connection:
        events = Events(connection)
        heard = Heard()
        connection.subscribe("a", heard)
        signal_lame_duck(cluster.nodes[0])
        await events.have(LameDuck)
        await events.have(Connected)
        assert connection.server.name != "n1"
        assert [type(event) for event in events.all if not isinstance(event, Failed)] == [
            LameDuck,
            Disconnected,
            Connected,
        ]
        connection.publish("a", b"1")
        assert await heard.have(1) == [b"1"]


async def test_single_server_that_is_about_to_shut_down_is_used_to_the_end(start_nats: StartNats) -> None:
    server = start_nats(extra={"lame_duck_duration": "30s", "lame_duck_grace_period": "10s"})
    async with Connection(server.url, options=QUICK) as connection:
        events = Events(connection)
        echo(connection, "echo")
        signal_lame_duck(server)
        await events.have(LameDuck)
        assert await works(connection)
        assert not events.of(Disconnected)


def server_id(server: NatsServer) -> str:
    return str(server.monitored("varz")["server_id"])


def signal_lame_duck(server: NatsServer) -> None:
    os.kill(server.pid, signal.SIGUSR2)
