"""A connection to a server that stays: messages, requests, subscriptions, what it refuses, and its end."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from penstock_jetstream.core import wire
from penstock_jetstream.errors import (
    AuthenticationError,
    BufferFullError,
    ClosedError,
    LinkError,
    NoRespondersError,
    RequestTimeoutError,
    UsageError,
)
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.events import Closed, Connected, Disconnected, ServerReported
from penstock_jetstream.transport.identity import UserPassword
from tests.jetstream.connecting import QUICK, Events, Heard, echo
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer

pytestmark = pytest.mark.interpreter


def fail(*_: object) -> None:
    """A handler or a listener with a bug."""
    raise ZeroDivisionError


def loop_problems() -> list[dict[str, Any]]:
    """Return the list that gets what is reported to the event loop from now on."""
    problems: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
    return problems


async def test_subscriptions_made_before_opening_get_messages_in_order(server: NatsServer, fresh_name: str) -> None:
    connection = Connection(server.url)
    heard = Heard()
    connection.subscribe(f"{fresh_name}.*", heard)
    async with connection:
        connection.publish(f"{fresh_name}.a", b"1", reply="answer.here", headers={"Colour": ["red", "blue"]})
        connection.publish(f"{fresh_name}.b", b"2")
        await heard.have(2)
        name = fresh_name.encode()
        header = b"NATS/1.0\r\nColour: red\r\nColour: blue\r\n\r\n"
        assert heard.messages == [(name + b".a", b"answer.here", header, b"1"), (name + b".b", b"", b"", b"2")]


async def test_requests_at_once_each_get_their_own_answer(connection: Connection, fresh_name: str) -> None:
    echo(connection, fresh_name)
    questions = [b"%d" % number for number in range(1000)]
    asked = (connection.request(fresh_name, question, headers={"Colour": "red"}) for question in questions)
    assert [reply.payload for reply in await asyncio.gather(*asked)] == questions


async def test_request_without_an_answer_ends_with_an_error(connection: Connection, fresh_name: str) -> None:
    with pytest.raises(NoRespondersError, match=fresh_name):
        await connection.request(fresh_name, timeout_seconds=60)
    asked = Heard()
    connection.subscribe(fresh_name, asked)
    with pytest.raises(RequestTimeoutError, match=f"{fresh_name}: no answer within 0.05 s"):
        await connection.request(fresh_name, timeout_seconds=0.05)
    await asked.have(1)
    connection.publish(asked.messages[0][1].decode(), b"late")
    await connection.flush()


async def test_subscription_ends_after_its_maximum(connection: Connection, fresh_name: str) -> None:
    limited, later = Heard(), Heard()
    subscription = connection.subscribe(fresh_name, limited, max_messages=2)
    other = connection.subscribe(fresh_name, later)
    connection.publish(fresh_name, b"0")
    await later.have(1)
    other.unsubscribe(max_messages=3)
    for number in range(1, 5):
        connection.publish(fresh_name, b"%d" % number)
    await connection.flush()
    assert (limited.payloads, later.payloads) == ([b"0", b"1"], [b"0", b"1", b"2"])
    assert not subscription.is_active


async def test_nothing_is_delivered_after_unsubscribing(connection: Connection, fresh_name: str) -> None:
    heard = Heard()

    def hear_one(subject: bytes, reply: bytes, header: bytes, payload: bytes) -> None:
        heard(subject, reply, header, payload)
        subscription.unsubscribe()

    subscription = connection.subscribe(fresh_name, hear_one)
    connection.send(b"".join(wire.publish(fresh_name.encode(), b"%d" % number) for number in range(10)))
    await connection.flush()
    assert heard.payloads == [b"0"]


async def test_handlers_and_listeners_that_fail_do_not_affect_others(server: NatsServer, fresh_name: str) -> None:
    problems = loop_problems()
    connection = Connection(server.url)
    connection.listen(fail)
    events, removed = Events(connection), Events(connection)
    async with connection:
        assert events.of(Connected)
        removed.remove()
        heard = Heard()
        connection.subscribe(fresh_name, fail)
        connection.subscribe(fresh_name, heard)
        connection.publish(fresh_name, b"1")
        connection.publish(fresh_name, b"2")
        assert await heard.have(2) == [b"1", b"2"]
    assert events.of(Closed) == [Closed(unsent_bytes=0)]
    assert [type(event) for event in removed.all] == [Connected]
    assert {type(problem["exception"]) for problem in problems} == {ZeroDivisionError}
    assert sum(fresh_name in problem["message"] for problem in problems) == 2


async def test_bad_input_is_refused_before_it_is_sent(connection: Connection, fresh_name: str) -> None:
    echo(connection, fresh_name)
    events = Events(connection)
    for subject in ("", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\r\nPUB b 0", "*", "a.*", "a.>", "\ud800"):
        with pytest.raises(UsageError):
            connection.publish(subject)
        with pytest.raises(UsageError):
            await connection.request(subject)
    for wrong in (
        lambda: connection.publish(fresh_name, "text"),  # type: ignore[arg-type]
        lambda: connection.publish(fresh_name, headers={"a b": "c"}),
        lambda: connection.publish(fresh_name, headers={"a": "b\r\nc: d"}),
        lambda: connection.publish(fresh_name, reply="a b"),
        lambda: connection.publish("a" * 5000),
        lambda: connection.subscribe("a..b", Heard()),
        lambda: connection.subscribe("a.>.b", Heard()),
        lambda: connection.subscribe(fresh_name, Heard(), queue="a b"),
        lambda: connection.subscribe(fresh_name, Heard(), max_messages=-1),
    ):
        with pytest.raises(UsageError):
            wrong()
    assert (await connection.request(fresh_name, b"unharmed")).payload == b"unharmed"
    assert not events.all


async def test_largest_message_is_sent_and_a_larger_one_refused(connection: Connection, fresh_name: str) -> None:
    heard = Heard()
    longest = f"{fresh_name}.{'x' * (2000 - len(fresh_name) - 1)}"
    connection.subscribe(f"{fresh_name}.>", heard)
    limit = connection.server.max_payload_bytes
    with pytest.raises(UsageError, match=f"A message of {limit + 1} bytes is larger than the {limit} that server"):
        connection.publish("a", bytes(limit + 1))
    connection.publish(longest, bytes(limit), reply=longest)
    connection.publish(f"{fresh_name}.a*b.ü.{'y' * 100}", b"2")
    assert await heard.have(2) == [bytes(limit), b"2"]


async def test_what_the_server_does_not_permit_is_reported_and_the_link_goes_on(start_nats: StartNats) -> None:
    permitted = {"publish": ["allowed", "_INBOX.>"], "subscribe": ["allowed", "_INBOX.>"]}
    users = {"authorization": {"users": [{"user": "me", "password": "secret", "permissions": permitted}]}}
    server = start_nats(extra=users)
    async with Connection(server.url, auth=UserPassword("me", "secret")) as connection:
        events = Events(connection)
        connection.subscribe("forbidden", Heard())
        reported = await events.have(ServerReported)
        assert 'Subscription to "forbidden"' in reported.text
        with pytest.raises(AuthenticationError, match="Allow this user to publish there"):
            await connection.request("forbidden", timeout_seconds=60)
        echo(connection, "allowed")
        assert (await connection.request("allowed", b"hello")).payload == b"hello"
        assert not events.of(Disconnected)


async def test_closing_sends_what_was_published_just_before(server: NatsServer, fresh_name: str) -> None:
    async with Connection(server.url) as listening:
        heard = Heard()
        listening.subscribe(fresh_name, heard)
        await listening.flush()
        async with Connection(server.url) as connection:
            for number in range(10_000):
                connection.publish(fresh_name, b"%d" % number)
        assert await heard.have(10_000) == [b"%d" % number for number in range(10_000)]


async def test_closed_connection_refuses_everything_and_may_be_closed_again(connection: Connection) -> None:
    subscription = connection.subscribe("a", Heard())
    await connection.close()
    subscription.unsubscribe()
    assert not connection.is_connected
    for wrong in (
        lambda: connection.publish("a"),
        lambda: connection.subscribe("a", Heard()),
        lambda: connection.send(b""),
    ):
        with pytest.raises(ClosedError):
            wrong()
    for waits in (connection.flush, lambda: connection.request("a"), connection.open):
        with pytest.raises(ClosedError):
            await waits()


async def test_closing_or_never_opening_ends_requests_with_an_error(server: NatsServer, fresh_name: str) -> None:
    connection = Connection(server.url)
    with pytest.raises(ClosedError, match="not open yet"):
        connection.publish("a")
    with pytest.raises(LinkError, match="There was no server yet"):
        connection.server  # noqa: B018
    await connection.open()
    connection.subscribe(fresh_name, Heard())
    asking = asyncio.create_task(connection.request(fresh_name, timeout_seconds=60))
    await asyncio.sleep(0)  # calm: it begins
    await connection.close()
    with pytest.raises(LinkError, match="whether it did what was asked is not known"):
        await asking
    await Connection().close()


async def test_paused_reading_drops_nothing(server: NatsServer, connection: Connection, fresh_name: str) -> None:
    options = replace(QUICK, ping_interval_seconds=0.2)
    async with Connection(server.url, options=options) as reading:
        heard = Heard()
        subscription = reading.subscribe(fresh_name, heard)
        await reading.flush()
        subscription.pause()
        for number in range(2000):
            connection.publish(fresh_name, b"%d" % number)
        await connection.flush()
        before = len(heard.messages)
        await asyncio.sleep(4 * options.ping_interval_seconds)  # calm: longer than a silent peer would be trusted
        assert len(heard.messages) == before
        subscription.resume()
        assert await heard.have(2000) == [b"%d" % number for number in range(2000)]


async def test_what_waits_to_be_sent_has_a_bound(nats_server: NatsServer) -> None:
    small = replace(QUICK, max_pending_bytes=1 << 20, ping_interval_seconds=60, close_timeout_seconds=0.1)
    async with Connection(nats_server.url, options=small) as connection:

        async def publish_on() -> None:
            while True:
                connection.publish("a", b"x" * 10_000)
                await asyncio.sleep(0)  # calm: a turn of the loop

        with nats_server.frozen(), pytest.raises(BufferFullError, match="would exceed 1048576"):
            await publish_on()
        await connection.flush()
        connection.publish("a")


async def test_what_the_server_says_of_itself_can_be_asked(server: NatsServer) -> None:
    async with Connection(server.url, name="someone") as connection:
        info = connection.server
        assert info.version.startswith("2.15")
        assert info.max_payload_bytes == 1 << 20
        assert info.headers
        assert info.jetstream
        (client,) = [c for c in server.monitored("connz")["connections"] if c["cid"] == info.client_id]
        assert client["name"] == "someone"
        assert client["lang"] == "python"
