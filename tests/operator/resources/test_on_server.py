"""Every field of a Stream and a Consumer on a real server: set, it has it; unset, it has its own default again."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.config import (
    CONSUMER,
    STREAM,
    Facts,
    Impossible,
    Problem,
    Severity,
    Table,
    Unchanged,
    Update,
    plan_update,
    validate,
)
from penstock_jetstream.transport.connection import Connection
from penstock_operator.resources import ConsumerSpec, StreamSpec
from penstock_operator.resources.part import Part
from penstock_operator.resources.server import Counterpart, counterparts
from penstock_operator.resources.spelling import from_server
from penstock_operator.resources.translation import consumer_config, consumer_spec, stream_config, stream_spec
from tests.operator.resources.consumer_rows import SMALLEST as CONSUMER_SMALLEST
from tests.operator.resources.stream_rows import SMALLEST as STREAM_SMALLEST
from tests.testbed.nats.shared import NEWEST, SharedServers

Json = dict[str, Any]
SECOND = 10**9

# What a field needs with it, and a value where the example of the server's table will not do on one server.
STREAM_COMPANIONS: Mapping[str, Json] = {
    "discardNewPerSubject": {"discard": "New", "maxMessagesPerSubject": 5},
    "duplicateWindow": {"maxAge": "1h"},
    "mirrorDirect": {"mirror": {"name": "ORIGIN"}},
}
STREAM_VALUES: Mapping[str, object] = {
    "subjects": ["seen"],
    "retention": "Interest",
    "sources": [{"name": "ORIGIN", "filterSubject": "a.*"}],
    "mirror": {"name": "ORIGIN", "startSequence": 7, "external": {"apiPrefix": "$JS.hub.API"}},
    "consumerLimits": {"maxAckPending": 5000, "inactiveThreshold": "1h"},
    "republish": {"source": "a.>", "destination": "seen.a.>", "headersOnly": True},
}
PUSH: Json = {"deliverSubject": "deliver.to", "idleHeartbeat": "5s"}
PINNED: Json = {"priorityPolicy": "PinnedClient", "priorityGroups": ["workers"]}
CONSUMER_COMPANIONS: Mapping[str, Json] = {
    "startSequence": {"deliverPolicy": "ByStartSequence", "startSequence": 7},
    "startTime": {"deliverPolicy": "ByStartTime", "startTime": "2026-01-31T12:00:01Z"},
    "deliverGroup": {"deliverSubject": "deliver.to"},
    "idleHeartbeat": {"deliverSubject": "deliver.to"},
    "flowControl": PUSH,
    "rateLimitBitsPerSecond": PUSH,
    "priorityTimeout": PINNED,
}
CONSUMER_VALUES: Mapping[str, object] = {
    "ackPolicy": "All",
    "replicas": 1,
    "priorityPolicy": "Overflow",
    "filterSubjects": ["a.b"],
    "startTime": "2026-01-31T12:00:00Z",
}
CHANGED_TOGETHER: Mapping[str, Json] = {
    "priorityPolicy": {"priorityGroups": ["workers"]},
    "priorityGroups": {"priorityPolicy": "Overflow"},
}
NOT_HERE: Mapping[str, str] = {
    "name": "it is what the object is called, and never unset",
    "sealed": "no stream is created sealed: a test of its own seals one",
    "replicas": "a Stream's need a cluster",
    "mirrorDirect": "the server takes the origin's",
    "pauseUntil": "the server has a request of its own for it",
}


@pytest.fixture
async def jetstream(shared_servers: SharedServers) -> AsyncIterator[JetStream]:
    async with Connection(shared_servers.get(NEWEST).url) as connection:
        yield JetStream(connection)


def fields(part: type[Part], table: Table) -> list[Counterpart]:
    return [each for each in counterparts(part, table.fields) if each.alias not in NOT_HERE]


def scenario(each: Counterpart, companions: Mapping[str, Json], values: Mapping[str, object]) -> tuple[Json, Json]:
    """Return what the field needs with it, and the same with the field."""
    value = values.get(each.alias, from_server(each, each.server.example))
    companion = companions.get(each.alias, {})
    return companion, {**companion, each.alias: value, **CHANGED_TOGETHER.get(each.alias, {})}


def stream_of(fields: Json, name: str) -> Json:
    return stream_config(StreamSpec.read({**STREAM_SMALLEST, **fields}), name)


def consumer_of(fields: Json, name: str = "c") -> Json:
    return consumer_config(ConsumerSpec.read({**CONSUMER_SMALLEST, **fields}), name)


def is_for_good(part: type[Part], before: Json, after: Json, smallest: Json) -> bool:
    """Tell whether the change rules say that this change cannot be made."""
    return bool(part.read({**smallest, **after}).faults_after(part.read({**smallest, **before})))


async def test_each_field_of_a_stream_can_be_set_and_unset(
    jetstream: JetStream, fresh_name: str, subtests: pytest.Subtests
) -> None:
    facts = Facts(api_level=(await jetstream.account()).api_level, clustered=False)
    for each in fields(StreamSpec, STREAM):
        with subtests.test(each.alias):
            name = f"{fresh_name}-{each.alias}"
            companion, fields_set = scenario(each, STREAM_COMPANIONS, STREAM_VALUES)
            desired, without = stream_of(fields_set, name), stream_of(companion, name)
            actual = (await jetstream.streams.create(desired)).config
            effective = STREAM.effective(actual, facts)[each.server.name]
            assert effective != STREAM.effective(without, facts)[each.server.name]
            assert plan_update(STREAM, desired, actual, facts) == Unchanged()
            imported = stream_spec(actual, facts)
            assert imported[each.alias] == fields_set[each.alias]
            assert plan_update(STREAM, stream_of(imported, "unused"), actual, facts) == Unchanged()

            change = plan_update(STREAM, without, actual, facts)
            assert isinstance(change, Impossible) is is_for_good(StreamSpec, fields_set, companion, STREAM_SMALLEST)
            if isinstance(change, Update):
                unset = (await jetstream.streams.update(change.config)).config
                await jetstream.streams.delete(name)
                default = (await jetstream.streams.create(without)).config
                assert unset.get(each.server.name) == default.get(each.server.name)


async def test_each_field_of_a_consumer_can_be_set_and_unset(
    jetstream: JetStream, fresh_name: str, subtests: pytest.Subtests
) -> None:
    stream = (await jetstream.streams.create({"name": fresh_name})).config
    facts = Facts(api_level=(await jetstream.account()).api_level, clustered=False, stream=stream)
    for each in fields(ConsumerSpec, CONSUMER):
        with subtests.test(each.alias):
            companion, fields_set = scenario(each, CONSUMER_COMPANIONS, CONSUMER_VALUES)
            desired, without = consumer_of(fields_set, each.alias), consumer_of(companion, each.alias)
            actual = (await jetstream.consumers.create(fresh_name, desired)).config
            assert plan_update(CONSUMER, desired, actual, facts) == Unchanged()
            imported = consumer_spec(actual, facts)
            assert imported[each.alias] == fields_set[each.alias]
            assert plan_update(CONSUMER, consumer_of(imported, each.alias), actual, facts) == Unchanged()

            change = plan_update(CONSUMER, without, actual, facts)
            assert isinstance(change, Impossible) is is_for_good(ConsumerSpec, fields_set, companion, CONSUMER_SMALLEST)
            if isinstance(change, Update):
                unset = (await jetstream.consumers.update(fresh_name, change.config)).config
                await jetstream.consumers.delete(fresh_name, each.alias)
                default = (await jetstream.consumers.create(fresh_name, without)).config
                assert unset.get(each.server.name) == default.get(each.server.name)


async def test_stream_can_be_sealed_after_its_creation_and_stays_so(jetstream: JetStream, fresh_name: str) -> None:
    facts = Facts(api_level=(await jetstream.account()).api_level, clustered=False)
    actual = (await jetstream.streams.create(stream_of({}, fresh_name))).config
    change = plan_update(STREAM, stream_of({"sealed": True}, fresh_name), actual, facts)
    assert isinstance(change, Update)
    sealed = (await jetstream.streams.update(change.config)).config
    assert plan_update(STREAM, stream_of({"sealed": True}, fresh_name), sealed, facts) == Unchanged()
    assert plan_update(STREAM, stream_of(stream_spec(sealed, facts), "unused"), sealed, facts) == Unchanged()
    assert isinstance(plan_update(STREAM, stream_of({}, fresh_name), sealed, facts), Impossible)


async def test_consumer_can_be_created_paused(jetstream: JetStream, fresh_name: str) -> None:
    await jetstream.streams.create({"name": fresh_name})
    until = {"pauseUntil": "2036-01-31T12:00:00Z"}
    made = await jetstream.consumers.create(fresh_name, consumer_of(until))
    assert made.pause.is_paused
    assert consumer_spec(made.config)["pauseUntil"] == until["pauseUntil"]


IN_THE_SERVERS_SPELLING: Mapping[str, Json] = {
    "plain": {},
    "short-lived": {"max_age": 60 * SECOND},
    "for-ever": {"max_age": 0, "max_msgs": -1, "max_bytes": 0},
    "mirror": {"mirror": {"name": "ORIGIN", "opt_start_time": "2026-01-31T12:00:00.000000001Z"}},
    "sourcing": {
        "sources": [{"name": "O", "filter_subject": "a.>"}, {"name": "P", "external": {"api": "$JS.hub.API"}}]
    },
    "filtering": {"sources": [{"name": "O", "subject_transforms": [{"src": "a", "dest": ""}, {"src": "b"}]}]},
    "marking": {"subject_delete_marker_ttl": 60 * SECOND},
    "scheduling": {"allow_msg_schedules": True},
    "republishing": {"republish": {"dest": "seen.>"}},
    "transforming": {"subject_transform": {"src": "", "dest": "b.>"}},
    "limiting": {"consumer_limits": {"max_ack_pending": 77, "inactive_threshold": 60 * SECOND}},
    "queueing": {"retention": "workqueue", "discard": "new", "compression": "s2", "storage": "memory"},
}
CONSUMERS_IN_THE_SERVERS_SPELLING: Mapping[str, Json] = {
    "plain": {"ack_policy": "explicit"},
    "careless": {"ack_policy": "none"},
    "careless-and-waiting": {"ack_policy": "none", "ack_wait": 30 * SECOND},
    "push": {"ack_policy": "all", "deliver_subject": "deliver.to", "deliver_group": "g", "rate_limit_bps": 1000},
    "pinned": {"ack_policy": "explicit", "priority_policy": "pinned_client", "priority_groups": ["workers"]},
    "backoff": {"ack_policy": "explicit", "backoff": [SECOND, 2 * SECOND], "ack_wait": 7 * SECOND},
    "copying": {"ack_policy": "flow_control", "deliver_subject": "deliver.to"},
    "one-filter": {"ack_policy": "none", "filter_subject": "x.a"},
    "several-filters": {"ack_policy": "explicit", "filter_subjects": ["x.a", "x.b"]},
    "sampling": {"ack_policy": "explicit", "sample_freq": "25"},
    "boundless": {"ack_policy": "explicit", "max_ack_pending": -1, "max_deliver": -1},
}


async def test_stream_made_by_others_is_imported_and_plans_as_no_change(
    jetstream: JetStream, fresh_name: str, subtests: pytest.Subtests
) -> None:
    facts = Facts(api_level=(await jetstream.account()).api_level, clustered=False, exists=True)
    for case, config in IN_THE_SERVERS_SPELLING.items():
        with subtests.test(case):
            actual = (await jetstream.streams.create({"name": f"{fresh_name}-{case}", **config})).config
            desired = stream_of(stream_spec(actual, facts), "unused")
            assert plan_update(STREAM, desired, actual, facts) == Unchanged()
            assert errors(STREAM, desired, facts) == []


@pytest.mark.parametrize("limits", [{}, IN_THE_SERVERS_SPELLING["limiting"]], ids=["free", "limited"])
async def test_consumer_made_by_others_is_imported_and_plans_as_no_change(
    jetstream: JetStream, limits: Json, fresh_name: str, subtests: pytest.Subtests
) -> None:
    for case, config in CONSUMERS_IN_THE_SERVERS_SPELLING.items():
        with subtests.test(case):
            name = f"{fresh_name}-{case}"
            stream = (await jetstream.streams.create({"name": name, **limits})).config
            level = (await jetstream.account()).api_level
            facts = Facts(api_level=level, clustered=False, exists=True, stream=stream)
            actual = (await jetstream.consumers.create(name, {"durable_name": "c", **config})).config
            for known in (facts, Facts()):
                desired = consumer_of(consumer_spec(actual, known))
                assert plan_update(CONSUMER, desired, actual, facts) == Unchanged()
                assert errors(CONSUMER, desired, facts) == []


def errors(table: Table, config: Json, facts: Facts) -> list[Problem]:
    return [problem for problem in validate(table, config, facts) if problem.severity is Severity.ERROR]
