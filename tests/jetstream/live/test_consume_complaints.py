"""What users of other clients complain of: each test fails with the naive behaviour that its docstring names."""

import asyncio
from typing import Any

import pytest

from penstock_jetstream.client.jetstream import JetStream
from penstock_jetstream.errors import (
    AuthenticationError,
    JetStreamError,
    NoLeaderOrMissingError,
)
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.identity import UserPassword
from tests.jetstream.scene import Scene, on_newest_servers, read, scene, until
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer

# Consumers that are missing, or refuse


@pytest.mark.requirement("C-41", "C-44", "C-55")
@on_newest_servers
async def test_missing_consumer_is_reported_with_pauses_and_read_when_it_is_made(it: Scene) -> None:
    """Naive: 503 ends it silently, or is asked again in a hot loop; a callback that fails keeps the next pull away."""
    failures: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))

    def fail(error: JetStreamError) -> None:
        raise LookupError(error.sentence)

    await it.fill(1)
    async with it.consumer().consume() as messages, it.consumer().consume(on_report=fail) as failing:
        await until(lambda: it.reports and failures)
        await it.create()
        first = asyncio.ensure_future(anext(aiter(messages)))
        other = asyncio.ensure_future(anext(aiter(failing)))
        done, _ = await asyncio.wait((first, other), return_when=asyncio.FIRST_COMPLETED)
        assert [int(each.result().data) for each in done] == [1]
        for each in {first, other} - done:
            await it.publish(b"2")
            assert int((await each).data) == 2
    assert {type(report) for report in it.reports} == {NoLeaderOrMissingError}
    assert len(it.reports) <= 3
    assert isinstance(failures[0]["exception"], LookupError)


async def test_reports_without_a_callback_are_logged(it: Scene, caplog: pytest.LogCaptureFixture) -> None:
    async with it.js.consumer(it.stream, "missing").consume():
        await until(lambda: caplog.records)
    assert caplog.records[0].name == "penstock_jetstream"
    assert f"Nobody answers for consumer missing of stream {it.stream}" in caplog.messages[0]


# What is left at the end


async def test_no_ack_is_lost_when_a_connection_is_closed_at_once(every_server: NatsServer, fresh_name: str) -> None:
    """Naive: acks that wait in a buffer are dropped by close(), and their messages delivered again."""
    async with scene(every_server.url, fresh_name) as it:
        await it.create()
        await it.fill(1000)
        async with Connection(every_server.url) as leaving:
            consumer = JetStream(leaving).consumer(fresh_name, "c")
            async with consumer.consume(max_messages=1000) as messages:
                await read(messages, set(), 1000)
        await it.until(lambda info: (info.num_ack_pending, info.ack_floor.stream_sequence) == (0, 1000))


async def test_waiting_pulls_do_not_pile_up(it: Scene) -> None:
    """Naive: pulls without an end, or one more with each look, until max_waiting refuses everyone.

    At most two are open in our books. The server serves pulls in turn, so that it may have one more that it has not
    completed yet where we took it for the oldest.
    """
    consumer = await it.create()
    waiting = []
    async with consumer.consume(max_messages=10, expires_seconds=5, idle_heartbeat_seconds=2.5) as messages:
        for number in range(1, 31):
            await it.publish(b"%d" % number)
            await read(messages, set(), 1)
            waiting.append((await it.info()).num_waiting)
    assert max(waiting) <= 3
    await it.until_waiting(0)


async def test_no_message_is_dropped_however_slow_its_user_is(it: Scene) -> None:
    """Naive: a bound on the client's queue, beyond which messages that were pulled are thrown away."""
    consumer = await it.create(max_ack_pending=-1)
    await it.fill(20_000, size_bytes=1000)
    seen: set[int] = set()
    async with consumer.consume(max_messages=20_000) as messages:
        await it.until_pending(20_000)
        await read(messages, seen, 20_000)
    assert (await it.info()).num_redelivered == 0


@pytest.mark.requirement("X-14")
@on_newest_servers
async def test_reset_under_load_is_no_error(it: Scene, fresh_name: str) -> None:
    """Naive: a consumer sequence that begins again is taken for a gap. What was delivered only comes again."""
    consumer = await it.create()
    await it.fill(300)
    numbers: list[int] = []
    async with consumer.consume(max_messages=20) as messages:
        async for message in messages:
            numbers.append(int(message.data))
            message.ack()
            if len(numbers) == 100:
                await it.js.consumers.reset(fresh_name, "c", sequence=1)
            if numbers[-1] == 300:
                break
    assert set(numbers) == set(range(1, 301))
    assert len(numbers) >= 300 + 80
    assert it.reports == []


# Users who may not, and callbacks that fail


async def test_user_who_may_not_pull_gets_an_error_at_once(start_nats: StartNats) -> None:
    """Naive: the server says so on the connection, apart from the pull that is waited for."""
    denied: dict[str, dict[str, Any]] = {
        "pulls": {"publish": {"deny": "$JS.API.CONSUMER.MSG.NEXT.>"}},
        "inboxes": {"subscribe": {"deny": "_INBOX.*.*"}},
    }
    users = [{"user": user, "password": "secret", "permissions": denied[user]} for user in denied]
    server = start_nats(extra={"authorization": {"users": [*users, {"user": "other", "password": "secret"}]}})
    for user in denied:
        async with Connection(server.url, auth=UserPassword(user, "secret")) as connection:
            consumer = JetStream(connection).consumer("S", "c")
            with pytest.raises(AuthenticationError, match="does not let this user pull from consumer c of stream S"):
                await consumer.fetch(1, expires_seconds=60)
            async with consumer.consume() as messages:
                with pytest.raises(AuthenticationError, match="Allow it to publish to"):
                    await anext(aiter(messages))
