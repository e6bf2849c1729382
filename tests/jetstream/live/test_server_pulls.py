"""What servers answer to pulls, without our client library: what is served, what is refused, and what has no answer."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from tests.jetstream.raw import LATER, MILLISECOND, Raw, connected, ready, sequence, status, until_waiting
from tests.testbed.nats.server import NatsServer

SOON = 100 * MILLISECOND
FAR_AWAY = "2999-01-01T00:00:00Z"


@pytest.mark.requirement("P-02", "P-05")
async def test_pull_without_json_asks_for_one_message_or_as_many_as_it_says(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name)
    pull = await raw.pull_raw(of, b"")
    assert await pull.is_silent()
    await raw.publish(f"{fresh_name}.a", b"1", b"2", b"3", b"4")
    assert sequence(await pull.message()) == 1
    assert await pull.is_silent()
    await until_waiting(raw, of, 0)
    pull = await raw.pull_raw(of, b"2")
    assert [sequence(await pull.message()), sequence(await pull.message())] == [2, 3]
    assert await pull.is_silent()


@pytest.mark.requirement("P-05")
async def test_pull_without_expiry_waits_for_its_client_to_go(
    raw: Raw, every_server: NatsServer, fresh_name: str
) -> None:
    of = await ready(raw, fresh_name)
    async with connected(**every_server.connect_arguments()) as other:
        await other.pull_raw(of, b'{"batch": 1}')
        await other.client.flush()
        await until_waiting(raw, of, 1)
    await until_waiting(raw, of, 0)
    await raw.publish(f"{fresh_name}.a", b"1")
    assert (await raw.take(of))[0].data == b"1", "it was not delivered to no one"


@pytest.mark.requirement("P-06")
async def test_open_pulls_are_counted_and_at_most_512_by_default(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name)
    config = await raw.make_consumer(f"{fresh_name}.c")
    assert config["max_waiting"] == 512
    for _ in range(3):
        await raw.pull(f"{fresh_name}.c", expires=LATER)
    await until_waiting(raw, f"{fresh_name}.c", 3)
    request = {"stream_name": fresh_name, "action": "update", "config": {**config, "max_waiting": 100}}
    assert await raw.refusal(f"CONSUMER.CREATE.{fresh_name}.c", request) == 10012


@pytest.mark.requirement("P-16")
async def test_pull_that_expires_brings_what_there_was_and_no_longer_waits(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1")
    pull = await raw.pull(of, batch=5, expires=SOON)
    assert sequence(await pull.message()) == 1
    assert await pull.status() == "408 Request Timeout"
    await until_waiting(raw, of, 0)


async def test_pull_from_a_push_consumer_or_a_missing_one_is_refused(raw: Raw, fresh_name: str) -> None:
    await raw.make_stream(fresh_name)
    await raw.make_consumer(f"{fresh_name}.push", deliver_subject=f"deliver-{fresh_name}")
    assert await (await raw.pull(f"{fresh_name}.push")).status() == "409 Consumer is push based"
    for missing in (f"{fresh_name}.none", f"{fresh_name}-none.none"):
        assert await (await raw.pull(missing)).status() == "503"


async def test_pull_that_arrives_after_its_consumer_was_deleted_is_never_answered(raw: Raw, fresh_name: str) -> None:
    """Neither status nor heartbeat comes. It takes a pull that is overtaken: most are."""
    await raw.make_stream(fresh_name)
    for first in range(0, 100, 10):
        pulls = []
        for number in range(first, first + 10):
            of = f"{fresh_name}.c{number}"
            await raw.make_consumer(of)
            pulls.append(await raw.pull(of, expires=2 * SOON, idle_heartbeat=SOON))
            await raw.do(f"CONSUMER.DELETE.{of}")  # it overtakes the pull, which waits in a queue of its own
        if any(await asyncio.gather(*(pull.is_silent(0.3) for pull in pulls))):
            return
    pytest.fail("each of 100 pulls was answered")


@pytest.mark.requirement("X-01")
async def test_heartbeats_of_a_waiting_pull_name_the_last_sequences(raw: Raw, fresh_name: str) -> None:
    of = await ready(raw, fresh_name, b"1", b"2")
    await raw.make_consumer(f"{fresh_name}.fresh", filter_subject=f"{fresh_name}.none")
    await raw.take(of, 2)
    heartbeat = await (await raw.pull(of, idle_heartbeat=SOON)).next()
    assert status(heartbeat) == "100 Idle Heartbeat"
    assert heartbeat.headers
    assert (heartbeat.headers["Nats-Last-Consumer"], heartbeat.headers["Nats-Last-Stream"]) == ("2", "2")
    nothing = await (await raw.pull(f"{fresh_name}.fresh", idle_heartbeat=SOON)).next()
    assert nothing.headers
    assert nothing.headers["Nats-Last-Consumer"] == "0"


async def paused(raw: Raw, name: str) -> str:
    """Make a consumer that has a message and is paused."""
    of = await ready(raw, name, b"1")
    answer = await raw.do(f"CONSUMER.PAUSE.{of}", {"pause_until": FAR_AWAY})
    assert answer["paused"] is True
    assert answer["pause_remaining"] > 0
    return of


@pytest.mark.requirement("X-16")
async def test_end_of_a_pause_wakes_waiting_pulls_but_resuming_does_not(raw: Raw, fresh_name: str) -> None:
    of = await paused(raw, fresh_name)
    pull = await raw.pull(of, batch=2)
    await until_waiting(raw, of, 1)
    assert (await raw.do(f"CONSUMER.PAUSE.{of}"))["paused"] is False
    assert await pull.is_silent()
    await raw.publish(f"{fresh_name}.a", b"2")
    assert [sequence(await pull.message()), sequence(await pull.message())] == [1, 2]
    of = await paused(raw, f"{fresh_name}-ends")
    pull = await raw.pull(of)
    await until_waiting(raw, of, 1)
    end = datetime.now(UTC) + timedelta(milliseconds=50)
    await raw.do(f"CONSUMER.PAUSE.{of}", {"pause_until": end.isoformat()})
    assert sequence(await pull.message()) == 1
