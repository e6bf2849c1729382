"""The permissions in docs/permissions.md: they suffice, and each one that is missing is named."""

import json
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import pytest
from nats.aio.msg import Msg

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
from tests.operator.links.linking import OLD_AND_NEW, OTHER, PASSWORD, Kept, a_stream, quick_first
from tests.testbed.nats.client import connection
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually_async
from tools.environment import ROOT

ALL = tuple(permissions())
USER = "operator"
STREAM = {"name": "ORDERS", "subjects": ["orders.>"], "storage": "memory"}
DOCUMENT = (ROOT / "docs" / "permissions.md").read_text()
ETL = {"streamRef": {"name": "orders"}, "filterSubjects": ["orders.new.eu"]}
FILTERED = consumer_config(ConsumerSpec.model_validate(ETL), "etl")


def start_with(start_nats: StartNats, granted: Collection[Permission], **options: str | None) -> NatsServer:
    """Start a server with an operator that has these permissions, and a worker that may do everything."""
    operator = {"user": USER, "password": PASSWORD, "permissions": server_configuration(granted)}
    worker = {"user": "worker", "password": PASSWORD}
    return start_nats(extra={"authorization": {"users": [operator, worker]}}, **options)


async def linked(
    kept: Kept, start_nats: StartNats, granted: Collection[Permission] = ALL, **options: str | None
) -> Link:
    kept.keep_as(USER, start_with(start_nats, granted, **options).url)
    return await kept.connected()


def without(*missing: str) -> list[Permission]:
    """Return all permissions but those for these subjects."""
    return [permission for permission in ALL if permission.subject not in missing]


def subjects(*features: Feature) -> list[str]:
    return [permission.subject for permission in ALL if permission.feature in features]


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


@pytest.mark.parametrize("version", OLD_AND_NEW)
async def test_these_permissions_suffice(start_nats: StartNats, kept: Kept, version: str | None) -> None:
    outcome = await do_all(await linked(kept, start_nats, version=version))
    assert not [each for each in outcome if isinstance(each, Failure | Unknown)]
    assert kept.state().warnings == ()
    assert kept.state().account.startswith("$G/")


@pytest.mark.parametrize("missing", quick_first(subjects(Feature.OBSERVE, Feature.STREAMS, Feature.CONSUMERS)))
async def test_missing_permission_for_a_request_is_named(start_nats: StartNats, kept: Kept, missing: str) -> None:
    outcome = await do_all(await linked(kept, start_nats, without(missing)))
    refused = [each for each in outcome if isinstance(each, Failure | Unknown) and each.reason is Reason.UNAUTHORIZED]
    assert refused
    literal = missing.rstrip("*>.").rstrip("*.")
    for each in refused:
        assert f'Permissions Violation for Publish to "{literal}.' in each.message
        assert "Allow this user to publish there." in each.message
        assert isinstance(each, Unknown) or each.passing, "it may be allowed later"


async def test_user_may_be_limited_to_one_consumer_with_one_filter(start_nats: StartNats, kept: Kept) -> None:
    """As docs/permissions.md says."""
    narrow = Permission(Feature.CONSUMERS, Verb.PUBLISH, "$JS.API.CONSUMER.CREATE.ORDERS.etl.orders.new.eu")
    link = await linked(kept, start_nats, [narrow, *without("$JS.API.CONSUMER.CREATE.>")])
    await link.carry_out(Place(link.account, "ORDERS"), Create(STREAM))
    consumer = Place(link.account, "ORDERS", "etl")
    assert not isinstance(await link.carry_out(consumer, Create(FILTERED)), Failure)
    other = {**FILTERED, "filter_subject": "orders.new.us"}
    assert isinstance(await link.carry_out(consumer, Update(other)), Failure)


@pytest.mark.parametrize("missing", quick_first(subjects(Feature.LIST)))
async def test_without_lists_objects_are_read_one_by_one(start_nats: StartNats, kept: Kept, missing: str) -> None:
    link = await linked(kept, start_nats, without(missing))
    names = [f"S{number}" for number in range(3)]
    for name in names:
        await link.carry_out(Place(link.account, name), Create(a_stream(name)))
        for consumer in "abc":
            config = {**FILTERED, "filter_subject": f"{name}.eu", "durable_name": consumer, "name": consumer}
            await link.carry_out(Place(link.account, name, consumer), Create(config))
    wanted = {name: frozenset({"a", "b", "c", "missing"}) for name in names}
    found = {place: observed async for place, observed in link.read_all(wanted)}
    assert len(found) == 3 + 12
    assert sum(isinstance(each, Present) for each in found.values()) == 3 + 9
    assert sum(isinstance(each, Missing) for each in found.values()) == 3


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("$JS.API.INFO", 'Permissions Violation for Publish to "$JS.API.INFO"'),
        pytest.param("_INBOX.>", "_INBOX.>", marks=pytest.mark.full),
    ],
)
async def test_without_account_info_or_an_inbox_there_is_no_link_and_the_permission_is_named(
    start_nats: StartNats, kept: Kept, missing: str, said: str
) -> None:
    kept.keep_as(USER, start_with(start_nats, without(missing)).url)
    failing = await kept.failing()
    assert failing.reason is Reason.UNAUTHORIZED
    assert said in failing.message


@pytest.mark.parametrize("missing", quick_first(subjects(Feature.NOTICES)))
async def test_without_advisories_the_rest_works_with_a_warning(
    start_nats: StartNats, kept: Kept, missing: str
) -> None:
    outcome = await do_all(await linked(kept, start_nats, without(missing)))
    assert not [each for each in outcome if isinstance(each, Failure | Unknown)]
    (warning,) = kept.state().warnings
    assert f"may not subscribe to {missing}." in warning


@asynccontextmanager
async def worker_of(url: str) -> AsyncIterator[str]:
    """Answer like a worker of a group, and return the group."""

    async def answer(message: Msg) -> None:
        await message.respond(b'{"worker": "etl-0"}')

    async with connection(servers=url, user="worker", password=PASSWORD) as client:
        await client.subscribe("penstock.worker.>", cb=answer)
        await client.flush()
        yield "shop/etl"


@pytest.mark.parametrize("is_allowed", [True, pytest.param(False, marks=pytest.mark.full)])
async def test_workers_answer_exactly_if_requests_are_allowed(
    start_nats: StartNats, kept: Kept, *, is_allowed: bool
) -> None:
    granted = [each for each in ALL if is_allowed or each.feature is not Feature.WORKERS]
    server = start_with(start_nats, granted)
    kept.keep_as(USER, server.url)
    async with worker_of(server.url) as group:
        link = await kept.connected()

        async def heard() -> bool:
            return [each["worker"] for each in await link.workers(group, 1)] == ["etl-0"]

        async def ordered() -> bool:
            return await link.tell_worker(group, "etl-0", "retire")

        for answers in (heard, ordered):
            if is_allowed:
                await eventually_async(answers, "the worker answers")
            else:
                assert not await answers()


async def test_account_that_a_server_does_not_show_is_identified_by_the_user(start_nats: StartNats, kept: Kept) -> None:
    granted = without(*subjects(Feature.ACCOUNT))
    await linked(kept, start_nats, granted, version="2.11.17")
    kept.keep_as(USER, start_with(start_nats, granted).url, of=OTHER)
    assert (await kept.connected()).account.startswith(f"user {USER}/")
    assert (await kept.connected(OTHER)).account.startswith("$G/")


def test_document_has_each_permission_with_its_purpose_and_the_same_configuration() -> None:
    rows = []
    for feature, purpose in FEATURES.items():
        granted = [each for each in ALL if each.feature is feature]
        subjects = "<br>".join(f"{each.verb.value} `{each.subject}`" for each in granted)
        rows.append(f"| {feature.value} | {subjects} | {purpose} |")
    assert "\n".join(rows) in DOCUMENT
    block = DOCUMENT.partition("```json\n")[2].partition("```")[0]
    assert json.loads(block) == server_configuration(ALL)
