"""Streams on real servers: made, looked at, changed, emptied, deleted."""

import json
from typing import Any

import pytest

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.client.streams import Streams
from penstock_jetstream.errors import (
    ApiError,
    ConflictError,
    ErrorCode,
    MissingError,
    PermanentError,
    RequestTimeoutError,
    RetryableError,
    UsageError,
)
from penstock_jetstream.transport.connection import Connection
from tests.jetstream.playing import TYPES, Played
from tests.jetstream.scene import eventually, filled
from tests.testbed.nats.fixtures import StartNats, StartNatsCluster


def config(name: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - any field of the server's
    return {"name": name, "subjects": [f"{name}.>"], "storage": "memory", **fields}


async def test_stream_is_created_read_changed_and_deleted(every_jetstream: JetStream, fresh_name: str) -> None:
    streams = every_jetstream.streams
    with pytest.raises(MissingError):
        await streams.update(config(fresh_name))
    made = await streams.create(config(fresh_name, max_msgs=5, metadata={"owner": "me"}))
    assert (made.name, made.config["max_msgs"], made.state.messages) == (fresh_name, 5, 0)
    found = await streams.info(fresh_name)
    assert found.created == made.created
    assert found.created is not None
    assert found.config == made.config
    await streams.create(config(fresh_name, max_msgs=5, metadata={"owner": "me"}))
    with pytest.raises(ConflictError, match="10058"):
        await streams.create(config(fresh_name, max_msgs=6))
    with pytest.raises(ConflictError, match="10065"):
        await streams.create(config(f"{fresh_name}-overlapping", subjects=[f"{fresh_name}.a"]))
    info = await streams.modify(fresh_name, lambda now: now | {"description": "orders of the shop"})
    assert info.config == {**made.config, "description": "orders of the shop"}
    info = await streams.create_or_update(config(fresh_name, max_bytes=1000))
    assert (info.config["max_msgs"], info.config["max_bytes"]) == (-1, 1000)
    await streams.delete(fresh_name)
    with pytest.raises(MissingError, match=f"Stream {fresh_name} could not be described"):
        await streams.info(fresh_name)
    await streams.create_or_update(config(fresh_name))


async def test_modify_writes_nothing_where_nothing_changes(jetstream: JetStream, fresh_name: str) -> None:
    await jetstream.streams.create(config(fresh_name))
    errors_of_update = (await jetstream.account()).raw["api"]["total"]
    await jetstream.streams.modify(fresh_name, lambda now: now)
    assert (await jetstream.account()).raw["api"]["total"] == errors_of_update + 2  # an info, and the account itself


@pytest.mark.requirement("X-09", "X-18")
async def test_bad_names_and_fields_are_refused(jetstream: JetStream, fresh_name: str) -> None:
    with pytest.raises(UsageError, match=r"contains '\.'"):
        await jetstream.streams.info("a.b")
    with pytest.raises(PermanentError, match="unknown field"):
        await jetstream.streams.create(config(fresh_name, of_the_future=1))
    wrong = config(fresh_name, max_age=10**9, duplicate_window=0, max_msgs_per_subject=0)
    with pytest.raises(ApiError) as refused:
        await jetstream.streams.create(wrong, pedantic=True)
    assert refused.value.err_code == 10157
    assert (await jetstream.streams.create(wrong)).config["duplicate_window"] == 10**9


async def test_info_has_subjects_and_gaps_if_asked_and_purges_count(
    every_jetstream: JetStream, fresh_name: str
) -> None:
    streams, a, b = every_jetstream.streams, f"{fresh_name}.a", f"{fresh_name}.b"
    await filled(every_jetstream, fresh_name, "a", "b", "a", "b", "a")
    for subjects, counts in ((">", {a: 3, b: 2}), (b, {b: 2}), ("nothing", {})):
        assert (await streams.info(fresh_name, subjects=subjects)).state.subjects == counts
    assert not (await streams.info(fresh_name)).state.subjects
    await streams.delete_message(fresh_name, 2)
    state = (await streams.info(fresh_name, deleted=True)).state
    assert (state.deleted, state.deleted_count, state.messages) == ((2,), 1, 4)
    assert await streams.purge(fresh_name, subject=a, keep=1) == 2
    assert await streams.purge(fresh_name, up_to_sequence=5) == 1
    assert await streams.purge(fresh_name) == 1


async def test_messages_are_read_and_deleted(every_jetstream: JetStream, fresh_name: str) -> None:
    streams = every_jetstream.streams
    await filled(every_jetstream, fresh_name, "a", "b", "a")
    await every_jetstream.publish(f"{fresh_name}.c", b"\x00\xff", headers={"Color": ["red", "blue"]})
    first = await streams.get_message(fresh_name, sequence=1)
    assert (first.subject, first.data, first.sequence, first.headers.raw) == (f"{fresh_name}.a", b"1", 1, b"")
    assert (await streams.get_message(fresh_name, last_by_subject=f"{fresh_name}.a")).sequence == 3
    assert (await streams.get_message(fresh_name, next_by_subject=f"{fresh_name}.*", sequence=2)).data == b"2"
    binary = await streams.get_message(fresh_name, last_by_subject=f"{fresh_name}.c")
    assert (binary.data, binary.headers.all("Color")) == (b"\x00\xff", ["red", "blue"])
    with pytest.raises(MissingError, match=f"Message 9 of stream {fresh_name} could not be found"):
        await streams.get_message(fresh_name, sequence=9)
    with pytest.raises(MissingError):
        await streams.delete_message(fresh_name, 9)
    for sequence, erase in ((1, True), (2, False)):
        await streams.delete_message(fresh_name, sequence, erase=erase)
        assert (await streams.info(fresh_name)).state.first_sequence == sequence + 1


@pytest.mark.requirement("S-04")
async def test_stream_is_found_by_a_subject_of_it_alone(every_jetstream: JetStream, fresh_name: str) -> None:
    streams = every_jetstream.streams
    for number in (1, 2):
        await streams.create({"name": f"{fresh_name}-{number}", "subjects": [f"{fresh_name}.{number}.>"]})
    assert await streams.find(f"{fresh_name}.1.a") == f"{fresh_name}-1"
    with pytest.raises(UsageError, match="2 streams match"):
        await streams.find(f"{fresh_name}.>")
    with pytest.raises(UsageError, match="No stream matches"):
        await streams.find(f"{fresh_name}.3.a")


async def test_list_has_all_pages(start_nats: StartNats) -> None:
    count = 300  # a page of infos has 256
    async with Connection(start_nats().url) as connection:
        streams = JetStream(connection).streams
        assert [name async for name in streams.names()] == []
        for number in range(count):
            await streams.create(config(f"s{number:03}"))
        expected = [f"s{number:03}" for number in range(count)]
        assert sorted([name async for name in streams.names()]) == expected
        assert sorted([info.name async for info in streams.list()]) == expected
        assert [info.name async for info in streams.list(subject="s007.a")] == ["s007"]


@pytest.mark.requirement("V-11")
async def test_store_that_is_still_being_removed_is_waited_for_once(jetstream: JetStream, fresh_name: str) -> None:
    """Once in hundreds a real server says so; here it is played."""
    made = {**(await jetstream.streams.create(config(fresh_name))).raw, "type": f"{TYPES}stream_create_response"}
    busy = {"error": {"code": 500, "err_code": 10049, "description": "error creating store for stream"}}
    played = Played(jetstream.connection, f"{fresh_name}-1", [busy, made])
    assert (await played.jetstream.streams.create(config(fresh_name))).name == fresh_name
    hopeless = Played(jetstream.connection, f"{fresh_name}-2", [busy])
    with pytest.raises(RetryableError, match="10049"):
        await hopeless.jetstream.streams.create(config(fresh_name))
    assert len(hopeless.asked) == 2


async def test_subjects_that_do_not_fit_on_a_page_are_on_the_next(jetstream: JetStream, fresh_name: str) -> None:
    """A page has 100 000; here they are smaller."""
    info = (await jetstream.streams.create(config(fresh_name))).raw
    pages = [
        {
            **info,
            "type": f"{TYPES}stream_info_response",
            "total": 3,
            "offset": offset,
            "state": {**info["state"], "subjects": subjects},
        }
        for offset, subjects in ((0, {"a": 1, "b": 2}), (2, {"c": 3}))
    ]
    played = Played(jetstream.connection, f"{fresh_name}-1", pages)
    assert (await played.jetstream.streams.info(fresh_name, subjects=">")).state.subjects == {"a": 1, "b": 2, "c": 3}
    assert [json.loads(body).get("offset", 0) for _, body in played.asked] == [0, 2]


async def test_silence_is_a_timeout_that_says_what_was_asked(connection: Connection) -> None:
    connection.subscribe("NOBODY.>", lambda *_: None)
    jetstream = JetStream(connection, api_prefix="NOBODY", timeout_seconds=0.05)
    with pytest.raises(RequestTimeoutError, match=r"when stream ORDERS was to be deleted.*is not known"):
        await jetstream.streams.delete("ORDERS")


async def test_replicas_elect_another_leader_and_leave_a_server(start_nats_cluster: StartNatsCluster) -> None:
    cluster = start_nats_cluster(4)
    async with Connection(cluster.urls) as connection:
        streams, patient = (JetStream(connection, timeout_seconds=seconds).streams for seconds in (5, 60))

        async def members(asking: Streams = streams) -> list[str]:
            """Return the servers of the stream, its leader first."""
            found = (await asking.info("ORDERS")).cluster
            assert found is not None
            return [found.leader or "", *(each.name for each in found.replicas)]

        async def has_another_leader() -> bool:
            return (await members())[0] not in {"", leader}

        async def has_left() -> bool:
            present = await members()
            return follower not in present and len(present) == 3

        await patient.create({"name": "ORDERS", "num_replicas": 3})
        leader, *followers = await members(patient)
        assert len(followers) == 2
        await patient.step_down("ORDERS")
        await eventually(has_another_leader, "another leader")
        follower = (await members(patient))[1]
        await patient.remove_peer("ORDERS", follower)
        await eventually(has_left, f"{follower} replaced")
        with pytest.raises(ApiError) as refused:
            await streams.remove_peer("ORDERS", "nobody")
        assert refused.value.err_code == ErrorCode.CLUSTER_PEER_NOT_MEMBER
