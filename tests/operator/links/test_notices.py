"""What is heard of changes that somebody else makes, and that nothing is heard of our own."""

from datetime import UTC, datetime, timedelta

from penstock_jetstream import Connection, JetStream
from penstock_operator.plan.decision import Create, Delete, Failure, Pause, Recreate, Update
from penstock_operator.plan.surroundings import Place
from penstock_operator.services.nats.notices import SUBJECTS, denied_subscriptions, unheard
from tests.operator.links.linking import Kept, keeping, spec_of
from tests.testbed.nats.fixtures import StartNatsLeaf
from tests.testbed.nats.leaf import LEAF_DOMAIN
from tests.testbed.nats.server import NatsServer

LATER = datetime.now(UTC) + timedelta(hours=1)


def stream(name: str, **fields: object) -> dict[str, object]:
    return {"name": name, "subjects": [f"{name}.>"], "storage": "memory", **fields}


def reader(**fields: object) -> dict[str, object]:
    return {"durable_name": "reader", "name": "reader", "ack_policy": "explicit", **fields}


async def told(kept: Kept, place: Place) -> None:
    """Wait until a place is told, and forget that."""
    await kept.until(lambda: place in kept.told, f"{place}")
    kept.told.clear()


async def test_what_somebody_else_does_is_told_at_once(every_server: NatsServer, fresh_name: str) -> None:
    async with keeping() as kept, Connection(every_server.url) as connection:
        others = JetStream(connection)
        kept.keep(spec_of(every_server.url))
        account = (await kept.connected()).account
        in_stream, in_consumer = Place(account, fresh_name), Place(account, fresh_name, "reader")
        await others.streams.create(stream(fresh_name))
        await told(kept, in_stream)
        await others.streams.update(stream(fresh_name, max_msgs=7))
        await told(kept, in_stream)
        await others.consumers.create(fresh_name, reader())
        await told(kept, in_consumer)
        await others.consumers.pause(fresh_name, "reader", LATER)
        await told(kept, in_consumer)
        await others.consumers.delete(fresh_name, "reader")
        await told(kept, in_consumer)
        await others.streams.delete(fresh_name)
        await told(kept, in_stream)


async def test_no_server_tells_that_a_consumer_was_changed(every_server: NatsServer, fresh_name: str) -> None:
    """If one does some day, it is to be listened to; until then this is for the periodic reading to find."""
    heard: list[bytes] = []
    async with Connection(every_server.url) as connection:
        jetstream = JetStream(connection)
        await jetstream.streams.create(stream(fresh_name))
        await jetstream.consumers.create(fresh_name, reader())
        await connection.flush()
        connection.subscribe(f"$JS.EVENT.ADVISORY.CONSUMER.*.{fresh_name}.>", lambda subject, *_: heard.append(subject))
        await jetstream.consumers.update(fresh_name, reader(max_ack_pending=7))
        await jetstream.consumers.delete(fresh_name, "reader")
        while f"$JS.EVENT.ADVISORY.CONSUMER.DELETED.{fresh_name}.reader".encode() not in heard:
            await connection.flush()
    assert len(heard) == 1


async def test_what_we_do_ourselves_is_not_told(every_server: NatsServer, fresh_name: str) -> None:
    async with keeping() as kept, Connection(every_server.url) as connection:
        kept.keep(spec_of(every_server.url))
        link = await kept.connected()
        place, of_reader = Place(link.account, fresh_name), Place(link.account, fresh_name, "reader")
        last = Place(link.account, f"{fresh_name}last")
        for where, action in (
            (place, Create(stream(fresh_name))),
            (place, Update(stream(fresh_name, max_msgs=7))),
            (of_reader, Create(reader())),
            (of_reader, Pause("2099-01-01T00:00:00Z")),
            (of_reader, Pause(None)),
            (of_reader, Delete()),
            (place, Recreate(stream(fresh_name, storage="file"))),
            (place, Delete()),
        ):
            assert not isinstance(await link.carry_out(where, action), Failure)
        await JetStream(connection).streams.create(stream(last.stream))
        await kept.until(lambda: last in kept.told)
        assert {each for each in kept.told if isinstance(each, Place)} == {last}


async def test_a_change_right_after_our_own_is_told(every_server: NatsServer, fresh_name: str) -> None:
    async with keeping() as kept, Connection(every_server.url) as connection:
        kept.keep(spec_of(every_server.url))
        link = await kept.connected()
        place = Place(link.account, fresh_name)
        await link.carry_out(place, Create(stream(fresh_name)))
        await link.carry_out(place, Update(stream(fresh_name, max_msgs=7)))
        await JetStream(connection).streams.update(stream(fresh_name, max_msgs=8))
        await told(kept, place)


async def test_notices_of_a_domain_are_those_of_its_own_streams(start_nats_leaf: StartNatsLeaf) -> None:
    pair = start_nats_leaf()
    async with keeping() as kept, Connection(pair.hub.url) as connection:
        kept.keep(spec_of(pair.hub.url, jetStream={"domain": LEAF_DOMAIN}))
        account = (await kept.connected()).account
        await JetStream(connection).streams.create(stream("IN_HUB"))
        await JetStream(connection, domain=LEAF_DOMAIN).streams.create(stream("IN_LEAF"))
        await kept.until(lambda: Place(account, "IN_LEAF") in kept.told)
        assert Place(account, "IN_HUB") not in kept.told


def test_what_is_not_heard_is_said_only_of_notices() -> None:
    denied = [f'Permissions Violation for Subscription to "{subject}"' for subject in ("_INBOX.x.*", SUBJECTS[0])]
    assert denied_subscriptions([*denied, "Stale Connection"]) == ["_INBOX.x.*", SUBJECTS[0]]
    assert unheard(denied[:1]) == ""
    assert SUBJECTS[0] in unheard(denied)
    assert "_INBOX" not in unheard(denied)
