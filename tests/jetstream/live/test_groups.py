"""Priority groups, on real servers: who is served, who stands by, and how a pin moves."""

import asyncio
from typing import Any

import pytest

from penstock_jetstream.client.message import Message
from penstock_jetstream.core.options import Wait
from tests.jetstream.scene import Scene, on_every_server, on_newest_servers, read, scene, until
from tests.testbed.nats.server import NatsServer

OVERFLOW: dict[str, Any] = {"priority_groups": ["g"], "priority_policy": "overflow"}
PINNED: dict[str, Any] = {"priority_groups": ["g"], "priority_policy": "pinned_client"}


@pytest.mark.requirement("G-08", "C-36")
@on_every_server
async def test_pinned_client_sends_its_id_with_every_later_pull(it: Scene) -> None:
    """Naive: without its id the client that is pinned itself gets nothing more, until the pin times out."""
    async with it.watched_pulls() as pulls:
        consumer = await it.create(**PINNED)
        await it.fill(3)
        pin_ids = [(await consumer.fetch(1, group="g", expires_seconds=60))[0].headers["Nats-Pin-Id"] for _ in range(3)]
        await until(lambda: len(pulls) == 3)
        (pin_id,) = set(pin_ids)
        assert [pull.pull.get("id", "") for pull in pulls] == ["", pin_id, pin_id]
        (group,) = (await it.info()).priority_groups
        assert group.pinned_id == pin_id


@pytest.mark.requirement("C-36")
@on_every_server
async def test_line_with_the_pins_id_is_not_counted_but_a_publishers_headers_are(it: Scene) -> None:
    """Naive: a line that looks like a pin's is not, and requests are taken to be open of which nothing is left."""
    await it.fill(10)  # all ack tokens that follow are of one size
    for number, headers in enumerate(({}, {"A": "b"})):
        filters = {"filter_subject": f"{it.stream}.{number}"}
        consumer = await it.create(f"pinned{number}", **PINNED, **filters)
        await it.publish(b"1", b"2", b"3", b"4", subject=str(number), headers=headers)
        (message,) = await consumer.fetch(1, group="g", expires_seconds=60)
        assert "Nats-Pin-Id" in message.headers
        two = await consumer.fetch(group="g", max_bytes=2 * message.size_bytes + 10, expires_seconds=60)
        assert len(two) == 2
        (exact,) = await consumer.fetch(group="g", max_bytes=message.size_bytes, expires_seconds=60)
        assert exact.size_bytes == message.size_bytes
    consumer = await it.create("plain", filter_subject=f"{it.stream}.plain")
    await it.publish(b"1", b"2", b"3", subject="plain", headers={"Nats-Pin-Id": "OfSomeOtherConsumer"})
    (message,) = await consumer.fetch(1, expires_seconds=60)
    (exact,) = await consumer.fetch(max_bytes=message.size_bytes, expires_seconds=60)
    assert exact.size_bytes == message.size_bytes


@pytest.mark.requirement("G-08", "G-17")
@pytest.mark.parametrize("policy", [{}, OVERFLOW, PINNED], ids=["no group", "overflow", "pinned_client"])
async def test_pin_written_by_a_publisher_is_harmless(
    every_server: NatsServer, fresh_name: str, policy: dict[str, Any]
) -> None:
    """Naive: the next pull has it as its id. "400" ends the reading then, or "423" goes round and round with it.

    Who copies messages with their headers, as into dead letters and back, writes such. (2.11 serves a pull that it has
    refused for its pin all the same, so that a fetch has two open there; a consumption takes what both bring.)
    """
    group = {"group": "g"} if policy else {}
    serves_refused = policy is OVERFLOW and (every_server.options.version or "").startswith("2.11.")
    async with scene(every_server.url, fresh_name) as it:
        for name in ("c", "l", "f"):
            await it.create(name, **policy)
        for number in range(1, 21):
            await it.publish(b"%d" % number, headers={"Nats-Pin-Id": "OfSomeOtherConsumer"} if number % 2 else {})
        async with it.consumer("c").consume(max_messages=4, **group) as messages:  # type: ignore[arg-type]
            seen: set[int] = set()
            await read(messages, seen, 20)
        async with it.consumer("l").lane(max_bytes=500, **group) as lane, asyncio.timeout(10):  # type: ignore[arg-type]
            taken = 0
            while taken < 20:
                block = await anext(lane)
                taken += len(block)
                lane.ack(block.replies)
        fetching = it.consumer("f")
        for first in (1, 6) if not serves_refused else ():
            fetched = await fetching.fetch(5, expires_seconds=60, **group)  # type: ignore[arg-type]
            assert [int(message.data) for message in fetched] == [*range(first, first + 5)]
        assert it.reports == []


@pytest.mark.requirement("G-08", "G-10", "G-15")
@on_every_server
async def test_one_client_is_pinned_and_the_other_stands_by(it: Scene) -> None:
    async with it.watched_pulls() as pulls:
        await it.create(**PINNED)
        pinned: list[str] = []

        def readers() -> int:
            return len({pull.reply.rpartition(".")[0] for pull in pulls})

        async with it.consumer().consume(Message.ack, group="g", on_pinned=pinned.append, max_messages=10):
            await it.fill(5)
            await until(lambda: len(pinned) == 1)
            async with it.consumer().consume(Message.ack, group="g", on_pinned=pinned.append, max_messages=10):
                await until(lambda: readers() == 2)
                await it.fill(5)
                await it.until(lambda info: info.ack_floor.stream_sequence == 10)
        assert [len(pin) for pin in pinned] == [22]
        assert it.reports == []


@pytest.mark.requirement("G-09", "G-13", "G-15")
@on_every_server
async def test_lost_pin_is_forgotten_and_the_next_pull_follows_at_once(it: Scene, fresh_name: str) -> None:
    """Naive: 423 ends it, or is noticed only by the missed heartbeat: here after 30 s, but messages come within one."""
    consumer = await it.create(**PINNED)
    pin_events: list[str] = []
    seen: list[Message] = []
    async with consumer.consume(
        seen.append,
        group="g",
        on_pinned=lambda _: pin_events.append("pinned"),
        on_unpinned=lambda: pin_events.append("unpinned"),
    ):
        for _ in range(3):
            await it.publish(b"1")
            await until(lambda: seen)
            seen.clear()
            await it.js.consumers.unpin(fresh_name, "c", "g")
    assert pin_events[:3] == ["pinned", "unpinned", "pinned"]
    assert it.reports == []


@pytest.mark.requirement("G-09")
@on_every_server
async def test_fetch_with_an_old_pin_forgets_it_and_tries_again(it: Scene) -> None:
    consumer, other = await it.create(**PINNED), it.consumer()
    await it.fill(6)
    assert len(await consumer.fetch(1, group="g", expires_seconds=60)) == 1
    await it.js.consumers.unpin(it.stream, "c", "g")
    assert len(await other.fetch(1, group="g", expires_seconds=60)) == 1
    in_reserve = asyncio.create_task(consumer.fetch(1, group="g", expires_seconds=60))
    await it.until_waiting()
    assert len(await other.fetch(1, group="g", expires_seconds=60)) == 1
    assert not in_reserve.done()
    await it.js.consumers.unpin(it.stream, "c", "g")
    await it.publish(b"wakes the pull")
    assert len(await in_reserve) == 1


@pytest.mark.requirement("G-05", "P-09", "P-10", "P-15")
@on_newest_servers
async def test_two_steps_ask_for_what_there_is_and_then_for_the_first_to_come_and_both_name_their_group(
    it: Scene,
) -> None:
    async with it.watched_pulls() as pulls:
        consumer = await it.create(**OVERFLOW)
        assert await consumer.fetch(1, group="g", wait=Wait.FIRST, expires_seconds=3) == []
        await until(lambda: len(pulls) == 2)
        first, second = pulls
        assert first.pull == {"batch": 1, "no_wait": True, "group": "g"}
        assert 0 < second.pull["expires"] < 3_000_000_000  # the first step took some of it
        assert second.pull["group"] == "g"
        assert first.reply != second.reply
