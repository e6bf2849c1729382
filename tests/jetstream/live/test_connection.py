"""A connection to a server that stays: messages, requests, subscriptions, what it refuses, and its end."""

import pytest

from penstock_jetstream.errors import NoRespondersError, RequestTimeoutError
from penstock_jetstream.transport.connection import Connection
from tests.jetstream.connecting import Heard, echo
from tests.testbed.nats.server import NatsServer


async def test_what_is_published_is_heard_in_its_order(server: NatsServer, fresh_name: str) -> None:
    async with Connection(server.url) as connection:
        heard = Heard()
        connection.subscribe(f"{fresh_name}.*", heard)
        connection.publish(f"{fresh_name}.a", b"1", reply="answer.here", headers={"Colour": ["red", "blue"]})
        connection.publish(f"{fresh_name}.b", b"2")
        await heard.have(2)
        name = fresh_name.encode()
        header = b"NATS/1.0\r\nColour: red\r\nColour: blue\r\n\r\n"
        assert heard.messages == [(name + b".a", b"answer.here", header, b"1"), (name + b".b", b"", b"", b"2")]


async def test_a_request_gets_its_answer(server: NatsServer, fresh_name: str) -> None:
    async with Connection(server.url) as connection:
        echo(connection, fresh_name)
        reply = await connection.request(fresh_name, b"hello", headers={"Colour": "red"})
        assert reply.payload == b"hello"


async def test_a_request_that_nobody_hears_fails_at_once(server: NatsServer, fresh_name: str) -> None:
    async with Connection(server.url) as connection:
        with pytest.raises(NoRespondersError, match=fresh_name):
            await connection.request(fresh_name, timeout_seconds=60)


async def test_a_request_that_nobody_answers_ends_at_its_deadline(server: NatsServer, fresh_name: str) -> None:
    async with Connection(server.url) as connection:
        connection.subscribe(fresh_name, Heard())
        with pytest.raises(RequestTimeoutError, match=f"{fresh_name}: no answer within 0.05 s"):
            await connection.request(fresh_name, timeout_seconds=0.05)
