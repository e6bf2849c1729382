"""Reading many streams and consumers: each told once, whatever happens meanwhile, in few requests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from penstock_jetstream import Connection, JetStream
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Missing, Observed, Place, Present, Unknown
from penstock_operator.services.links import Link, Wanted
from penstock_operator.services.nats.reading import list_is_cheaper
from tests.operator.links.linking import PATIENCE_SECONDS, keeping, linked, spec_of
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer

MANY = 600
"""More than two pages."""


async def read(link: Link, wanted: Wanted) -> dict[Place, Observed]:
    told = [each async for each in link.read_all(wanted)]
    assert len(told) == len(dict(told)) == len(wanted) + sum(map(len, wanted.values())), "each once"
    return dict(told)


def requests_to(server: NatsServer) -> int:
    """Return how many requests to JetStream's API the server has answered."""
    return int(server.monitored("jsz")["api"]["total"])


async def make(jetstream: JetStream, names: list[str], consumers: int = 0) -> None:
    async def one(name: str) -> None:
        await jetstream.streams.create({"name": name, "storage": "memory"})
        for number in range(consumers):
            await jetstream.consumers.create(name, {"durable_name": f"c{number}", "mem_storage": True})

    await asyncio.gather(*map(one, names))


@pytest.fixture
async def made(nats_server: NatsServer) -> AsyncIterator[Callable[..., Awaitable[None]]]:
    async with Connection(nats_server.url) as connection:
        jetstream = JetStream(connection)
        yield lambda names, consumers=0: make(jetstream, names, consumers)


async def test_many_streams_take_few_requests(nats_server: NatsServer, made: Callable[..., Awaitable[None]]) -> None:
    names = [f"S{number}" for number in range(MANY)]
    await made(names)
    async with linked(nats_server) as link:
        before = requests_to(nats_server)
        found = await read(link, {name: frozenset() for name in names})
        assert all(isinstance(observed, Present) for observed in found.values())
        assert requests_to(nats_server) - before == 1 + 3, "how many there are, and three pages"


async def test_few_of_many_streams_are_asked_for_by_themselves(
    nats_server: NatsServer, made: Callable[..., Awaitable[None]]
) -> None:
    await made([f"S{number}" for number in range(MANY)])
    async with linked(nats_server) as link:
        before = requests_to(nats_server)
        await read(link, {"S1": frozenset(), "S2": frozenset()})
        assert requests_to(nats_server) - before == 1 + 2


async def test_many_consumers_of_a_stream_take_few_requests(
    nats_server: NatsServer, made: Callable[..., Awaitable[None]]
) -> None:
    await made(["S"], MANY)
    async with linked(nats_server) as link:
        before = requests_to(nats_server)
        found = await read(link, {"S": frozenset(f"c{number}" for number in range(MANY))})
        assert all(isinstance(observed, Present) for observed in found.values())
        assert requests_to(nats_server) - before == 1 + 1 + 3, "how many streams, the one, and three pages"


async def test_what_is_not_there_is_missing_and_consumers_of_no_stream_are_unknown(
    nats_server: NatsServer, made: Callable[..., Awaitable[None]]
) -> None:
    await made(["A", "B"], 2)
    async with linked(nats_server) as link:
        found = await read(link, {"A": frozenset({"c0", "c9"}), "B": frozenset(), "C": frozenset({"c0"})})
        account = link.account
        assert isinstance(found[Place(account, "A", "c0")], Present)
        assert found[Place(account, "A", "c9")] == Missing()
        assert found[Place(account, "C")] == Missing()
        orphan = found[Place(account, "C", "c0")]
        assert isinstance(orphan, Unknown)
        assert orphan.reason is Reason.STREAM_NOT_FOUND


async def test_what_is_read_at_once_is_what_is_seen_one_by_one(
    nats_server: NatsServer, made: Callable[..., Awaitable[None]]
) -> None:
    await made([f"S{number}" for number in range(40)], 3)
    async with linked(nats_server) as link:
        wanted = {f"S{number}": frozenset({"c0", "c1", "c2"}) for number in range(40)}
        for place, observed in (await read(link, wanted)).items():
            assert observed == await link.observe(place)


async def test_a_server_that_is_gone_makes_all_unknown_and_not_missing_in_the_time_of_one_request(
    start_nats: StartNats,
) -> None:
    server = start_nats()
    async with keeping() as kept:
        kept.keep(spec_of(server.url))
        link = await kept.connected()
        server.kill()
        async with asyncio.timeout(PATIENCE_SECONDS):
            found = await read(link, {f"S{number}": frozenset({"a", "b"}) for number in range(MANY)})
        assert all(isinstance(each, Unknown) and each.reason is Reason.UNREACHABLE for each in found.values())


async def test_a_server_that_goes_while_it_is_read_leaves_the_rest_unknown(start_nats: StartNats) -> None:
    server = start_nats()
    names = [f"S{number}" for number in range(MANY)]
    async with Connection(server.url) as connection:
        await make(JetStream(connection), names)
    async with keeping() as kept:
        kept.keep(spec_of(server.url))
        link = await kept.connected()
        found: dict[Place, Observed] = {}
        async for place, observed in link.read_all({name: frozenset() for name in names}):
            if not found:
                server.kill()
            found[place] = observed
    assert len(found) == MANY
    assert not [each for each in found.values() if isinstance(each, Missing)]
    assert any(isinstance(each, Unknown) for each in found.values())


async def test_streams_that_are_deleted_while_others_are_listed_hide_nobody(nats_server: NatsServer) -> None:
    """Where an earlier page gets shorter, the next begins too late: who was skipped is asked for."""
    names = [f"S{number:04}" for number in range(MANY)]
    async with Connection(nats_server.url) as connection, linked(nats_server) as link:
        jetstream = JetStream(connection)
        await make(jetstream, names)
        wanted = names[100:]
        found: dict[Place, Observed] = {}
        async for place, observed in link.read_all({name: frozenset() for name in wanted}):
            if not found:
                await asyncio.gather(*(jetstream.streams.delete(name) for name in names[:100]))
            found[place] = observed
        assert len(found) == len(wanted)
        assert all(isinstance(observed, Present) for observed in found.values())


@pytest.mark.parametrize(
    ("wanted", "there", "listed"),
    [
        (1, 1, False),
        (1, 0, True),
        (2, 1, True),
        (2, 300, False),
        (300, 300, True),
        (10, 10_000, False),
        (5_000, 10_000, True),
    ],
)
def test_a_list_is_read_where_that_is_cheaper(wanted: int, there: int, listed: bool) -> None:  # noqa: FBT001
    assert list_is_cheaper(wanted, there) is listed
