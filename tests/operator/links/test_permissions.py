"""The permissions in docs/permissions.md: with exactly these all works, and each one that is missing is named."""

import json
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import nats
import pytest
from nats.aio.msg import Msg

from penstock_operator.plan.connections import Connected
from penstock_operator.plan.decision import Create, Delete, Failure, Pause, Recreate, Update
from penstock_operator.plan.reasons import Reason
from penstock_operator.plan.surroundings import Missing, Place, Present, Unknown
from penstock_operator.resources import ConsumerSpec
from penstock_operator.resources.translation import consumer_config
from penstock_operator.services.links import Link
from penstock_operator.services.nats.permissions import (
    FEATURES,
    Feature,
    Permission,
    Verb,
    permissions,
    server_configuration,
)
from tests.operator.links.linking import CONNECTION, Kept, keeping, spec_of
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer
from tools.environment import ROOT

ALL = tuple(permissions())
USER, PASSWORD = "operator", "hush"
LOGIN = {"auth": {"userPasswordSecretRef": {"name": "user"}}}
SECRETS = {"user": {"username": USER.encode(), "password": PASSWORD.encode()}}

STREAM = {"name": "ORDERS", "subjects": ["orders.>"], "storage": "memory"}
ETL = {"streamRef": {"name": "orders"}, "filterSubjects": ["orders.new.eu"]}
FILTERED = consumer_config(ConsumerSpec.model_validate(ETL), "etl")


def start_with(start_nats: StartNats, granted: Collection[Permission], **options: str | None) -> NatsServer:
    user = {"user": USER, "password": PASSWORD, "permissions": server_configuration(granted)}
    return start_nats(extra={"authorization": {"users": [user]}}, **options)


@asynccontextmanager
async def let_in(server: NatsServer) -> AsyncIterator[Kept]:
    async with keeping() as kept:
        kept.keep(spec_of(server.url, **LOGIN), SECRETS)
        yield kept


def without(missing: Permission) -> tuple[Permission, ...]:
    return tuple(permission for permission in ALL if permission != missing)


async def do_all(link: Link) -> list[object]:
    """Do everything that the operator does; return what came out."""
    stream, consumer = Place(link.account, "ORDERS"), Place(link.account, "ORDERS", "etl")
    return [
        await link.observe(stream),
        await link.carry_out(stream, Create(STREAM)),
        await link.carry_out(stream, Update({**STREAM, "max_msgs": 7})),
        await link.observe(consumer),
        await link.carry_out(consumer, Create(FILTERED)),
        await link.carry_out(consumer, Update({**FILTERED, "max_ack_pending": 7})),
        await link.carry_out(consumer, Pause("2099-01-01T00:00:00Z")),
        *[observed async for _, observed in link.read_all({"ORDERS": frozenset({"etl"})})],
        await link.carry_out(consumer, Delete()),
        await link.carry_out(stream, Recreate({**STREAM, "storage": "file"})),
        await link.carry_out(stream, Delete()),
    ]


@pytest.mark.parametrize("version", ["2.11.17", None])
async def test_with_exactly_these_permissions_everything_works(start_nats: StartNats, version: str | None) -> None:
    async with let_in(start_with(start_nats, ALL, version=version)) as kept:
        outcome = await do_all(await kept.connected())
        assert not [each for each in outcome if isinstance(each, Failure | Unknown)]
        state = kept.links.state(CONNECTION)
        assert isinstance(state, Connected)
        assert state.warnings == ()
        assert state.account.startswith("$G/")


REQUESTS = [
    permission for permission in ALL if permission.feature in {Feature.OBSERVE, Feature.STREAMS, Feature.CONSUMERS}
]


@pytest.mark.parametrize("missing", REQUESTS, ids=lambda permission: permission.subject)
async def test_a_request_that_is_not_allowed_fails_with_a_sentence_that_names_the_permission(
    start_nats: StartNats, missing: Permission
) -> None:
    async with let_in(start_with(start_nats, without(missing))) as kept:
        outcome = await do_all(await kept.connected())
        refused = [
            each for each in outcome if isinstance(each, Failure | Unknown) and each.reason is Reason.UNAUTHORIZED
        ]
        assert refused
        literal = missing.subject.rstrip("*>.").rstrip("*.")
        for each in refused:
            assert f'Permissions Violation for Publish to "{literal}.' in each.message
            assert "Allow this user to publish there." in each.message


async def test_a_user_may_be_held_to_one_consumer_with_one_filter(start_nats: StartNats) -> None:
    """As docs/permissions.md says."""
    narrow = Permission(Feature.CONSUMERS, Verb.PUBLISH, "$JS.API.CONSUMER.CREATE.ORDERS.etl.orders.new.eu")
    wide = "$JS.API.CONSUMER.CREATE.>"
    async with let_in(start_with(start_nats, [narrow if each.subject == wide else each for each in ALL])) as kept:
        link = await kept.connected()
        await link.carry_out(Place(link.account, "ORDERS"), Create(STREAM))
        consumer = Place(link.account, "ORDERS", "etl")
        assert not isinstance(await link.carry_out(consumer, Create(FILTERED)), Failure)
        other = {**FILTERED, "filter_subject": "orders.new.us"}
        assert isinstance(await link.carry_out(consumer, Update(other)), Failure)


async def test_what_is_not_allowed_passes_when_it_is_allowed(start_nats: StartNats) -> None:
    server = start_with(start_nats, [each for each in ALL if each.subject != "$JS.API.STREAM.CREATE.*"])
    async with let_in(server) as kept:
        link = await kept.connected()
        failure = await link.carry_out(Place(link.account, "ORDERS"), Create(STREAM))
        assert isinstance(failure, Failure)
        assert failure.passing


@pytest.mark.parametrize(
    "missing", [each for each in ALL if each.feature is Feature.LIST], ids=lambda each: each.subject
)
async def test_what_may_not_be_listed_is_asked_for_one_by_one(start_nats: StartNats, missing: Permission) -> None:
    async with let_in(start_with(start_nats, without(missing))) as kept:
        link = await kept.connected()
        names = [f"S{number}" for number in range(3)]
        for name in names:
            await link.carry_out(Place(link.account, name), Create({"name": name, "storage": "memory"}))
            for consumer in ("a", "b", "c"):
                await link.carry_out(
                    Place(link.account, name, consumer),
                    Create({**FILTERED, "durable_name": consumer, "name": consumer}),
                )
        wanted = {name: frozenset({"a", "b", "c", "missing"}) for name in names}
        found = {place: observed async for place, observed in link.read_all(wanted)}
        assert len(found) == 3 + 12
        assert sum(isinstance(each, Present) for each in found.values()) == 3 + 9
        assert sum(isinstance(each, Missing) for each in found.values()) == 3


async def test_without_info_on_the_account_there_is_no_link_and_the_permission_is_named(start_nats: StartNats) -> None:
    async with let_in(start_with(start_nats, [each for each in ALL if each.subject != "$JS.API.INFO"])) as kept:
        failing = await kept.failing()
        assert failing.reason is Reason.UNAUTHORIZED
        assert 'Permissions Violation for Publish to "$JS.API.INFO"' in failing.message


async def test_without_an_inbox_there_is_no_link_and_the_permission_is_named(start_nats: StartNats) -> None:
    async with let_in(start_with(start_nats, [each for each in ALL if each.subject != "_INBOX.>"])) as kept:
        failing = await kept.failing()
        assert failing.reason is Reason.UNAUTHORIZED
        assert "_INBOX.>" in failing.message


@pytest.mark.parametrize(
    "missing", [each for each in ALL if each.feature is Feature.NOTICES], ids=lambda each: each.subject
)
async def test_without_notices_all_else_works_and_the_connection_says_what_is_not_heard(
    start_nats: StartNats, missing: Permission
) -> None:
    async with let_in(start_with(start_nats, without(missing))) as kept:
        outcome = await do_all(await kept.connected())
        assert not [each for each in outcome if isinstance(each, Failure | Unknown)]
        state = kept.links.state(CONNECTION)
        assert isinstance(state, Connected)
        (warning,) = state.warnings
        assert f"may not subscribe to {missing.subject}." in warning


@asynccontextmanager
async def worker_of(url: str) -> AsyncIterator[str]:
    """Have somebody answer as a worker of a group does, and return the group."""

    async def answer(message: Msg) -> None:
        await message.respond(b'{"worker": "etl-0"}')

    client = await nats.connect(url, user="worker", password=PASSWORD)
    await client.subscribe("penstock.worker.>", cb=answer)
    await client.flush()
    yield "shop/etl"
    await client.close()


@pytest.mark.parametrize("is_allowed", [True, False])
async def test_workers_are_heard_exactly_if_they_may_be_asked(start_nats: StartNats, *, is_allowed: bool) -> None:
    granted = [each for each in ALL if is_allowed or each.feature is not Feature.WORKERS]
    everything = {"user": "worker", "password": PASSWORD}
    operator = {"user": USER, "password": PASSWORD, "permissions": server_configuration(granted)}
    server = start_nats(extra={"authorization": {"users": [everything, operator]}})
    async with let_in(server) as kept, worker_of(server.url) as group:
        link = await kept.connected()
        told = await link.workers(group, 1)
        assert [each["worker"] for each in told] == (["etl-0"] if is_allowed else [])
        assert await link.tell_worker(group, "etl-0", "retire") is is_allowed


async def test_an_old_server_that_may_not_be_asked_for_the_account_is_known_by_its_user(start_nats: StartNats) -> None:
    granted = [each for each in ALL if each.feature is not Feature.ACCOUNT]
    async with let_in(start_with(start_nats, granted, version="2.11.17")) as kept:
        assert (await kept.connected()).account.startswith(f"user {USER}/")
    async with let_in(start_with(start_nats, granted)) as kept:
        assert (await kept.connected()).account.startswith("$G/")


DOCUMENT = (ROOT / "docs" / "permissions.md").read_text()


def test_the_document_has_each_permission_with_what_it_is_for() -> None:
    rows = []
    for feature, purpose in FEATURES.items():
        granted = [each for each in ALL if each.feature is feature]
        subjects = "<br>".join(f"{each.verb.value} `{each.subject}`" for each in granted)
        rows.append(f"| {feature.value} | {subjects} | {purpose} |")
    assert "\n".join(rows) in DOCUMENT


def test_the_configuration_in_the_document_grants_exactly_these() -> None:
    block = DOCUMENT.partition("```json\n")[2].partition("```")[0]
    assert json.loads(block) == server_configuration(ALL)
