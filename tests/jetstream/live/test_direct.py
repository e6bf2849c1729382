"""Direct gets on real servers: single messages, ranges, and the last messages of many subjects (X-03)."""

import asyncio
from datetime import UTC, datetime

import pytest

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.errors import MissingError, NoRespondersError
from penstock_jetstream.errors.direct import DirectGetError
from penstock_jetstream.transport.connection import Connection
from tests.jetstream.scene import filled
from tests.testbed.nats.fixtures import StartNats, StartRelay

pytestmark = pytest.mark.requirement("X-03")


async def test_message_is_read_by_sequence_and_subject(every_jetstream: JetStream, fresh_name: str) -> None:
    name, direct = await filled(every_jetstream, fresh_name, "a", "b", "a"), every_jetstream.direct
    await every_jetstream.publish(f"{name}.c", b"4", headers={"Color": ["red", "blue"]})
    assert (await direct.get(name, sequence=2)).data == b"2"
    assert (await direct.get(name, last_by_subject=f"{name}.a")).sequence == 3
    assert (await direct.get(name, last_by_subject=f"{name}.*")).sequence == 4
    assert (await direct.get(name, next_by_subject=f"{name}.a", sequence=2)).sequence == 3
    last = await direct.get(name, sequence=4)
    assert (last.headers.all("Color"), len(last.headers)) == (["red", "blue"], 1)
    ours, leaders = await direct.get(name, sequence=1), await every_jetstream.streams.get_message(name, sequence=1)
    for field in ("stream", "subject", "data", "timestamp_ns", "time"):
        assert getattr(ours, field) == getattr(leaders, field)
    with pytest.raises(MissingError, match=f"Message 9 of stream {name} could not be found"):
        await direct.get(name, sequence=9)
    with pytest.raises(MissingError):
        await direct.get(name, last_by_subject=f"{name}.x")


async def test_stream_without_direct_gets_is_named(every_jetstream: JetStream, fresh_name: str) -> None:
    """allow_direct is strictly opt-in."""
    name = await filled(every_jetstream, fresh_name, "a", allow_direct=False)
    with pytest.raises(NoRespondersError, match="allow_direct"):
        await every_jetstream.direct.get(name, sequence=1)
    with pytest.raises(NoRespondersError, match="allow_direct"):
        _ = [message async for message in every_jetstream.direct.read(name)]


async def test_stream_is_read_to_its_end_over_many_pages(every_jetstream: JetStream, fresh_name: str) -> None:
    name = await filled(every_jetstream, fresh_name, *["a", "b"] * 1250)
    assert [each.sequence async for each in every_jetstream.direct.read(name)] == list(range(1, 2501))
    of_subject = [each.sequence async for each in every_jetstream.direct.read(name, subject=f"{name}.b")]
    assert of_subject == list(range(2, 2501, 2))


async def test_pages_end_by_bytes_too(jetstream: JetStream, fresh_name: str) -> None:
    name = await filled(jetstream, fresh_name, *["a"] * 30, size_bytes=500_000)
    assert [int(each.data) async for each in jetstream.direct.read(name)] == list(range(1, 31))


async def test_range_has_a_beginning_an_end_and_a_number(every_jetstream: JetStream, fresh_name: str) -> None:
    name, direct = await filled(every_jetstream, fresh_name, *["a", "b"] * 5), every_jetstream.direct

    async def read(**plan: object) -> list[int]:
        return [each.sequence async for each in direct.read(name, **plan)]  # type: ignore[arg-type] # of any kind

    assert await read(start_sequence=3, up_to_sequence=6) == [3, 4, 5, 6]
    assert await read(subject=f"{name}.b", start_sequence=3, up_to_sequence=7) == [4, 6]
    assert await read(max_messages=3) == [1, 2, 3]
    fifth = await direct.get(name, sequence=5)
    assert min(await read(start_time=fifth.time)) in {4, 5}  # a time has microseconds here, and nanoseconds there
    assert await read(start_sequence=11) == []
    assert await read(start_time=datetime.now(UTC)) == []


async def test_gaps_are_skipped_and_writes_are_read(every_jetstream: JetStream, fresh_name: str) -> None:
    name = await filled(every_jetstream, fresh_name, *["a"] * 6)
    for sequence in (1, 3, 6):
        await every_jetstream.streams.delete_message(name, sequence)
    assert [each.sequence async for each in every_jetstream.direct.read(name, up_to_sequence=6)] == [2, 4, 5]
    for number in range(7, 26):
        await every_jetstream.publish(f"{name}.a")
        assert (await every_jetstream.direct.get(name, last_by_subject=f"{name}.a")).sequence == number
    mirror = await every_jetstream.streams.create({"name": f"{name}-m", "mirror": {"name": name}, "storage": "memory"})
    assert mirror.config["mirror_direct"] is True, "as its origin has allow_direct"


async def test_last_messages_are_those_of_one_moment(every_jetstream: JetStream, fresh_name: str) -> None:
    name, direct = await filled(every_jetstream, fresh_name, "a", "b", "a", "c"), every_jetstream.direct

    async def lasts(*subjects: str, up_to_sequence: int = 0) -> list[int]:
        wanted = [f"{name}.{subject}" for subject in subjects]
        return [each.sequence async for each in direct.lasts(name, wanted, up_to_sequence=up_to_sequence)]

    assert await lasts(">") == [2, 3, 4]
    assert await lasts("a", "c") == [3, 4]
    assert await lasts(">", up_to_sequence=2) == [1, 2]
    assert await lasts("x") == []
    third = await direct.get(name, sequence=3)
    now = [each.sequence async for each in direct.lasts(name, [f"{name}.>"], up_to_time=datetime.now(UTC))]
    assert now == [2, 3, 4]
    before = [each.sequence async for each in direct.lasts(name, [f"{name}.>"], up_to_time=third.time)]
    assert max(before) < 4


async def test_up_to_1024_last_messages_come_in_pages(every_jetstream: JetStream, fresh_name: str) -> None:
    name = await filled(every_jetstream, fresh_name, *(str(number) for number in range(1024)))
    found: list[int] = []
    async for each in every_jetstream.direct.lasts(name, [f"{name}.>"]):
        if not found:
            await every_jetstream.publish(f"{name}.1023")  # too late to be seen: page 2 is of the same moment
        found.append(each.sequence)
    assert found == list(range(1, 1025))
    await every_jetstream.publish(f"{name}.one-more")
    with pytest.raises(DirectGetError, match="413"):
        _ = [each async for each in every_jetstream.direct.lasts(name, [f"{name}.>"])]


async def test_bad_request_is_408_and_abandoned_reads_leave_nothing(jetstream: JetStream, fresh_name: str) -> None:
    name = await filled(jetstream, fresh_name, *["a"] * 10)
    for body, text in ((b"", "Empty Request"), (b"{", "Malformed Request"), (b'{"seq":1,"last_by_subj":"a"}', "Bad")):
        reply = await jetstream.connection.request(f"$JS.API.DIRECT.GET.{name}", body)
        assert reply.headers.status == 408
        assert reply.headers.description.startswith(text)
    async for _ in jetstream.direct.read(name):  # what is left half-read leaves nothing behind
        break
    await asyncio.sleep(0)  # calm: the generator ends
    await jetstream.connection.flush()
    assert (await jetstream.direct.get(name, sequence=1)).sequence == 1


async def test_reading_continues_after_a_lost_link(start_nats: StartNats, start_relay: StartRelay) -> None:
    server = start_nats()
    relay = start_relay(server.port)
    async with Connection(server.url) as aside, Connection(relay.url) as connection:
        name = await filled(JetStream(aside), "ORDERS", *["a"] * 3000)
        found = []
        async for each in JetStream(connection).direct.read(name):
            found.append(each.sequence)
            if each.sequence in {500, 1500}:
                relay.cut()
        assert found == list(range(1, 3001))
