"""Consumers on real servers: made, looked at, changed, paused, put back, unpinned, deleted."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from penstock_jetstream.errors import ApiError, ConflictError, ErrorCode, MissingError, ProtocolError, UsageError
from tests.jetstream.playing import TYPES, Played
from tests.jetstream.scene import SECOND, Scene, eventually, on_every_server, scene
from tests.testbed.nats.cluster import NatsCluster

ETL = {"durable_name": "etl", "ack_policy": "explicit"}


@pytest.mark.requirement("C-01")
@on_every_server
async def test_consumer_is_made_looked_at_and_deleted(it: Scene) -> None:
    await it.fill(3)
    name, consumers = it.stream, it.js.consumers
    made = await consumers.create(name, ETL)
    assert (made.name, made.stream, made.num_pending) == ("etl", name, 3)
    found = await consumers.info(name, "etl")
    assert (found.config, found.created) == (made.config, made.created)
    assert found.config["max_waiting"] == 512
    assert await it.consumer_names() == ["etl"]
    assert [each.name async for each in consumers.list(name)] == ["etl"]
    await consumers.delete(name, "etl")
    with pytest.raises(MissingError, match=f"Consumer etl of stream {name}"):
        await consumers.info(name, "etl")


@pytest.mark.requirement("C-03")
@on_every_server
async def test_create_update_and_both_are_three_operations(it: Scene) -> None:
    name, consumers = it.stream, it.js.consumers
    with pytest.raises(MissingError) as missing:
        await consumers.update(name, ETL)
    assert missing.value.err_code == ErrorCode.CONSUMER_DOES_NOT_EXIST
    await consumers.create(name, ETL)
    await consumers.create(name, ETL)
    with pytest.raises(ConflictError) as conflict:
        await consumers.create(name, ETL | {"max_deliver": 5})
    assert conflict.value.err_code == ErrorCode.CONSUMER_ALREADY_EXISTS
    assert (await consumers.update(name, ETL | {"max_deliver": 5})).config["max_deliver"] == 5
    assert (await consumers.create_or_update(name, ETL | {"max_deliver": 6})).config["max_deliver"] == 6
    assert (await consumers.create_or_update(name, {"durable_name": "new"})).name == "new"


@pytest.mark.requirement("V-09")
@on_every_server
async def test_ack_policy_is_explicit_if_left_out(it: Scene) -> None:
    assert (await it.js.consumers.create(it.stream, {"durable_name": "etl"})).config["ack_policy"] == "explicit"
    body = json.dumps({"stream_name": it.stream, "config": {"durable_name": "naive"}}).encode()
    await it.connection.request(f"$JS.API.CONSUMER.CREATE.{it.stream}.naive", body)
    assert (await it.info("naive")).config["ack_policy"] == "none"


@pytest.mark.requirement("V-08")
@on_every_server
async def test_durable_stays_durable_after_an_update_by_name(it: Scene) -> None:
    """Naive: to send the name alone, by which the server takes the consumer for ephemeral."""
    name, consumers = it.stream, it.js.consumers
    await consumers.create(name, ETL)
    by_name = {"name": "etl", "ack_policy": "explicit", "description": "x"}
    for write in (consumers.update, consumers.create_or_update):
        assert (await write(name, by_name)).config["durable_name"] == "etl"
    body = json.dumps({"stream_name": name, "config": by_name, "action": "update"}).encode()
    await it.connection.request(f"$JS.API.CONSUMER.CREATE.{name}.etl", body)
    assert "durable_name" not in (await consumers.info(name, "etl")).config
    ephemeral = await consumers.create_or_update(name, {"name": "new", "ack_policy": "none"})
    assert "durable_name" not in ephemeral.config


@on_every_server
async def test_server_names_consumers_and_modify_keeps_the_rest(it: Scene) -> None:
    name, consumers = it.stream, it.js.consumers
    info = await consumers.create(name, {"ack_policy": "none"})
    assert info.name
    assert "durable_name" not in info.config
    before = await consumers.create(name, ETL | {"max_batch": 7, "max_expires": SECOND, "metadata": {"owner": "me"}})
    after = await consumers.modify(name, "etl", lambda now: now | {"description": "x"})
    assert after.config == {**before.config, "description": "x"}


@pytest.mark.requirement("X-05")
@on_every_server
async def test_filters_are_stored(it: Scene) -> None:
    """Naive: several filters in the body, and one of them in the subject of the request, which is refused."""
    name, consumers = it.stream, it.js.consumers
    filters = [f"{name}.a", f"{name}.b.>"]
    info = await consumers.create(name, ETL | {"filter_subjects": filters})
    assert info.config["filter_subjects"] == filters
    for single in (f"{name}.*", f"{name}.a"):
        info = await consumers.update(name, ETL | {"filter_subject": single})
        assert info.config["filter_subject"] == single


@pytest.mark.requirement("X-05")
async def test_server_that_drops_filters_is_found_out(it: Scene) -> None:
    """No supported server does; so one is played, with what a real one says otherwise."""
    honest = await it.js.consumers.create(it.stream, ETL)
    answer = {**honest.raw, "type": f"{TYPES}consumer_create_response"}
    played = Played(it.connection, f"OLD{it.stream}", [answer])
    with pytest.raises(ProtocolError, match="without the filters"):
        await played.jetstream.consumers.create(it.stream, ETL | {"filter_subjects": ["a", "b"]})


@pytest.mark.requirement("X-16")
@on_every_server
async def test_consumer_is_paused_until_resumed(it: Scene) -> None:
    name, consumers = it.stream, it.js.consumers
    await consumers.create(name, ETL)
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    pause = await consumers.pause(name, "etl", until)
    assert (pause.is_paused, pause.until) == (True, until)
    assert 3000 < pause.remaining_seconds <= 3600
    info = await consumers.info(name, "etl")
    assert (info.pause.is_paused, info.pause.until) == (True, until)
    assert (await consumers.update(name, ETL)).pause.is_paused
    await consumers.resume(name, "etl")
    assert not (await consumers.info(name, "etl")).pause.is_paused
    in_an_hour = until.isoformat()
    assert not (await consumers.create_or_update(name, ETL | {"pause_until": in_an_hour})).pause.is_paused
    paused = await consumers.create(name, ETL | {"durable_name": "paused", "pause_until": in_an_hour})
    assert paused.pause.is_paused
    has_passed = datetime.now(UTC) - timedelta(hours=1)
    assert not (await consumers.pause(name, "paused", has_passed)).is_paused


@pytest.mark.requirement("X-14")
async def test_reset_goes_back_behind_the_last_ack_or_to_a_sequence(it: Scene) -> None:
    consumer, consumers = await it.create(), it.js.consumers
    await it.fill(4)
    first, _ = await consumer.fetch(2)
    await first.double_ack()
    back = await consumers.reset(it.stream, "c")
    assert (back.sequence, back.info.num_ack_pending) == (2, 0)
    (message,) = await consumer.fetch(1)
    assert int(message.data) == 2
    assert message.metadata.delivered == 1, "that it was delivered before is forgotten"
    forward = await consumers.reset(it.stream, "c", sequence=4)
    assert forward.sequence == 4
    assert forward.info.delivered.consumer_sequence == 0  # it counts from the beginning again
    (message,) = await consumer.fetch(1)
    assert (int(message.data), message.metadata.consumer_sequence) == (4, 1)


@pytest.mark.requirement("X-14", "X-08")
@on_every_server
async def test_reset_is_refused_if_the_server_has_none(it: Scene) -> None:
    await it.create()
    if await it.js.api.level() >= 4:
        await it.js.consumers.reset(it.stream, "c")
    else:
        with pytest.raises(UsageError, match=r"API level 4.*2\.14"):
            await it.js.consumers.reset(it.stream, "c")


@pytest.mark.requirement("G-13", "G-14")
@on_every_server
async def test_pin_is_shown_and_can_be_taken(it: Scene) -> None:
    consumer = await it.create(priority_groups=["a"], priority_policy="pinned_client", priority_timeout=60 * SECOND)
    await it.fill(1)
    assert [(each.name, each.pinned_id) for each in (await it.info()).priority_groups] == [("a", None)]
    (message,) = await consumer.fetch(1, group="a")
    (group,) = (await it.info()).priority_groups
    assert (group.name, group.pinned_id) == ("a", message.headers["Nats-Pin-Id"])
    assert group.pinned_since is not None
    with pytest.raises(ApiError) as refused:
        await it.js.consumers.unpin(it.stream, "c", "b")
    assert refused.value.err_code == ErrorCode.CONSUMER_INVALID_PRIORITY_GROUP
    await it.js.consumers.unpin(it.stream, "c", "a")
    assert [each.pinned_id for each in (await it.info()).priority_groups] == [None]


async def test_preferred_replica_becomes_the_leader(nats_cluster: NatsCluster) -> None:
    """It is elected if it can: it may have to catch up first, so that it is asked for again."""
    async with scene(nats_cluster.urls, "S", num_replicas=3, storage="file") as it:
        await it.create(mem_storage=False)
        preferred = ""

        async def leads() -> bool:
            nonlocal preferred
            cluster = (await it.info()).cluster
            if cluster is None or cluster.leader is None:
                return False
            preferred = preferred or cluster.replicas[0].name
            if cluster.leader != preferred:
                await it.js.consumers.step_down("S", "c", preferred=preferred)
            return cluster.leader == preferred

        await eventually(leads, "the preferred replica leads")
