"""Changes that others make are reported at once, and the operator's own are not."""

from datetime import UTC, datetime, timedelta

from penstock_jetstream import Connection, JetStream
from penstock_operator.plan.decision import Create, Delete, Failure, Pause, Recreate, Update
from penstock_operator.plan.surroundings import Place
from penstock_operator.services.nats.notices import SUBJECTS, denied_subscriptions, unheard
from tests.operator.links.linking import Kept, a_consumer, a_stream
from tests.testbed.nats.fixtures import StartNatsLeaf
from tests.testbed.nats.leaf import LEAF_DOMAIN
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually_async

LATER = datetime.now(UTC) + timedelta(hours=1)


async def told(kept: Kept, place: Place) -> None:
    """Wait until a change is reported, and forget it."""
    await kept.until(lambda: place in kept.told, f"{place} is reported")
    kept.told.clear()


async def test_changes_of_others_are_reported(every_server: NatsServer, kept: Kept, fresh_name: str) -> None:
    async with Connection(every_server.url) as connection:
        others = JetStream(connection)
        account = (await kept.link_to(every_server)).account
        in_stream, in_consumer = Place(account, fresh_name), Place(account, fresh_name, "reader")
        await others.streams.create(a_stream(fresh_name))
        await told(kept, in_stream)
        await others.streams.update(a_stream(fresh_name, max_msgs=7))
        await told(kept, in_stream)
        await others.consumers.create(fresh_name, a_consumer())
        await told(kept, in_consumer)
        await others.consumers.pause(fresh_name, "reader", LATER)
        await told(kept, in_consumer)
        await others.consumers.delete(fresh_name, "reader")
        await told(kept, in_consumer)
        await others.streams.delete(fresh_name)
        await told(kept, in_stream)


async def test_servers_do_not_report_that_a_consumer_was_changed(every_server: NatsServer, fresh_name: str) -> None:
    """If one does some day, the operator should listen to it; until then the periodic reading finds it."""
    heard: list[bytes] = []
    async with Connection(every_server.url) as connection:
        jetstream = JetStream(connection)
        await jetstream.streams.create(a_stream(fresh_name))
        await jetstream.consumers.create(fresh_name, a_consumer())
        await connection.flush()
        connection.subscribe(f"$JS.EVENT.ADVISORY.CONSUMER.*.{fresh_name}.>", lambda subject, *_: heard.append(subject))
        await jetstream.consumers.update(fresh_name, a_consumer(max_ack_pending=7))
        await jetstream.consumers.delete(fresh_name, "reader")
        deleted = f"$JS.EVENT.ADVISORY.CONSUMER.DELETED.{fresh_name}.reader".encode()
        await eventually_async(lambda: deleted in heard, "the deletion is reported")
    assert heard == [deleted]


async def test_own_changes_are_not_reported(every_server: NatsServer, kept: Kept, fresh_name: str) -> None:
    async with Connection(every_server.url) as connection:
        others = JetStream(connection)
        link = await kept.link_to(every_server)
        place, of_reader = Place(link.account, fresh_name), Place(link.account, fresh_name, "reader")
        last = Place(link.account, f"{fresh_name}last")
        for where, action in (
            (place, Create(a_stream(fresh_name))),
            (place, Update(a_stream(fresh_name, max_msgs=7))),
            (of_reader, Create(a_consumer())),
            (of_reader, Pause("2099-01-01T00:00:00Z")),
            (of_reader, Pause(None)),
            (of_reader, Delete()),
            (place, Recreate(a_stream(fresh_name, storage="file"))),
            (place, Delete()),
        ):
            assert not isinstance(await link.carry_out(where, action), Failure)
        await others.streams.create(a_stream(last.stream))
        await kept.until(lambda: last in kept.told, f"{last} is reported")
        assert {each for each in kept.told if isinstance(each, Place)} == {last}
        await link.carry_out(place, Create(a_stream(fresh_name)))
        await link.carry_out(place, Update(a_stream(fresh_name, max_msgs=7)))
        await others.streams.update(a_stream(fresh_name, max_msgs=8))
        await told(kept, place)


async def test_domain_reports_only_its_own_streams(start_nats_leaf: StartNatsLeaf, kept: Kept) -> None:
    hub = start_nats_leaf().hub
    async with Connection(hub.url) as connection:
        account = (await kept.link_to(hub, jetStream={"domain": LEAF_DOMAIN})).account
        await JetStream(connection).streams.create(a_stream("IN_HUB"))
        await JetStream(connection, domain=LEAF_DOMAIN).streams.create(a_stream("IN_LEAF"))
        await kept.until(lambda: Place(account, "IN_LEAF") in kept.told, "the stream of the leaf is reported")
        assert Place(account, "IN_HUB") not in kept.told


def test_only_denied_advisories_are_reported_as_unheard() -> None:
    denied = [f'Permissions Violation for Subscription to "{subject}"' for subject in ("_INBOX.x.*", SUBJECTS[0])]
    assert denied_subscriptions([*denied, "Stale Connection"]) == ["_INBOX.x.*", SUBJECTS[0]]
    assert unheard(denied[:1]) == ""
    assert SUBJECTS[0] in unheard(denied)
    assert "_INBOX" not in unheard(denied)
