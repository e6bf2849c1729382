"""Reading many streams and consumers: each reported once, whatever changes in between, in few requests."""

import asyncio

import pytest

from penstock_jetstream import Connection, JetStream
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Missing, Observed, Place, Present, Unknown
from penstock_operator.services.links import Link, Wanted
from penstock_operator.services.nats.reading import list_is_cheaper
from tests.operator.links.linking import Kept
from tests.testbed.nats.server import NatsServer

MANY = 600
"""More than two pages."""
NAMES = [f"S{number:03}" for number in range(MANY)]
NONE = frozenset[str]()


async def read(link: Link, wanted: Wanted) -> dict[Place, Observed]:
    told = [each async for each in link.read_all(wanted)]
    assert len(told) == len(dict(told)) == len(wanted) + sum(map(len, wanted.values())), "each once"
    return dict(told)


def requests_to(server: NatsServer) -> int:
    """Return how many requests to JetStream's API the server has answered."""
    return int(server.monitored("jsz")["api"]["total"])


async def make(server: NatsServer, names: list[str], consumers: int = 0) -> None:
    async with Connection(server.url) as connection:
        jetstream = JetStream(connection)

        async def one(name: str) -> None:
            await jetstream.streams.create({"name": name, "storage": "memory"})
            for number in range(consumers):
                await jetstream.consumers.create(name, {"durable_name": f"c{number}", "mem_storage": True})

        await asyncio.gather(*map(one, names))


async def test_many_streams_take_few_requests_and_few_of_many_one_each(nats_server: NatsServer, kept: Kept) -> None:
    await make(nats_server, NAMES)
    link = await kept.link_to(nats_server)
    before = requests_to(nats_server)
    found = await read(link, dict.fromkeys(NAMES, NONE))
    assert all(isinstance(observed, Present) for observed in found.values())
    assert requests_to(nats_server) - before == 1 + 3, "how many there are, and three pages"
    before = requests_to(nats_server)
    await read(link, dict.fromkeys(NAMES[:2], NONE))
    assert requests_to(nats_server) - before == 1 + 2


async def test_many_consumers_of_a_stream_take_few_requests(nats_server: NatsServer, kept: Kept) -> None:
    await make(nats_server, ["S"], MANY)
    link = await kept.link_to(nats_server)
    before = requests_to(nats_server)
    found = await read(link, {"S": frozenset(f"c{number}" for number in range(MANY))})
    assert all(isinstance(observed, Present) for observed in found.values())
    assert requests_to(nats_server) - before == 1 + 1 + 3, "how many streams, the one, and three pages"


async def test_objects_read_together_are_the_same_as_observed_one_by_one(nats_server: NatsServer, kept: Kept) -> None:
    await make(nats_server, NAMES[:40], 3)
    link = await kept.link_to(nats_server)
    found = await read(link, {**dict.fromkeys(NAMES[:40], frozenset({"c0", "c1", "c9"})), "C": frozenset({"c0"})})
    for place, observed in found.items():
        assert isinstance(observed, Unknown) or observed == await link.observe(place)
    assert isinstance(found[Place(link.account, "S000", "c0")], Present)
    assert found[Place(link.account, "S000", "c9")] == found[Place(link.account, "C")] == Missing()
    orphan = found[Place(link.account, "C", "c0")]
    assert isinstance(orphan, Unknown)
    assert orphan.reason is Reason.STREAM_NOT_FOUND


@pytest.mark.full
async def test_dead_server_makes_all_unknown_after_one_timeout(nats_server: NatsServer, kept: Kept) -> None:
    link = await kept.link_to(nats_server)
    nats_server.kill()
    async with asyncio.timeout(60):
        found = await read(link, dict.fromkeys(NAMES, frozenset({"a", "b"})))
    assert all(isinstance(each, Unknown) and each.reason is Reason.UNREACHABLE for each in found.values())


@pytest.mark.full
async def test_server_that_dies_while_it_is_read_leaves_the_rest_unknown(nats_server: NatsServer, kept: Kept) -> None:
    await make(nats_server, NAMES)
    link = await kept.link_to(nats_server)
    found: dict[Place, Observed] = {}
    async for place, observed in link.read_all(dict.fromkeys(NAMES, NONE)):
        if not found:
            nats_server.kill()
        found[place] = observed
    assert len(found) == MANY
    assert not [each for each in found.values() if isinstance(each, Missing)]
    assert any(isinstance(each, Unknown) for each in found.values())


async def test_streams_deleted_while_others_are_listed_hide_none(nats_server: NatsServer, kept: Kept) -> None:
    """An earlier page gets shorter and the next begins too late: skipped streams are observed one by one."""
    await make(nats_server, NAMES)
    link = await kept.link_to(nats_server)
    found: dict[Place, Observed] = {}
    async with Connection(nats_server.url) as connection:
        streams = JetStream(connection).streams
        async for place, observed in link.read_all(dict.fromkeys(NAMES[100:], NONE)):
            if not found:
                await asyncio.gather(*(streams.delete(name) for name in NAMES[:100]))
            found[place] = observed
    assert len(found) == MANY - 100
    assert all(isinstance(observed, Present) for observed in found.values())


def test_list_is_used_where_it_is_cheaper() -> None:
    for wanted, there, listed in (
        (1, 1, False),
        (1, 0, True),
        (2, 1, True),
        (2, 300, False),
        (300, 300, True),
        (10, 10_000, False),
        (5_000, 10_000, True),
    ):
        assert list_is_cheaper(wanted, there) is listed, (wanted, there)
