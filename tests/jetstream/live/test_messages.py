"""What a message tells of itself, against what the server knows of it."""

import time

import pytest

from penstock_jetstream.errors import MessageTooLargeError, ProtocolError, UsageError
from tests.jetstream.scene import Scene, on_every_server, scene, until
from tests.testbed.nats.fixtures import StartNats


@pytest.mark.requirement("S-14", "S-15", "S-16", "S-19")
@on_every_server
async def test_message_tells_where_it_stands(it: Scene, fresh_name: str) -> None:
    consumer = await it.create()
    await it.fill(3)
    first, second = await consumer.fetch(2)
    first.nak()
    third, again = sorted(await consumer.fetch(2), key=lambda message: -int(message.data))
    assert (third.subject, int(third.data), int(again.data)) == (f"{fresh_name}.m", 3, 1)
    token = third.metadata
    assert (token.stream, token.consumer, token.domain) == (fresh_name, "c", None)
    assert (token.stream_sequence, token.pending, token.delivered) == (3, 0, 1)
    assert second.metadata.pending == 1
    assert abs(token.timestamp_ns / 1e9 - time.time()) < 60
    assert (again.metadata.delivered, again.metadata.stream_sequence) == (2, 1)
    assert {third.metadata.consumer_sequence, again.metadata.consumer_sequence} == {3, 4}


@pytest.mark.requirement("S-16", "S-17", "S-19")
@pytest.mark.parametrize("js_ack_fc_v2", [False, True])
async def test_only_the_second_version_of_tokens_names_the_domain(start_nats: StartNats, *, js_ack_fc_v2: bool) -> None:
    async with scene(start_nats(domain="hub", js_ack_fc_v2=js_ack_fc_v2).url, "S") as it:
        consumer = await it.create()
        await it.fill(1)
        (message,) = await consumer.fetch(1)
        assert message.metadata.domain == ("hub" if js_ack_fc_v2 else None)
        assert await message.double_ack()


async def test_headers_of_a_message_are_those_that_were_published(it: Scene, fresh_name: str) -> None:
    consumer = await it.create()
    it.connection.publish(f"{fresh_name}.m", b"", headers={"Region": "eu", "tag": ["a", "b"], "empty": ""})
    (message,) = await consumer.fetch(1)
    assert dict(message.headers) == {"Region": "eu", "tag": "a", "empty": ""}
    assert message.headers.all("tag") == ["a", "b"]


@pytest.mark.requirement("C-36")
@on_every_server
async def test_size_of_a_message_is_what_the_server_counts(it: Scene) -> None:
    """Naive: characters of header names and values: 2 for `A: b`, where the block is 18 bytes longer with it."""
    consumer = await it.create()
    await it.publish(bytes(50))
    await it.publish(bytes(50), headers={"A": "b"})
    await it.publish("é".encode(), headers={"G": "weiß"})
    for message in await consumer.fetch(3):
        message.nak()
        with pytest.raises(MessageTooLargeError):
            await consumer.fetch(max_bytes=message.size_bytes - 1, expires_seconds=60)
        (same,) = await consumer.fetch(max_bytes=message.size_bytes, expires_seconds=60)
        assert same.metadata.stream_sequence == message.metadata.stream_sequence
        await same.double_ack()


@pytest.mark.requirement("S-14", "S-16")
async def test_stray_message_is_no_message_of_a_stream_and_harms_no_other(it: Scene) -> None:
    """Someone publishes to a consumption's inbox. (With a reply in $JS.ACK the server would not even pass it on.)"""
    consumer = await it.create()
    async with it.watched_pulls() as pulls, consumer.consume() as messages:
        await until(lambda: pulls)
        it.connection.publish(pulls[0].reply, b"stray", reply="elsewhere")
        it.connection.publish(pulls[0].reply, b"not even a reply")
        await it.publish(b"true")
        iteration = aiter(messages)
        stray, true = await anext(iteration), await anext(iteration)
        with pytest.raises(ProtocolError, match="no ack token"):
            _ = stray.metadata
        with pytest.raises(UsageError, match="comes from no stream"):
            stray.ack()
        assert await true.double_ack()
        assert [type(report) for report in it.reports] == [ProtocolError]
