"""Requests to a server's API and pulls as JSON, without our client library: with it tests show what servers do."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import TimeoutError as NatsTimeoutError

from tests.testbed.nats.client import connection
from tests.testbed.waiting import eventually_async

ANSWER_SECONDS = 60
"""Far more than an answer takes on a machine that is busy with other work."""
SILENCE_SECONDS = 0.1
MILLISECOND = 1_000_000
"""In nanoseconds, as the API has all durations."""
LATER = 60_000 * MILLISECOND


class Raw:
    """One connection to a server. Every method names its consumer as "STREAM.CONSUMER", as subjects do."""

    def __init__(self, client: Client) -> None:
        self.client = client
        version = client.connected_server_version
        self.version = (version.major, version.minor)

    async def api(self, operation: str, body: Mapping[str, Any] | bytes = b"") -> dict[str, Any]:
        """Ask $JS.API and return the answer, whether it is an error or not."""
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        reply = await self.client.request(f"$JS.API.{operation}", payload, timeout=ANSWER_SECONDS)
        answer: dict[str, Any] = json.loads(reply.data)
        return answer

    async def do(self, operation: str, body: Mapping[str, Any] | bytes = b"") -> dict[str, Any]:
        """Ask for what must be granted."""
        answer = await self.api(operation, body)
        assert "error" not in answer, f"{operation} {body!r}: {answer['error']}"
        return answer

    async def refusal(self, operation: str, body: Mapping[str, Any] | bytes = b"") -> int:
        """Ask for what must be refused, and return the err_code."""
        answer = await self.api(operation, body)
        assert "error" in answer, f"{operation} {body!r} was granted: {answer}"
        code: int = answer["error"]["err_code"]
        return code

    async def make_stream(self, name: str, **config: Any) -> dict[str, Any]:  # noqa: ANN401 - configuration is JSON
        """Make a stream in memory, of the subjects NAME.> if no others are given; return its configuration."""
        defaults = {"name": name, "subjects": [f"{name}.>"], "storage": "memory"}
        made: dict[str, Any] = (await self.do(f"STREAM.CREATE.{name}", {**defaults, **config}))["config"]
        return made

    async def make_consumer(self, of: str, **config: Any) -> dict[str, Any]:  # noqa: ANN401 - configuration is JSON
        """Make a durable consumer with explicit acks, or as given, and return the configuration that the server has."""
        made: dict[str, Any] = (await self.do(f"CONSUMER.CREATE.{of}", _consumer_request(of, config)))["config"]
        return made

    async def refused_consumer(self, of: str, **config: Any) -> int:  # noqa: ANN401 - configuration is JSON
        """Ask for a consumer as `make_consumer` does, and return the err_code that it is refused with."""
        return await self.refusal(f"CONSUMER.CREATE.{of}", _consumer_request(of, config))

    async def consumer(self, of: str) -> dict[str, Any]:
        return await self.do(f"CONSUMER.INFO.{of}")

    async def stored(self, stream: str) -> int:
        """Return how many messages a stream holds."""
        count: int = (await self.do(f"STREAM.INFO.{stream}"))["state"]["messages"]
        return count

    async def publish(self, subject: str, *payloads: bytes, headers: dict[str, str] | None = None) -> None:
        """Store messages, and wait until the stream has them."""
        for payload in payloads:
            answer = json.loads((await self.client.request(subject, payload, ANSWER_SECONDS, headers=headers)).data)
            assert "error" not in answer, answer

    async def pull(self, of: str, **body: Any) -> "Pull":  # noqa: ANN401 - the body is JSON
        """Publish a pull: of one message, and open for longer than any test takes, unless the body says otherwise."""
        return await self.pull_raw(of, json.dumps({"batch": 1, "expires": LATER, **body}).encode())

    async def pull_raw(self, of: str, body: bytes, *, inbox: str = "") -> "Pull":
        inbox = inbox or self.client.new_inbox()
        answers = await self.client.subscribe(inbox)
        await self.client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{of}", body, reply=inbox)
        return Pull(answers)

    async def take(self, of: str, count: int = 1, **body: Any) -> Sequence[Msg]:  # noqa: ANN401 - the body is JSON
        """Pull messages that are there."""
        pull = await self.pull(of, **{"batch": count, **body})
        return [await pull.message() for _ in range(count)]

    async def answer(self, message: Msg, payload: bytes) -> None:
        """Send an ack, or another answer, and wait until the server has confirmed it."""
        await self.client.request(message.reply, payload, timeout=ANSWER_SECONDS)

    async def listen(self, subject: str) -> Subscription:
        answers = await self.client.subscribe(subject)
        await self.client.flush()
        return answers


def _consumer_request(of: str, config: Mapping[str, Any]) -> dict[str, Any]:
    stream, _, name = of.partition(".")
    return {"stream_name": stream, "config": {"durable_name": name, "ack_policy": "explicit", **config}}


class Pull:
    """The answers to a pull."""

    def __init__(self, answers: Subscription) -> None:
        self._answers = answers

    async def next(self, seconds: float = ANSWER_SECONDS) -> Msg:
        return await self._answers.next_msg(seconds)

    async def message(self) -> Msg:
        answer = await self.next()
        assert status(answer) is None, f"not a message but {status(answer)}"
        return answer

    async def status(self, seconds: float = ANSWER_SECONDS) -> str:
        """Return the next answer's status and description, such as "404 No Messages"."""
        return status(await self.next(seconds)) or "a message"

    async def is_silent(self, seconds: float = SILENCE_SECONDS) -> bool:
        """Return whether nothing at all comes for a while."""
        try:
            await self._answers.next_msg(seconds)
        except NatsTimeoutError:
            return True
        return False


async def ready(raw: Raw, name: str, *payloads: bytes, **config: Any) -> str:  # noqa: ANN401 - configuration is JSON
    """Make a stream with these messages and a consumer of it; return the consumer's name, with its stream's."""
    await raw.make_stream(name)
    await raw.make_consumer(f"{name}.c", **config)
    await raw.publish(f"{name}.a", *payloads)
    return f"{name}.c"


async def until_waiting(raw: Raw, of: str, count: int) -> None:
    """Return once so many pulls are open at a consumer: it takes them in, and lets them go, in its own time."""
    await until_consumer(raw, of, "num_waiting", count)


async def until_pending(raw: Raw, of: str, count: int) -> None:
    """Return once a consumer knows of so many messages to deliver: it hears of them after the publisher does."""
    await until_consumer(raw, of, "num_pending", count)


async def until_consumer(raw: Raw, of: str, field: str, value: int) -> None:
    async def has_value() -> bool:
        return bool((await raw.consumer(of))[field] == value)

    await eventually_async(has_value, f"{field} of {of} is {value}", ANSWER_SECONDS)


def status(answer: Msg) -> str | None:
    """Return what a status says; None of a message."""
    headers = answer.headers or {}
    if "Status" not in headers:
        return None
    # nats-py takes the next header for the description if there is none
    description = headers.get("Description", "").partition("\n")[0]
    return f"{headers['Status']} {description}".strip()


def sequence(message: Msg) -> int:
    """Return a message's place in its stream, from its ack token of either version."""
    return message.metadata.sequence.stream


def deliveries(message: Msg) -> int:
    """Return how many times a message has been delivered, this one included."""
    count: int = message.metadata.num_delivered
    return count


@asynccontextmanager
async def connected(**arguments: Any) -> AsyncIterator[Raw]:  # noqa: ANN401 - nats-py has their types
    async with connection(**arguments) as client:
        yield Raw(client)
