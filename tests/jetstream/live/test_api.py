"""Asking JetStream's API: prefixes, domains, levels, and servers that are not there or talk nonsense."""

import asyncio

import pytest

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.errors import (
    ApiError,
    BufferFullError,
    ClosedError,
    ErrorCode,
    LinkError,
    NoRespondersError,
    RequestTimeoutError,
)
from penstock_jetstream.errors.listing import IncompleteListError
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.options import Options
from tests.jetstream.connecting import fragile
from tests.jetstream.playing import TYPES, Played
from tests.jetstream.scene import reachable
from tests.testbed.nats.fixtures import StartNats, StartNatsLeaf, StartRelay
from tests.testbed.nats.server import NatsServer
from tests.testbed.nats.shared import NEWEST, SharedServers
from tests.testbed.waiting import eventually_async

OLDER_LEVELS = [("2.11", 1), ("2.12", 3), ("2.14", 4)]


@pytest.mark.requirement("X-08")
@pytest.mark.parametrize(
    ("variant", "level"), [(NEWEST, 5), *(pytest.param(*each, marks=pytest.mark.full) for each in OLDER_LEVELS)]
)
async def test_account_has_api_level_and_usage(
    shared_servers: SharedServers, variant: str, level: int, fresh_name: str
) -> None:
    async with Connection(shared_servers.get(variant).url) as connection:
        jetstream = JetStream(connection)
        before = await jetstream.account()
        await jetstream.streams.create({"name": fresh_name})
        after = await jetstream.account()
    assert after.api_level == level
    assert after.streams == before.streams + 1
    assert (after.max_streams, after.requires_max_bytes, after.domain) == (-1, False, None)


@pytest.mark.requirement("X-08")
async def test_higher_api_level_is_refused_if_the_server_reads_it(every_jetstream: JetStream, fresh_name: str) -> None:
    has_level = await every_jetstream.api.level()
    await JetStream(every_jetstream.connection, required_api_level=has_level).streams.create({"name": fresh_name})
    demanding = JetStream(every_jetstream.connection, required_api_level=has_level + 1)
    if has_level < 2:
        await demanding.streams.info(fresh_name)  # 2.11 does not know the header
        return
    with pytest.raises(ApiError) as refused:
        await demanding.streams.info(fresh_name)
    assert (refused.value.err_code, refused.value.code) == (ErrorCode.REQUIRED_API_LEVEL, 412)


@pytest.mark.requirement("P-01")
async def test_domain_is_reached_over_a_leaf_by_its_prefix(start_nats_leaf: StartNatsLeaf) -> None:
    pair = start_nats_leaf()
    async with Connection(pair.hub.url) as connection:
        hub, leaf = JetStream(connection), JetStream(connection, domain="leaf")
        await reachable(leaf)
        same = JetStream(connection, api_prefix="$JS.leaf.API")
        assert ((await hub.account()).domain, (await leaf.account()).domain) == ("hub", "leaf")
        await hub.streams.create({"name": "HUB", "subjects": ["hub.>"]})
        await leaf.streams.create({"name": "LEAF", "subjects": ["leaf.>"], "allow_direct": True})
        assert [name async for name in same.streams.names()] == ["LEAF"]
        assert [name async for name in hub.streams.names()] == ["HUB"]
        assert (await leaf.publish("leaf.a", b"1")).domain == "leaf"
        assert (await leaf.direct.get("LEAF", sequence=1)).data == b"1"
        assert [each.data async for each in leaf.direct.read("LEAF")] == [b"1"]
        assert (await leaf.streams.info("LEAF")).domain == "leaf"
        async with leaf.ordered("LEAF") as reading:
            assert (await anext(reading)).data == b"1"


async def test_where_no_jetstream_answers_it_is_an_error_at_once(start_nats: StartNats, server: NatsServer) -> None:
    async with Connection(server.url) as connection:
        with pytest.raises(NoRespondersError, match=r"nobody answers on \$JS\.moon\.API.*no server of the domain"):
            await JetStream(connection, domain="moon").streams.info("ORDERS")
    with pytest.raises(ClosedError):
        await JetStream(connection).streams.info("ORDERS")
    accounts = {"accounts": {"PLAIN": {"users": [{"user": "u", "password": "p"}]}}, "no_auth_user": "u"}
    async with Connection(start_nats(extra=accounts).url) as connection:
        with pytest.raises((NoRespondersError, ApiError), match="not enabled for"):
            await JetStream(connection).streams.info("ORDERS")


async def test_list_that_lacks_some_names_them_at_its_end(jetstream: JetStream, fresh_name: str) -> None:
    """A cluster answers so while streams have no leader; here it is played."""
    await jetstream.streams.create({"name": fresh_name})
    info = (await jetstream.streams.info(fresh_name)).raw
    page = {"type": f"{TYPES}stream_list_response", "total": 2, "limit": 256, "missing": ["ORDERS"]}
    first, second = {**page, "offset": 0, "streams": [info]}, {**page, "offset": 1, "streams": []}
    played = Played(jetstream.connection, fresh_name, [first, second])
    served: list[str] = []

    async def list_all() -> None:
        async for each in played.jetstream.streams.list():
            assert each.name == fresh_name
            served.append(each.name)

    with pytest.raises(IncompleteListError, match="ORDERS: its leader did not answer") as error:
        await list_all()
    assert served == [fresh_name]
    assert error.value.unavailable == {"ORDERS": "its leader did not answer"}


async def test_only_reads_are_repeated_over_the_next_link(start_nats: StartNats, start_relay: StartRelay) -> None:
    async with fragile(start_nats, start_relay) as scene:
        streams = JetStream(scene.connection).streams
        await streams.create({"name": "ORDERS"})
        with scene.server.frozen():
            reading = asyncio.create_task(streams.info("ORDERS"))
            writing = asyncio.create_task(streams.purge("ORDERS"))
            await scene.lose()
            with pytest.raises(LinkError, match=r"stream ORDERS was to be purged.*is not known"):
                await writing
        assert (await reading).name == "ORDERS"


async def test_full_buffer_is_an_error_at_once_and_does_not_stop_the_event_loop(server: NatsServer) -> None:
    """Naive: to try again as after a lost link: for ever, and without a pause."""
    async with Connection(server.url, options=Options(max_pending_bytes=1000)) as connection:
        connection.publish("somewhere", bytes(900))
        jetstream = JetStream(connection)
        with pytest.raises(BufferFullError):
            await jetstream.publish("orders.eu", bytes(900), message_id="7")


async def test_without_a_link_the_error_says_that_nothing_was_sent(start_nats: StartNats) -> None:
    server = start_nats()
    async with Connection(server.url) as connection:
        jetstream = JetStream(connection, timeout_seconds=0.1)
        server.kill()
        await eventually_async(lambda: not connection.is_connected, "the link lost")
        with pytest.raises(RequestTimeoutError, match=r"no link .* stream ORDERS was to be deleted: nothing was sent"):
            await jetstream.streams.delete("ORDERS")
        with pytest.raises(RequestTimeoutError, match=r"no link .* a message on orders\.eu: nothing was sent"):
            await jetstream.publish("orders.eu")
