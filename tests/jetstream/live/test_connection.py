"""A connection to a server that stays: messages, requests, subscriptions, what it refuses, and its end."""

import asyncio

import pytest

from penstock_jetstream.errors import NoRespondersError, RequestTimeoutError
from penstock_jetstream.transport.connection import Connection
from tests.testbed.nats.server import NatsServer


class Inbox:
    """What a subscription has heard."""

    def __init__(self) -> None:
        self.messages: list[tuple[bytes, bytes, bytes, bytes]] = []
        self._changed = asyncio.Event()

    def __call__(self, subject: bytes, reply: bytes, header: bytes, payload: bytes) -> None:
        self.messages.append((subject, reply, header, payload))
        self._changed.set()

    @property
    def payloads(self) -> list[bytes]:
        return [message[3] for message in self.messages]

    async def have(self, count: int, seconds: float = 10) -> None:
        async with asyncio.timeout(seconds):
            while len(self.messages) < count:
                self._changed.clear()
                await self._changed.wait()


async def test_what_is_published_is_heard_in_its_order(server: NatsServer, fresh_name: str) -> None:
    async with Connection(server.url) as connection:
        inbox = Inbox()
        connection.subscribe(f"{fresh_name}.*", inbox)
        connection.publish(f"{fresh_name}.a", b"1", reply="answer.here", headers={"Colour": ["red", "blue"]})
        connection.publish(f"{fresh_name}.b", b"2")
        await inbox.have(2)
        name = fresh_name.encode()
        header = b"NATS/1.0\r\nColour: red\r\nColour: blue\r\n\r\n"
        assert inbox.messages == [(name + b".a", b"answer.here", header, b"1"), (name + b".b", b"", b"", b"2")]


async def test_a_request_gets_its_answer(server: NatsServer, fresh_name: str) -> None:
    async with Connection(server.url) as connection:
        connection.subscribe(
            fresh_name, lambda _subject, reply, _header, payload: connection.publish(reply.decode(), payload.upper())
        )
        reply = await connection.request(fresh_name, b"hello")
        assert reply.payload == b"HELLO"


async def test_a_request_that_nobody_hears_fails_at_once(server: NatsServer, fresh_name: str) -> None:
    async with Connection(server.url) as connection:
        with pytest.raises(NoRespondersError, match=fresh_name):
            await connection.request(fresh_name, timeout_seconds=60)


async def test_a_request_that_nobody_answers_ends_at_its_deadline(server: NatsServer, fresh_name: str) -> None:
    async with Connection(server.url) as connection:
        connection.subscribe(fresh_name, Inbox())
        with pytest.raises(RequestTimeoutError, match=f"{fresh_name}: no answer within 0.05 s"):
            await connection.request(fresh_name, timeout_seconds=0.05)
