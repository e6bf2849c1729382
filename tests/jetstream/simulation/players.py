"""Players of scenarios: the simulated server, and real ones. Each returns what arrived on the inbox.

The simulated server says how many answers to expect of a real one.
"""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from penstock_jetstream.core.acks import ACK, parse_token
from penstock_jetstream.core.headers import Headers
from penstock_jetstream.core.pulls import next_subject, reply_to, request_number
from penstock_jetstream.core.sizes import pin_id
from tests.jetstream.scene import Scene
from tests.jetstream.simulation.options import Options
from tests.jetstream.simulation.scenarios import Acknowledge, Ask, Do, Pause, Scenario, Step, Store, Wait
from tests.jetstream.simulation.server import Server
from tests.jetstream.simulation.world import World
from tests.testbed.waiting import eventually_async

TIMESTAMP_DIGITS = 19
ANSWER_SECONDS = 0.01
QUIET_SECONDS = 0.03
SECOND = 1_000_000_000

Answer = tuple[object, ...]
"""("message", sequence, has a pin), or (number of the request, status, what it had left)."""


def message_bytes(stream: str, payload_bytes: int) -> int:
    """Return the size of a message whose numbers all have one digit, as the server counts it."""
    token = f"$JS.ACK.{stream}.c.1.1.1.{'9' * TIMESTAMP_DIGITS}.0"
    return len(f"{stream}.m") + len(token) + payload_bytes


class Simulated:
    """Plays with the simulated server."""

    def __init__(self, stream: str, scenario: Scenario, *, replicated: bool = False) -> None:
        config = scenario.config
        self.lost_silently = 0
        self.stream = stream
        self.world = World(0)
        self.answers: list[Answer] = []
        options = Options(
            ack_wait_seconds=config.get("ack_wait", 30 * SECOND) / SECOND,
            max_ack_pending=config.get("max_ack_pending", 1000),
            max_waiting=config.get("max_waiting", 512),
            policy=config.get("priority_policy", ""),
            pin_timeout_seconds=config.get("priority_timeout", 0) / SECOND,
            replicated=replicated,
        )
        self.server = Server(self.world, options)
        self.server.max_batch = config.get("max_batch", 0)
        self.server.max_expires_seconds = config.get("max_expires", 0) // SECOND
        self.server.max_request_bytes = config.get("max_bytes", 0)

    def listens(self, number: int) -> bool:
        return number > 0

    def send_status(self, number: int, text: str, left: tuple[int, int] | None = None) -> None:
        self.answers.append((number, text, left))

    def send_message(self, number: int, sequence: int, size_bytes: int, pin: str) -> None:
        del number, size_bytes
        self.answers.append(("message", sequence, bool(pin)))

    def play(self, steps: Sequence[Step]) -> list[list[Answer]]:
        return [self._answers_to(step) for step in steps]

    def _answers_to(self, step: Step) -> list[Answer]:
        self.answers = []
        self._do(step)
        self.world.run(self.world.now + (step.seconds if isinstance(step, Wait) else ANSWER_SECONDS))
        return self.answers

    def _do(self, step: Step) -> None:  # noqa: C901 - one case per step
        match step:
            case Store(count, payload_bytes):
                for _ in range(count):
                    self.server.publish(message_bytes(self.stream, payload_bytes))
            case Ask(number):
                self.server.pull(self, number, body_for(step, self.stream))
            case Acknowledge(sequence):
                self.server.acknowledge(sequence)
            case Pause(seconds):
                self.server.pause(seconds)
            case Do.DELETE:
                self.server.delete()
            case Do.RESET:
                self.server.reset()
            case Do.UNPIN:
                self.server.unpin()
            case Do.STEP_DOWN:
                self.server.lose_leader("409 Leadership Change")
            case Wait():
                pass


class Real:
    """Plays with a real server."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.inbox = scene.connection.new_inbox()
        self.answers: list[Answer] = []
        self._replies: dict[int, str] = {}
        scene.connection.subscribe(f"{self.inbox}.*", self._take)

    def _take(self, subject: bytes, reply: bytes, header: bytes, payload: bytes) -> None:
        del payload
        if reply:
            sequence = parse_token(reply).stream_sequence
            self._replies[sequence] = reply.decode()
            self.answers.append(("message", sequence, bool(pin_id(header))))
        else:
            self.answers.append(status_of(subject, Headers.parse(header)))

    async def play(self, steps: Sequence[Step], expected: Sequence[Sequence[Answer]]) -> list[list[Answer]]:
        """Play; wait for as many answers to each step as are expected, but of a request's heartbeats only one."""
        counts = [len(without_time([answers])) for answers in expected]
        return [await self._answers_to(step, count) for step, count in zip(steps, counts, strict=True)]

    async def _answers_to(self, step: Step, count: int) -> list[Answer]:
        self.answers = []
        await self._do(step)
        with suppress(TimeoutError):  # the comparison shows what is missing
            await eventually_async(lambda: len(without_time([self.answers])) >= count, f"{count} answers")
        quiet_seconds = step.seconds if isinstance(step, Wait) and not count else QUIET_SECONDS
        await asyncio.sleep(quiet_seconds)  # calm: only shows an answer too many, none depends on it
        return self.answers

    async def _do(self, step: Step) -> None:
        consumers, stream = self.scene.js.consumers, self.scene.stream
        match step:
            case Store(count, payload_bytes):
                stored = (self.scene.js.publish(f"{stream}.m", b"x" * payload_bytes) for _ in range(count))
                newest = max(ack.sequence for ack in await asyncio.gather(*stored))
                await self.scene.until(
                    lambda info: info.delivered.stream_sequence + info.num_pending >= newest
                )  # the consumer hears of a message after its publisher does
            case Ask(number):
                reply = reply_to(self.inbox, number)
                subject = next_subject("$JS.API", stream, "c")
                self.scene.connection.publish(subject, body_for(step, stream), reply=reply)
                await self.scene.connection.flush()
            case Acknowledge(sequence):
                await self.scene.connection.request(self._replies[sequence], ACK)
            case Pause(seconds):
                await consumers.pause(stream, "c", datetime.now(UTC) + timedelta(seconds=seconds))
            case Do.DELETE:
                await consumers.delete(stream, "c")
            case Do.RESET:
                await consumers.reset(stream, "c")
            case Do.UNPIN:
                await consumers.unpin(stream, "c", "jobs")
            case Do.STEP_DOWN:
                await consumers.step_down(stream, "c")
            case Wait():
                pass


def body_for(ask: Ask, stream: str) -> bytes:
    """Return the body; a negative max_bytes is for so many messages of 50 bytes."""
    body = dict(ask.body)
    if body.get("max_bytes", 0) < 0:
        body["max_bytes"] *= -message_bytes(stream, 50)
    return json.dumps(body).encode()


def status_of(subject: bytes, headers: Headers) -> Answer:
    left = None
    if "Nats-Pending-Messages" in headers:
        left = (int(headers["Nats-Pending-Messages"]), int(headers["Nats-Pending-Bytes"]))
    return (request_number(subject), f"{headers.status} {headers.description}", left)


def without_time(answers: Sequence[Sequence[Answer]]) -> list[Answer]:
    """Return them in order, but of a request's heartbeats only the first: how many there are is a matter of time."""
    beating: set[object] = set()
    rest: list[Answer] = []
    for answer in (answer for step in answers for answer in step):
        beats = answer[1] == "100 Idle Heartbeat"
        if not beats or answer[0] not in beating:
            rest.append(answer)
        if beats:
            beating.add(answer[0])
    return rest
