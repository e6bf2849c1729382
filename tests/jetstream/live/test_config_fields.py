"""The tables of fields against servers: what is stored for an omitted field, what an update can change, since when.

Each field of the tables is a subtest of its own: a field that the tables get wrong cannot hide.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from penstock_jetstream.config import (
    CONSUMER,
    STREAM,
    Facts,
    Impossible,
    Table,
    Unchanged,
    Update,
    diff,
    level_of,
    plan_update,
    validate,
)
from penstock_jetstream.config.field import Field
from tests.jetstream.raw import Raw, connected
from tests.testbed.nats.shared import NEWEST, SharedServers

SECOND = 10**9
Json = dict[str, Any]

# What a field needs with it, and a value other than its default where the table's example will not do on one server.
STREAM_COMPANIONS: Mapping[str, Json] = {
    "discard_new_per_subject": {"discard": "new", "max_msgs_per_subject": 5},
    "persist_mode": {"storage": "file"},
    "duplicate_window": {"max_age": 3600 * SECOND},
}
STREAM_VALUES: Mapping[str, object] = {
    "name": "another",
    "retention": "workqueue",
    "storage": "memory",
    "num_replicas": 3,
    "mirror_direct": True,
    "sources": [{"name": "ORIGIN"}],
    "mirror": {"name": "ORIGIN"},
    "republish": {"src": ">", "dest": "seen.>"},
}
PUSH: Json = {"deliver_subject": "deliver.to", "idle_heartbeat": 5 * SECOND}
PINNED: Json = {"priority_policy": "pinned_client", "priority_groups": ["workers"]}
CONSUMER_COMPANIONS: Mapping[str, Json] = {
    "opt_start_seq": {"deliver_policy": "by_start_sequence", "opt_start_seq": 7},
    "opt_start_time": {"deliver_policy": "by_start_time", "opt_start_time": "2026-01-31T12:00:01Z"},
    "deliver_group": PUSH,
    "idle_heartbeat": PUSH,
    "flow_control": PUSH,
    "rate_limit_bps": PUSH,
    "priority_timeout": PINNED,
    "max_deliver": {"backoff": [SECOND, 2 * SECOND]},
}
CONSUMER_VALUES: Mapping[str, object] = {
    "durable_name": "another",
    "name": "another",
    "ack_policy": "all",
    "idle_heartbeat": 6 * SECOND,
    "max_deliver": 2,
    "num_replicas": 1,
    "direct": True,
    "sourcing": True,
}
CHANGED_TOGETHER: Mapping[str, Json] = {
    "priority_policy": {"priority_groups": ["workers"]},
    "priority_groups": {"priority_policy": "overflow"},
}
WITHOUT_GOOD = {"stream-first_seq", "consumer-name", "consumer-priority_policy", "consumer-priority_groups"}
"""What servers take although it has no effect, or breaks what clients count on: we refuse it."""
WITHOUT_EFFECT_BEFORE = {"consumer-mem_storage": (2, 14), "stream-num_replicas": (2, 14)}
"""The same on servers older than these."""


@pytest.fixture(params=[*(pytest.param(line, marks=pytest.mark.full) for line in ("2.11", "2.12", "2.14")), NEWEST])
async def raw(request: pytest.FixtureRequest, shared_servers: SharedServers) -> AsyncIterator[Raw]:
    """A connection to a server of each line; how acks are written does not matter here."""
    async with connected(**shared_servers.get(request.param).connect_arguments()) as client:
        yield client


NOT_AT_CREATION = {"name", "durable_name", "sealed", "num_replicas", "mirror_direct"}
STRICT = (2, 12)
"""The first version whose servers refuse fields that they do not know."""


def scenario(table: Table, field: Field, name: str) -> tuple[Json, Json]:
    """Return a configuration of a stream of this name or of a consumer, and the same with the field changed."""
    companions, values = (
        (STREAM_COMPANIONS, STREAM_VALUES) if table is STREAM else (CONSUMER_COMPANIONS, CONSUMER_VALUES)
    )
    before = companions.get(field.name, {})
    value = [f"{name}.other"] if field.name == "subjects" else values.get(field.name, field.example)
    smallest = {"name": name} if table is STREAM else {"durable_name": "c", "ack_policy": "explicit"}
    before = {**smallest, **before}
    return before, {**before, field.name: value, **CHANGED_TOGETHER.get(field.name, {})}


async def created(raw: Raw, table: Table, name: str, config: Json) -> Json:
    """Ask for a stream of this name, or for a consumer of one that is made first; return the whole answer."""
    if table is STREAM:
        return await raw.api(f"STREAM.CREATE.{name}", config)
    await raw.make_stream(name)
    return await raw.api(f"CONSUMER.CREATE.{name}.c", {"stream_name": name, "config": config})


async def updated(raw: Raw, table: Table, name: str, config: Json) -> Json:
    """Ask for an update, and return the whole answer."""
    if table is STREAM:
        return await raw.api(f"STREAM.UPDATE.{name}", config)
    return await raw.api(f"CONSUMER.CREATE.{name}.c", {"stream_name": name, "config": config, "action": "update"})


async def made(raw: Raw, table: Table, name: str, config: Json) -> Json:
    """Create an object, and return its configuration as the server has it."""
    answer = await created(raw, table, name, config)
    assert "error" not in answer, answer
    stored: Json = answer["config"]
    return stored


def every_field() -> list[tuple[Table, Field]]:
    return [(table, field) for table in (STREAM, CONSUMER) for field in table.fields if field.name not in table.apart]


async def facts_of(raw: Raw, stream: str) -> Facts:
    account = await raw.do("INFO")
    found = await raw.api(f"STREAM.INFO.{stream}")
    return Facts(api_level=account["api"].get("level", 0), clustered=False, stream=found.get("config"))


def is_known(field: Field, raw: Raw) -> bool:
    return tuple(map(int, field.since.split(".")))[:2] <= raw.version


def takes_for_nothing(table: Table, field: Field, raw: Raw) -> bool:
    key = f"{table.kind}-{field.name}"
    return key in WITHOUT_GOOD or raw.version < WITHOUT_EFFECT_BEFORE.get(key, (0, 0))


async def prove(raw: Raw, table: Table, name: str, *, actual: Json, desired: Json, refused_by_us: bool) -> None:
    """Plan an update and ask for it anyway: what is planned must be what the server does."""
    facts = await facts_of(raw, name)
    plan = plan_update(table, desired, actual, facts)
    answer = await updated(raw, table, name, desired)
    if refused_by_us:
        assert isinstance(plan, Impossible)
        assert "error" not in answer
    elif isinstance(plan, Impossible):
        assert "error" in answer, f"{plan} but {answer}"
    else:
        assert isinstance(plan, Update), plan
        assert "error" not in answer, answer
        assert diff(table, desired, answer["config"], facts) == []


@pytest.mark.requirement("X-07", "X-11", "X-13")
async def test_update_changes_what_the_table_says(raw: Raw, fresh_name: str, subtests: pytest.Subtests) -> None:
    for table, field in every_field():
        if not is_known(field, raw):
            continue
        refused = takes_for_nothing(table, field, raw)
        key = f"{table.kind}-{field.name}"
        name = f"{fresh_name}-{key}"
        before, changed = scenario(table, field, name)
        with subtests.test(key):
            actual = await made(raw, table, name, before)
            await prove(raw, table, name, actual=actual, desired={**actual, **changed}, refused_by_us=refused)
        if field.name in NOT_AT_CREATION or field.internal:
            continue
        name = f"{name}-back"
        before, changed = scenario(table, field, name)
        with subtests.test(f"{key} back to the default"):
            actual = await made(raw, table, name, changed)
            await prove(raw, table, name, actual=actual, desired=before, refused_by_us=refused)


CONSUMER_KINDS: Mapping[str, Json] = {
    "durable": {"durable_name": "c", "ack_policy": "explicit"},
    "durable-none": {"durable_name": "c", "ack_policy": "none"},
    "ephemeral": {"name": "c", "ack_policy": "all"},
    "push": {"durable_name": "c", "ack_policy": "explicit", "deliver_subject": "deliver.to"},
    "pinned": {"durable_name": "c", "ack_policy": "explicit", **PINNED},
    "backoff": {"durable_name": "c", "ack_policy": "explicit", "backoff": [SECOND, 2 * SECOND]},
    "several-filters": {"durable_name": "c", "ack_policy": "explicit", "filter_subjects": ["x.a", "x.b"]},
}
STREAM_KINDS: Mapping[str, Json] = {
    "plain": {},
    "short-lived": {"max_age": 60 * SECOND},
    "mirror": {"mirror": {"name": "ORIGIN"}},
    "sourcing": {"sources": [{"name": "ORIGIN", "filter_subject": "a.>"}]},
    "marking": {"subject_delete_marker_ttl": SECOND},
    "republishing": {"republish": {"dest": "seen.>"}},
    "limiting": {"consumer_limits": {"max_ack_pending": 77, "inactive_threshold": 60 * SECOND}},
}


@pytest.mark.requirement("S-03")
async def test_stored_configuration_is_what_the_table_makes_of_it(
    raw: Raw, fresh_name: str, subtests: pytest.Subtests
) -> None:
    for kind, fields in STREAM_KINDS.items():
        with subtests.test(stream=kind):
            given = {"name": f"{fresh_name}-{kind}", **fields}
            actual = await made(raw, STREAM, given["name"], given)
            assert plan_update(STREAM, given, actual, await facts_of(raw, given["name"])) == Unchanged()
    for stream, limits in ((f"{fresh_name}-free", {}), (f"{fresh_name}-limited", STREAM_KINDS["limiting"])):
        await raw.make_stream(stream, **limits)
        for kind, fields in CONSUMER_KINDS.items():
            with subtests.test(consumer=kind, stream=stream):
                given = {name: kind if value == "c" else value for name, value in fields.items()}
                request = {"stream_name": stream, "config": given}
                answer = await raw.do(f"CONSUMER.CREATE.{stream}.{kind}", request)
                assert diff(CONSUMER, given, answer["config"], await facts_of(raw, stream)) == []


@pytest.mark.requirement("X-08", "X-09")
async def test_newer_fields_are_refused_here_first(raw: Raw, fresh_name: str, subtests: pytest.Subtests) -> None:
    version = raw.client.connected_server_version
    for table, field in every_field():
        if field.level <= 1:
            continue
        name = f"{fresh_name}-{table.kind}-{field.name}"
        _, changed = scenario(table, field, name)
        with subtests.test(f"{table.kind}-{field.name}"):
            facts = await facts_of(raw, name)
            assert facts.api_level == level_of(f"{version.major}.{version.minor}.{version.patch}")
            warned = any(str(facts.api_level) in problem.sentence for problem in validate(table, changed, facts))
            answer = await created(raw, table, name, changed)
            assert warned == (not is_known(field, raw))
            if not warned:
                assert "error" not in answer or field.internal, answer
            elif raw.version < STRICT:
                assert field.name not in answer["config"]
            else:
                assert answer["error"]["err_code"] == 10025
