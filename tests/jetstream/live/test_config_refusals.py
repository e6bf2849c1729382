"""What servers refuse, and with which code: our rules must say it first. And what we refuse although servers do not.

Each row is a configuration that the newest server is asked for, and the field that our rules find guilty.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from penstock_jetstream.config import (
    CONSUMER,
    STREAM,
    Facts,
    Impossible,
    Severity,
    Table,
    Unchanged,
    Update,
    plan_update,
    validate,
)
from tests.jetstream.raw import MILLISECOND, Raw, connected
from tests.testbed.nats.cluster import NatsCluster
from tests.testbed.nats.server import NatsServer

Json = dict[str, Any]
SECOND = 1000 * MILLISECOND
PUSH: Json = {"deliver_subject": "deliver.to"}
EXPLICIT: Json = {"durable_name": "c", "ack_policy": "explicit"}
SOURCING: Json = {**PUSH, "durable_name": "c", "ack_policy": "flow_control"}


@pytest.fixture
async def raw(server: NatsServer) -> AsyncIterator[Raw]:
    """A connection to the newest server."""
    async with connected(**server.connect_arguments()) as client:
        yield client


def guilty(table: Table, config: Mapping[str, object], facts: Facts) -> set[str]:
    """Return the fields that our rules find wrong, without the path within them."""
    wrong = [problem for problem in validate(table, config, facts) if problem.severity is Severity.ERROR]
    return {problem.field.partition(".")[0].partition("[")[0] for problem in wrong}


STREAMS: list[tuple[str, Json, int]] = [
    ("description", {"description": "x" * 4097}, 10052),
    ("metadata", {"metadata": {"a": "x" * 131_072}}, 10052),
    ("retentoin", {"retentoin": "limits"}, 10025),
    ("template_owner", {"template_owner": "x"}, 10025),
    ("retention", {"retention": "forever"}, 10025),
    ("max_msgs", {"max_msgs": "many"}, 10025),
    ("max_msg_size", {"max_msg_size": 2**31}, 10025),
    ("max_age", {"max_age": 99 * MILLISECOND}, 10052),
    ("max_age", {"max_age": -1}, 10052),
    ("duplicate_window", {"duplicate_window": 99 * MILLISECOND}, 10052),
    ("duplicate_window", {"max_age": SECOND, "duplicate_window": 2 * SECOND}, 10052),
    ("num_replicas", {"num_replicas": 6}, 10052),
    ("num_replicas", {"num_replicas": -1}, 10133),
    ("num_replicas", {"num_replicas": 3}, 10074),
    ("allow_rollup_hdrs", {"deny_purge": True, "allow_rollup_hdrs": True}, 10052),
    ("sealed", {"sealed": True}, 10052),
    ("mirror_direct", {"mirror_direct": True}, 10052),
    ("placement", {"placement": {"preferred": "a"}}, 10052),
    ("discard_new_per_subject", {"discard_new_per_subject": True}, 10052),
    ("discard_new_per_subject", {"discard_new_per_subject": True, "discard": "new"}, 10052),
    ("subject_delete_marker_ttl", {"subject_delete_marker_ttl": SECOND - 1}, 10052),
    ("subject_delete_marker_ttl", {"mirror": {"name": "O"}, "subject_delete_marker_ttl": SECOND}, 10052),
    ("discard", {"allow_msg_counter": True, "discard": "new"}, 10052),
    ("allow_msg_ttl", {"allow_msg_counter": True, "allow_msg_ttl": True}, 10052),
    ("allow_msg_schedules", {"allow_msg_counter": True, "allow_msg_schedules": True}, 10052),
    ("retention", {"allow_msg_counter": True, "retention": "interest"}, 10052),
    ("discard", {"allow_msg_schedules": True, "discard": "new"}, 10052),
    ("sources", {"allow_msg_schedules": True, "sources": [{"name": "O"}]}, 10187),
    ("allow_msg_schedules", {"allow_msg_schedules": True, "mirror": {"name": "O"}}, 10186),
    ("persist_mode", {"persist_mode": "async", "storage": "memory"}, 10052),
    ("allow_atomic", {"persist_mode": "async", "allow_atomic": True}, 10052),
    ("subjects", {"mirror": {"name": "O"}, "subjects": ["x.>"]}, 10034),
    ("sources", {"mirror": {"name": "O"}, "sources": [{"name": "O"}]}, 10031),
    ("first_seq", {"mirror": {"name": "O"}, "first_seq": 5}, 10143),
    ("allow_msg_counter", {"mirror": {"name": "O"}, "allow_msg_counter": True}, 10173),
    ("allow_atomic", {"mirror": {"name": "O"}, "allow_atomic": True}, 10198),
    ("allow_batched", {"mirror": {"name": "O"}, "allow_batched": True}, 10209),
    ("mirror", {"mirror": {"name": "a.b"}}, 10142),
    ("mirror", {"mirror": {"name": "O", "consumer": {"name": "c"}}}, 10213),
    ("sources", {"sources": [{"name": ""}]}, 10141),
    ("sources", {"sources": [{"name": "O"}, {"name": "O"}]}, 10140),
    ("sources", {"sources": [{"name": "O", "consumer": {"name": "c", "deliver_subject": "d.*"}}]}, 10215),
    *(
        (field, {field: [source] if field == "sources" else source}, err_code)
        for source, of_source, of_mirror in (
            ({"name": "O", "filter_subject": "a", "subject_transforms": [{"src": "a", "dest": "b"}]}, 10144, 10150),
            ({"name": "O", "subject_transforms": [{"src": "a..b", "dest": "b"}]}, 10145, 10151),
            ({"name": "O", "subject_transforms": [{"src": "a.*", "dest": "{{wildcard(2)}}"}]}, 10146, 10154),
            ({"name": "O", "subject_transforms": [{"src": "a.*", "dest": "{{nonsense(1)}}"}]}, 10146, 10154),
            (
                {"name": "O", "subject_transforms": [{"src": "a.>", "dest": "b.>"}, {"src": "a.b", "dest": "c"}]},
                10147,
                10152,
            ),
        )
        for field, err_code in (("sources", of_source), ("mirror", of_mirror))
    ),
    ("sources", {"sources": [{"name": "O", "external": {"api": "$JS.API"}}]}, 10021),
    ("sources", {"sources": [{"name": "O", "external": {"api": "$JS.hub.API", "deliver": "d.>"}}]}, 10024),
    ("subjects", {"subjects": ["a b"]}, 10052),
    ("subjects", {"subjects": ["a..b"]}, 10052),
    ("subjects", {"subjects": ["a.>", "a.b"]}, 10052),
    ("subjects", {"subjects": ["a.*", "*.b"]}, 10052),
    ("subjects", {"subjects": [">"]}, 10052),
    ("subjects", {"subjects": ["$JS.>"]}, 10052),
    ("subjects", {"subjects": ["$SYS.>"]}, 10052),
    ("subject_transform", {"subject_transform": {"src": "a..b", "dest": "b"}}, 10155),
    ("subject_transform", {"subject_transform": {"src": "a.*", "dest": "b.{{wildcard(2)}}"}}, 10156),
    ("subject_transform", {"subject_transform": {"src": "a.*", "dest": "b.{{split(1)}}"}}, 10156),
    ("subject_transform", {"subject_transform": {"src": "a.>", "dest": "b"}}, 10156),
    ("republish", {"republish": {"src": ">", "dest": ">"}}, 10052),
    ("republish", {"republish": {"src": "a.*", "dest": "b.{{wildcard(7)}}"}}, 10052),
]


@pytest.mark.requirement("X-04", "X-06", "X-07", "X-09", "X-11", "X-13")
async def test_stream_that_servers_refuse_is_refused_here_first(
    raw: Raw, fresh_name: str, subtests: pytest.Subtests
) -> None:
    for field, config, err_code in STREAMS:
        with subtests.test(f"{err_code}-{field}", config=str(config)[:200]):
            whole = {"name": fresh_name, **config}
            assert await raw.refusal(f"STREAM.CREATE.{fresh_name}", whole) == err_code
            assert field in guilty(STREAM, whole, Facts(clustered=False, exists=False))


WORKQUEUE: Json = {"retention": "workqueue"}
LIMITED: Json = {"consumer_limits": {"max_ack_pending": 10, "inactive_threshold": SECOND}}
CONSUMERS: list[tuple[str, Json, int]] = [
    ("description", {**EXPLICIT, "description": "x" * 4097}, 10107),
    ("metadata", {**EXPLICIT, "metadata": {"a": "x" * 131_072}}, 10135),
    ("max_wait", {**EXPLICIT, "max_wait": 5}, 10025),
    ("ack_policy", {"durable_name": "c", "ack_policy": "some"}, 10025),
    ("ack_wait", {**EXPLICIT, "ack_wait": -1}, 10183),
    ("backoff", {**EXPLICIT, "backoff": [SECOND, -1]}, 10184),
    ("max_deliver", {**EXPLICIT, "backoff": [SECOND, SECOND, SECOND], "max_deliver": 2}, 10116),
    ("sample_freq", {**EXPLICIT, "sample_freq": "often"}, 10095),
    ("num_replicas", {**EXPLICIT, "num_replicas": 3}, 10074),
    ("rate_limit_bps", {**EXPLICIT, "rate_limit_bps": 5}, 10086),
    ("idle_heartbeat", {**EXPLICIT, "idle_heartbeat": SECOND}, 10088),
    ("flow_control", {**EXPLICIT, "flow_control": True}, 10089),
    ("max_expires", {**EXPLICIT, "max_expires": MILLISECOND - 1}, 10115),
    ("flow_control", {**EXPLICIT, **PUSH, "flow_control": True}, 10108),
    ("idle_heartbeat", {**EXPLICIT, **PUSH, "idle_heartbeat": 99 * MILLISECOND}, 10083),
    ("max_waiting", {**EXPLICIT, **PUSH, "max_waiting": 5}, 10080),
    ("deliver_subject", {**EXPLICIT, "deliver_subject": "a.*"}, 10079),
    ("deliver_subject", {**EXPLICIT, "deliver_subject": "a..b"}, 10112),
    ("max_ack_pending", {"durable_name": "c", "ack_policy": "none", **PUSH, "max_ack_pending": 5}, 10082),
    ("filter_subjects", {**EXPLICIT, "filter_subject": "a", "filter_subjects": ["b"]}, 10136),
    ("filter_subjects", {**EXPLICIT, "filter_subjects": ["a.>", "a.b"]}, 10138),
    ("filter_subjects", {**EXPLICIT, "filter_subjects": ["a", ""]}, 10139),
    ("filter_subjects", {**EXPLICIT, "filter_subjects": ["a..b"]}, 10052),
    ("opt_start_seq", {**EXPLICIT, "opt_start_seq": 5}, 10094),
    ("opt_start_time", {**EXPLICIT, "deliver_policy": "by_start_time"}, 10094),
    ("deliver_policy", {**EXPLICIT, "deliver_policy": "last_per_subject"}, 10094),
    ("opt_start_time", {**EXPLICIT, "deliver_policy": "by_start_time", "opt_start_time": "soon"}, 10025),
    ("priority_groups", {**EXPLICIT, "priority_policy": "overflow"}, 10159),
    ("priority_groups", {**EXPLICIT, "priority_groups": ["g"]}, 10196),
    ("priority_timeout", {**EXPLICIT, "priority_timeout": SECOND}, 10197),
    ("priority_groups", {**EXPLICIT, "priority_policy": "overflow", "priority_groups": [""]}, 10161),
    ("priority_groups", {**EXPLICIT, "priority_policy": "overflow", "priority_groups": ["a.b"]}, 10162),
    ("priority_groups", {**EXPLICIT, "priority_policy": "overflow", "priority_groups": ["g" * 17]}, 10162),
    ("priority_policy", {**EXPLICIT, **PUSH, "priority_policy": "overflow", "priority_groups": ["g"]}, 10178),
    ("ack_policy", {"durable_name": "c", "ack_policy": "flow_control"}, 10218),
    ("max_ack_pending", {**SOURCING, "max_ack_pending": -1}, 10220),
    ("ack_wait", {**SOURCING, "ack_wait": SECOND}, 10221),
    ("backoff", {**SOURCING, "backoff": [SECOND]}, 10221),
    ("max_deliver", {**SOURCING, "max_deliver": 3}, 10222),
]
CONSUMERS_OF: list[tuple[Json, str, Json, int]] = [
    (WORKQUEUE, "ack_policy", {"durable_name": "c", "ack_policy": "none"}, 10084),
    (WORKQUEUE, "ack_policy", {"durable_name": "c", "ack_policy": "all"}, 10098),
    (WORKQUEUE, "deliver_policy", {**EXPLICIT, "deliver_policy": "new"}, 10101),
    (LIMITED, "max_ack_pending", {**EXPLICIT, "max_ack_pending": 11}, 10121),
    (LIMITED, "inactive_threshold", {**EXPLICIT, "inactive_threshold": 2 * SECOND}, 10153),
    *(({}, *row) for row in CONSUMERS),
]


@pytest.mark.requirement("S-03", "S-31", "G-01", "G-02", "G-03", "V-02", "X-04", "X-05", "X-09", "X-15")
async def test_consumer_that_servers_refuse_is_refused_here_first(
    raw: Raw, fresh_name: str, subtests: pytest.Subtests
) -> None:
    for number, (stream, field, config, err_code) in enumerate(CONSUMERS_OF):
        with subtests.test(f"{err_code}-{field}", config=str(config)[:200]):
            name = f"{fresh_name}-{number}"
            made = await raw.make_stream(name, **stream)
            request = {"stream_name": name, "config": config}
            assert await raw.refusal(f"CONSUMER.CREATE.{name}.c", request) == err_code
            assert field in guilty(CONSUMER, config, Facts(clustered=False, stream=made))


TOO_LONG = "x" * 256


@pytest.mark.requirement("X-18")
async def test_names_that_servers_refuse_are_refused(raw: Raw, fresh_name: str, subtests: pytest.Subtests) -> None:
    await raw.make_stream(fresh_name)
    for name, of_stream, of_consumer in (("a/b", 10128, 10127), ("a\\b", 10128, 10127), (TOO_LONG, 10052, 10102)):
        with subtests.test(name):
            assert await raw.refusal(f"STREAM.CREATE.{name}", {"name": name}) == of_stream
            assert "name" in guilty(STREAM, {"name": name}, Facts())
            config = {**EXPLICIT, "durable_name": name}
            request = {"stream_name": fresh_name, "config": config}
            assert await raw.refusal(f"CONSUMER.CREATE.{fresh_name}.{name}", request) == of_consumer
            assert "durable_name" in guilty(CONSUMER, config, Facts())
    for letter in ".*> \t\r\n\f":
        name = f"{fresh_name}{letter}b"
        with subtests.test(repr(letter)):
            assert await raw.refusal(f"STREAM.UPDATE.{fresh_name}", {"name": name}) == 10052
            assert "name" in guilty(STREAM, {"name": name}, Facts())


async def test_sealed_stream_stays_sealed_as_the_table_makes_it(raw: Raw, fresh_name: str) -> None:
    given = {"name": fresh_name, "max_age": SECOND, "allow_rollup_hdrs": True}
    sealed = {**given, "sealed": True}
    await raw.do(f"STREAM.CREATE.{fresh_name}", given)
    actual = (await raw.do(f"STREAM.UPDATE.{fresh_name}", sealed))["config"]
    assert await raw.refusal(f"STREAM.UPDATE.{fresh_name}", given) == 10052
    assert plan_update(STREAM, sealed, actual) == Unchanged()
    assert isinstance(plan_update(STREAM, given, actual), Impossible)


@pytest.mark.requirement("X-05")
async def test_filters_in_the_requests_subject_are_those_of_the_configuration(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name)
    several = {"stream_name": fresh_name, "config": {**EXPLICIT, "filter_subjects": ["a", "b"]}}
    other = {"stream_name": fresh_name, "config": {**EXPLICIT, "filter_subject": "b"}}
    mismatch = {"stream_name": fresh_name, "config": {**EXPLICIT, "name": "d", "durable_name": "d"}}
    assert await raw.refusal(f"CONSUMER.CREATE.{fresh_name}.c.a", several) == 10137
    assert await raw.refusal(f"CONSUMER.CREATE.{fresh_name}.c.a", other) == 10131
    assert await raw.refusal(f"CONSUMER.CREATE.{fresh_name}.c", mismatch) == 10017


async def test_what_only_a_cluster_can_refuse_is_known_too(nats_cluster: NatsCluster) -> None:
    async with connected(**nats_cluster.connect_arguments()) as raw:
        await raw.make_stream("S", num_replicas=3, retention="interest")
        stream = (await raw.do("STREAM.INFO.S"))["config"]
        moved = {**stream, "num_replicas": 1, "placement": {"cluster": "elsewhere"}}
        assert await raw.refusal("STREAM.UPDATE.S", moved) == 10123
        plan = plan_update(STREAM, moved, stream, Facts(clustered=True))
        assert isinstance(plan, Impossible)
        assert [obstacle.field for obstacle in plan.obstacles] == ["placement"]

        assert await raw.refusal("STREAM.CREATE.T", {"name": "T", "placement": {"tags": ["none"]}}) == 10005
        facts = Facts(clustered=True, stream=stream)
        for replicas, err_code in ((1, 10134), (5, 10126)):
            config = {**EXPLICIT, "num_replicas": replicas}
            assert await raw.refused_consumer("S.c", num_replicas=replicas) == err_code
            assert guilty(CONSUMER, config, facts) == {"num_replicas"}

        scaled = plan_update(STREAM, {**stream, "num_replicas": 1}, stream, Facts(clustered=True))
        assert isinstance(scaled, Update)
        assert (await raw.do("STREAM.UPDATE.S", scaled.config))["config"]["num_replicas"] == 1
