"""Consumers on real servers: made, looked at, changed, paused, put back, unpinned, deleted."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock_jetstream.client.consumers import Consumers
from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.core.headers import Headers
from penstock_jetstream.errors import ApiError, ConflictError, ErrorCode, MissingError, ProtocolError, UsageError
from penstock_jetstream.transport.connection import Connection
from tests.jetstream.eventually import eventually
from tests.jetstream.playing import TYPES, Played
from tests.testbed.nats.cluster import NatsCluster

ETL = {"durable_name": "etl", "ack_policy": "explicit"}


async def stream(jetstream: JetStream, name: str, *, messages: int = 0, **fields: Any) -> str:  # noqa: ANN401
    await jetstream.streams.create({"name": name, "subjects": [f"{name}.>"], "storage": "memory", **fields})
    for number in range(1, messages + 1):
        await jetstream.publish(f"{name}.{number}", str(number).encode())
    return name


async def pulled(jetstream: JetStream, of: str, consumer: str, **request: Any) -> tuple[bytes, str, dict[str, str]]:  # noqa: ANN401
    """Pull one message by hand; return its data, the subject that acknowledges it, and its headers."""
    connection = jetstream.connection
    answer: asyncio.Future[tuple[bytes, str]] = asyncio.get_running_loop().create_future()
    headers: dict[str, str] = {}

    def take(_subject: bytes, reply: bytes, header: bytes, payload: bytes) -> None:
        headers.update(Headers(header))
        if not answer.done():
            answer.set_result((payload, reply.decode()))

    inbox = connection.new_inbox()
    subscription = connection.subscribe(inbox, take)
    body = json.dumps({"batch": 1, "expires": 60 * 10**9, **request}).encode()
    connection.publish(f"$JS.API.CONSUMER.MSG.NEXT.{of}.{consumer}", body, reply=inbox)
    async with asyncio.timeout(60):
        data, reply = await answer
    subscription.unsubscribe()
    return data, reply, headers


@pytest.mark.requirement("C-01")
async def test_consumer_is_made_looked_at_and_deleted(every_jetstream: JetStream, fresh_name: str) -> None:
    name, consumers = await stream(every_jetstream, fresh_name, messages=3), every_jetstream.consumers
    made = await consumers.create(name, ETL)
    assert (made.name, made.stream, made.num_pending) == ("etl", name, 3)
    found = await consumers.info(name, "etl")
    assert (found.config, found.created) == (made.config, made.created)
    assert found.config["max_waiting"] == 512
    assert [each async for each in consumers.names(name)] == ["etl"]
    assert [each.name async for each in consumers.list(name)] == ["etl"]
    await consumers.delete(name, "etl")
    with pytest.raises(MissingError, match=f"Consumer etl of stream {name}"):
        await consumers.info(name, "etl")


@pytest.mark.requirement("C-03")
async def test_create_update_and_both_are_three_operations(every_jetstream: JetStream, fresh_name: str) -> None:
    name, consumers = await stream(every_jetstream, fresh_name), every_jetstream.consumers
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
async def test_ack_policy_is_explicit_if_left_out(every_jetstream: JetStream, fresh_name: str) -> None:
    name = await stream(every_jetstream, fresh_name)
    assert (await every_jetstream.consumers.create(name, {"durable_name": "etl"})).config["ack_policy"] == "explicit"
    body = json.dumps({"stream_name": name, "config": {"durable_name": "naive"}}).encode()
    await every_jetstream.connection.request(f"$JS.API.CONSUMER.CREATE.{name}.naive", body)
    assert (await every_jetstream.consumers.info(name, "naive")).config["ack_policy"] == "none"


@pytest.mark.requirement("V-08")
async def test_durable_stays_durable_after_an_update_by_name(every_jetstream: JetStream, fresh_name: str) -> None:
    """The naive way is to send the name alone: the server then takes the consumer for ephemeral."""
    name, consumers = await stream(every_jetstream, fresh_name), every_jetstream.consumers
    await consumers.create(name, ETL)
    by_name = {"name": "etl", "ack_policy": "explicit", "description": "x"}
    for write in (consumers.update, consumers.create_or_update):
        assert (await write(name, by_name)).config["durable_name"] == "etl"
    body = json.dumps({"stream_name": name, "config": by_name, "action": "update"}).encode()
    await every_jetstream.connection.request(f"$JS.API.CONSUMER.CREATE.{name}.etl", body)
    assert "durable_name" not in (await consumers.info(name, "etl")).config
    ephemeral = await consumers.create_or_update(name, {"name": "new", "ack_policy": "none"})
    assert "durable_name" not in ephemeral.config


async def test_server_names_consumers_and_modify_keeps_the_rest(every_jetstream: JetStream, fresh_name: str) -> None:
    name, consumers = await stream(every_jetstream, fresh_name), every_jetstream.consumers
    info = await consumers.create(name, {"ack_policy": "none"})
    assert info.name
    assert "durable_name" not in info.config
    before = await consumers.create(name, ETL | {"max_batch": 7, "max_expires": 10**9, "metadata": {"owner": "me"}})
    after = await consumers.modify(name, "etl", lambda now: now | {"description": "x"})
    assert after.config == {**before.config, "description": "x"}


@pytest.mark.requirement("X-05")
async def test_several_filters_are_stored_or_contradict(every_jetstream: JetStream, fresh_name: str) -> None:
    """The naive create subject has a filter in it, and is refused with several filters in the body."""
    name, consumers = await stream(every_jetstream, fresh_name), every_jetstream.consumers
    filters = [f"{name}.a", f"{name}.b.>"]
    info = await consumers.create(name, ETL | {"filter_subjects": filters})
    assert info.config["filter_subjects"] == filters
    for single in (f"{name}.*", f"{name}.a"):
        info = await consumers.update(name, ETL | {"filter_subject": single})
        assert info.config["filter_subject"] == single
    both = {"filter_subject": f"{name}.a", "filter_subjects": [f"{name}.b"]}
    overlapping = {"filter_subjects": [f"{name}.a", f"{name}.>"]}
    for contradiction, err_code in ((both, 10136), (overlapping, 10138)):
        with pytest.raises(ApiError) as refused:
            await consumers.create(name, ETL | contradiction)
        assert refused.value.err_code == err_code
    body = json.dumps({"stream_name": name, "config": ETL | {"filter_subjects": filters}}).encode()
    reply = await every_jetstream.connection.request(f"$JS.API.CONSUMER.CREATE.{name}.etl.{name}.a", body)
    assert json.loads(reply.payload)["error"]["err_code"] == 10137


@pytest.mark.requirement("X-05")
async def test_server_that_drops_filters_is_found_out(jetstream: JetStream, fresh_name: str) -> None:
    """No supported server does; so one is played, with what a real one says otherwise."""
    name = await stream(jetstream, fresh_name)
    honest = await jetstream.consumers.create(name, ETL)
    answer = {**honest.raw, "type": f"{TYPES}consumer_create_response"}
    played = Played(jetstream.connection, f"OLD{name}", [answer])
    with pytest.raises(ProtocolError, match="without the filters"):
        await played.jetstream.consumers.create(name, ETL | {"filter_subjects": [f"{name}.a", f"{name}.b"]})


@pytest.mark.requirement("X-16")
async def test_consumer_is_paused_until_resumed(every_jetstream: JetStream, fresh_name: str) -> None:
    name, consumers = await stream(every_jetstream, fresh_name), every_jetstream.consumers
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
async def test_reset_goes_back_behind_the_last_ack_or_to_a_sequence(jetstream: JetStream, fresh_name: str) -> None:
    name, consumers = await stream(jetstream, fresh_name, messages=4), jetstream.consumers
    await consumers.create(name, ETL)
    for expected in (b"1", b"2"):
        data, ack, _ = await pulled(jetstream, name, "etl")
        assert data == expected
        if data == b"1":
            await jetstream.connection.request(ack, b"+ACK")
    back = await consumers.reset(name, "etl")
    assert (back.sequence, back.info.num_ack_pending) == (2, 0)
    assert (await pulled(jetstream, name, "etl"))[0] == b"2"
    forward = await consumers.reset(name, "etl", sequence=4)
    assert forward.sequence == 4
    data, ack, _ = await pulled(jetstream, name, "etl")
    assert data == b"4"
    assert forward.info.delivered.consumer_sequence == 0  # it counts from the beginning again


@pytest.mark.requirement("X-14")
async def test_reset_must_fit_the_deliver_policy(
    jetstream: JetStream, fresh_name: str, subtests: pytest.Subtests
) -> None:
    name, consumers = await stream(jetstream, fresh_name, messages=4), jetstream.consumers
    third = {"deliver_policy": "by_start_sequence", "opt_start_seq": 3}
    cases: list[tuple[dict[str, Any], int, int | None]] = [(third, 2, 10204), (third, 4, None)]
    for number, (policy, sequence, err_code) in enumerate([({"deliver_policy": "new"}, 2, 10204), *cases]):
        with subtests.test(str(policy), sequence=sequence):
            etl = f"etl{number}"
            await consumers.create(name, {**ETL, "durable_name": etl, **policy})
            if err_code is None:
                assert (await consumers.reset(name, etl, sequence=sequence)).sequence == sequence
                continue
            with pytest.raises(ApiError) as refused:
                await consumers.reset(name, etl, sequence=sequence)
            assert refused.value.err_code == err_code


@pytest.mark.requirement("X-14", "X-08")
async def test_reset_is_refused_if_the_server_has_none(every_jetstream: JetStream, fresh_name: str) -> None:
    name, consumers = await stream(every_jetstream, fresh_name), every_jetstream.consumers
    await consumers.create(name, ETL)
    if await every_jetstream.api.level() >= 4:
        await consumers.reset(name, "etl")
    else:
        with pytest.raises(UsageError, match=r"API level 4.*2\.14"):
            await consumers.reset(name, "etl")


@pytest.mark.requirement("G-13", "G-14")
async def test_pin_is_shown_and_can_be_taken(every_jetstream: JetStream, fresh_name: str) -> None:
    name, consumers = await stream(every_jetstream, fresh_name, messages=2), every_jetstream.consumers
    pinned = ETL | {"priority_groups": ["a"], "priority_policy": "pinned_client", "priority_timeout": 60 * 10**9}
    made = await consumers.create(name, pinned)
    assert [(each.name, each.pinned_id) for each in made.priority_groups] == [("a", None)]
    _, _, headers = await pulled(every_jetstream, name, "etl", group="a")
    (group,) = (await consumers.info(name, "etl")).priority_groups
    assert (group.name, group.pinned_id) == ("a", headers["Nats-Pin-Id"])
    assert group.pinned_since is not None
    with pytest.raises(ApiError) as refused:
        await consumers.unpin(name, "etl", "b")
    assert refused.value.err_code == ErrorCode.CONSUMER_INVALID_PRIORITY_GROUP
    await consumers.unpin(name, "etl", "a")
    assert [each.pinned_id for each in (await consumers.info(name, "etl")).priority_groups] == [None]


@pytest.mark.requirement("V-10")
async def test_leader_answers_whichever_server_is_asked_and_may_change(nats_cluster: NatsCluster) -> None:
    """The preferred replica is elected if it can: it may have to catch up first, so that it is asked for again."""
    async with Connection(nats_cluster.urls) as connection:
        jetstream = JetStream(connection, timeout_seconds=60)
        await stream(jetstream, "ORDERS", messages=20, num_replicas=3, storage="file")
        await jetstream.consumers.create("ORDERS", ETL)
        await pulled(jetstream, "ORDERS", "etl")
        for node in nats_cluster.nodes:
            async with Connection(node.url) as other:
                consumers = JetStream(other).consumers

                async def is_as_the_leader_says(consumers: Consumers = consumers) -> bool:
                    leader = nats_cluster.consumer_leader("ORDERS", "etl").name
                    info = await consumers.info("ORDERS", "etl")
                    state = (info.cluster and info.cluster.leader, info.num_pending, info.num_ack_pending)
                    return state == (leader, 19, 1)

                await eventually(is_as_the_leader_says, f"{node.name} passes on what the leader says")

        cluster = (await jetstream.consumers.info("ORDERS", "etl")).cluster
        assert cluster
        preferred = cluster.replicas[0].name
        consumers = JetStream(connection).consumers

        async def leads() -> bool:
            cluster = (await consumers.info("ORDERS", "etl")).cluster
            if cluster is not None and cluster.leader not in {None, preferred}:
                await consumers.step_down("ORDERS", "etl", preferred=preferred)
            return cluster is not None and cluster.leader == preferred

        await eventually(leads, f"{preferred} leads")
