"""An ordered consumer at work: all messages of a stream, in order, each once.

Knows how what the machine wants is carried out: consumers are created and deleted, each is read by a consume of its
own, and users wait for messages. Does not know when a consumer must be replaced (core/ordered.py), or when to pull
(core/consume.py).
"""

import asyncio
import copy
import re
import secrets
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

from typing_extensions import override

from penstock_jetstream.client.api import Api
from penstock_jetstream.client.consumers import Consumers
from penstock_jetstream.client.message import Message
from penstock_jetstream.client.pulling import Pulling, ReportHandler, Source, guarded, log_report
from penstock_jetstream.client.streams import Streams
from penstock_jetstream.client.waiting import Reader, Timer, Waiting
from penstock_jetstream.core.actions import End, Report, Unsubscribe, Verify, WakeAt
from penstock_jetstream.core.consume import Consume
from penstock_jetstream.core.names import checked_name
from penstock_jetstream.core.options import DEFAULT_EXPIRES_SECONDS, ConsumeOptions
from penstock_jetstream.core.ordered import Action, Create, Drop, LookAtStream, Ordered, Read, Seen
from penstock_jetstream.core.ordered_options import OrderedOptions, heartbeat_seconds
from penstock_jetstream.core.pulls import next_subject
from penstock_jetstream.core.stream_info import StreamInfo
from penstock_jetstream.core.times import nanoseconds, rfc3339
from penstock_jetstream.errors import (
    ClosedError,
    HeartbeatMissedError,
    JetStreamError,
    NoLeaderOrMissingError,
    ProtocolError,
    UsageError,
)
from penstock_jetstream.transport.events import Closed, Connected, Disconnected, LinkEvent

PARTING_SECONDS = 2.0
"""How long the end waits for consumers to be deleted. One that is left is deleted by the server in the end."""
ATTEMPT_SECONDS = 2.0
"""How long to wait for an answer when a consumer is replaced: one that is asked for during an election never comes."""
BUNCH = 64
"""After so many messages the event loop gets a turn, and they are accounted for, even if the user never waits."""


class OrderedKeywords(TypedDict, total=False):
    """What may be said of an ordered consumer, and of the pulls that read it."""

    filter_subjects: str | Sequence[str]
    """Of these subjects only."""
    deliver_policy: str
    """all (the default), new, last, last_per_subject, by_start_sequence or by_start_time."""
    opt_start_seq: int
    opt_start_time: datetime | str
    config: Mapping[str, Any]
    """Further fields of the consumer: headers_only, replay_policy, metadata, inactive_threshold, description."""
    name_prefix: str
    """The consumers are called <prefix>_1, <prefix>_2, …"""
    max_messages: int
    max_bytes: int
    expires_seconds: float
    idle_heartbeat_seconds: float
    on_report: ReportHandler


def ordering(api: Api, stream: str, **said: Unpack[OrderedKeywords]) -> "Ordering":
    """Return the reading of a stream in order, from what was said of it."""
    filters = said.get("filter_subjects", ())
    start_time = said.get("opt_start_time")
    options = OrderedOptions(
        stream=checked_name(stream, "stream"),
        filter_subjects=(filters,) if isinstance(filters, str) else tuple(filters),
        deliver_policy=said.get("deliver_policy", "all"),
        opt_start_seq=said.get("opt_start_seq"),
        opt_start_time=rfc3339(start_time) if isinstance(start_time, datetime) else start_time,
        config=said.get("config", {}),
        name_prefix=checked_name(said.get("name_prefix") or f"ordered-{secrets.token_hex(8)}", "consumer"),
    )
    expires_seconds = said.get("expires_seconds", DEFAULT_EXPIRES_SECONDS)
    pulls = ConsumeOptions(
        max_messages=said.get("max_messages"),
        max_bytes=said.get("max_bytes"),
        expires_seconds=expires_seconds,
        idle_heartbeat_seconds=said.get("idle_heartbeat_seconds", heartbeat_seconds(expires_seconds)),
    )
    return Ordering(api, options, pulls, on_report=said.get("on_report", log_report))


_LAST_DELIVERY = re.compile(rb"\r\nNats-Last-Consumer: (\d{1,20})\r\n")


class Ordering(Reader):
    """All messages of a stream, in order: `async with` begins and ends it, `async for` hands them out.

    One task at a time reads. What befalls a consumer is reported, and made good by the next one; an error is raised
    only if not even the first consumer could be made, or the connection was closed.
    """

    def __init__(
        self, api: Api, options: OrderedOptions, pulls: ConsumeOptions, *, on_report: ReportHandler = log_report
    ) -> None:
        self._api = api
        self._quick = copy.copy(api)
        self._quick.timeout_seconds = min(api.timeout_seconds, ATTEMPT_SECONDS)
        self._options = options
        self._pulls = pulls
        self._on_report = guarded(on_report)
        self._machine = Ordered(options)
        self._loop = asyncio.get_running_loop()
        self._buffer: deque[Message] = deque()
        self._reading: _Reading | None = None
        self._in_hand: tuple[_Reading, Message] | None = None
        self._waiting = Waiting()
        self._begun: asyncio.Future[None] = self._loop.create_future()
        self._begun.add_done_callback(lambda begun: begun.exception())  # asyncio need not warn of it
        self._requests: set[asyncio.Task[None]] = set()
        self._deletions: set[asyncio.Task[None]] = set()
        self._timer = Timer(lambda: self._carry_out(self._machine.tick(self._loop.time())))
        self._stop_listening: Callable[[], None] | None = None
        self._handed_in_turn = 0

    # What users call

    async def __aenter__(self) -> Self:
        if self._stop_listening is not None or self._waiting.is_over:
            raise UsageError("This reading in order has begun before.", advice="Call ordered() again for another.")
        self._stop_listening = self._api.connection.listen(self._hear)
        self._carry_out(self._machine.start())
        try:
            await self._begun
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    def stop(self) -> None:
        """Hand out no more."""
        self._carry_out(self._machine.stop())

    @property
    def is_over(self) -> bool:
        return self._waiting.is_over

    # Handing out

    @override
    async def _next(self) -> Message | None:
        self._done_with_message()
        if self._handed_in_turn >= BUNCH:
            self._handed_in_turn = 0
            await asyncio.sleep(0)
        while not self._buffer:
            if self._waiting.has_waiters:
                raise UsageError(
                    "Two tasks read in order at once.", advice="Let one task read; order is lost otherwise."
                )
            self._handed_in_turn = 0
            if not await self._waiting.more():
                return None
        message = self._buffer.popleft()
        token = message.metadata
        self._machine.handed(token.stream_sequence, token.timestamp_ns)
        self._handed_in_turn += 1
        if self._reading is not None:
            self._in_hand = self._reading, message
        return message

    def _done_with_message(self) -> None:
        """A message is processed when its user asks for the next one."""
        if self._in_hand is not None:
            (reading, message), self._in_hand = self._in_hand, None
            reading.processed(message)

    # What readings and the connection tell

    def take(self, reading: "_Reading", messages: list[Message], now: float) -> None:
        """Keep what is next in the order; the first that is not ends the reading that it came from."""
        for message in messages:
            try:
                token = message.metadata
            except ProtocolError as problem:
                self._on_report(problem)
                self._loop.call_soon(reading.processed, message)
                continue
            if not self._machine.is_next(reading.number, token.consumer_sequence, token.stream_sequence):
                self._carry_out(self._machine.out_of_order(reading.number, token.consumer_sequence, now))
                break
            self._buffer.append(message)
        if self._buffer:
            self._waiting.wake(1)

    def heartbeat(self, number: int, last_delivery: int) -> None:
        self._carry_out(self._machine.heartbeat(number, last_delivery, self._loop.time()))

    def troubled(self, number: int, error: JetStreamError | None) -> None:
        self._carry_out(self._machine.troubled(number, error, self._loop.time()))

    def report(self, error: JetStreamError) -> None:
        self._on_report(error)

    def _hear(self, event: LinkEvent) -> None:
        match event:
            case Connected():
                self._carry_out(self._machine.reconnected(self._loop.time()))
            case Disconnected():
                self._carry_out(self._machine.disconnected())
            case Closed():
                self._machine.stop()
                self._finish(
                    ClosedError(
                        f"The connection was closed while stream {self._options.stream} was read in order.",
                        advice="Leave the `async with` of the reading before that of the connection.",
                    )
                )
            case _:
                pass

    # What the machine wants

    def _carry_out(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case LookAtStream(number):
                    self._spawn(self._look_at_stream(number), self._requests)
                case Create(number, config):
                    self._spawn(self._create(number, config), self._requests)
                case Read(number, name):
                    self._read(number, name)
                case Drop(name):
                    self._drop(name)
                case Report(error):
                    self._on_report(error)
                case WakeAt(time):
                    self._timer.set(time)
                case End(error):
                    self._finish(error)

    def _spawn(self, work: Coroutine[None, None, None], among: set[asyncio.Task[None]]) -> None:
        task = self._loop.create_task(work)
        among.add(task)
        task.add_done_callback(among.discard)

    async def _look_at_stream(self, number: int) -> None:
        try:
            info = await Streams(self._quick).info(self._options.stream)
        except JetStreamError:
            self._carry_out(self._machine.stream_not_seen(number, self._loop.time()))
        else:
            self._carry_out(self._machine.stream_seen(number, _seen(info), self._loop.time()))

    async def _create(self, number: int, config: dict[str, object]) -> None:
        try:
            api = self._quick if self._begun.done() else self._api
            info = await Consumers(api).create(self._options.stream, config)
        except JetStreamError as error:
            self._carry_out(self._machine.refused(number, error, self._loop.time()))
        else:
            delivered = info.delivered.stream_sequence
            self._carry_out(self._machine.created(number, delivered, self._loop.time()))

    def _read(self, number: int, name: str) -> None:
        stream = self._options.stream
        source = Source(
            connection=self._api.connection,
            stream=stream,
            consumer=name,
            subject=next_subject(self._api.prefix, stream, name),
            headers=self._api.headers,
            is_acknowledged=False,
        )
        self._reading = _Reading(self, number, source, self._pulls)
        self._reading.open()
        if not self._begun.done():
            self._begun.set_result(None)

    def _drop(self, name: str) -> None:
        if self._reading is not None:
            self._reading.close()
            self._reading = None
        self._buffer.clear()
        self._spawn(self._delete(name), self._deletions)

    async def _delete(self, name: str) -> None:
        with suppress(JetStreamError):
            await Consumers(self._api).delete(self._options.stream, name)

    # Its end

    def _finish(self, error: JetStreamError | None) -> None:
        if self._reading is not None:
            self._reading.close()
            self._reading = None
        self._buffer.clear()
        if not self._begun.done() and error is not None:
            self._begun.set_exception(error)
        self._waiting.end(error)

    async def _close(self) -> None:
        self.stop()
        if self._stop_listening is not None:
            self._stop_listening()
        self._timer.cancel()
        if self._deletions:
            await asyncio.wait(self._deletions, timeout=PARTING_SECONDS)
        left = {*self._requests, *self._deletions}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)


class _Reading(Pulling):
    """One consumer that is read. It tells its owner of all that comes, under the consumer's number."""

    def __init__(self, owner: Ordering, number: int, source: Source, options: ConsumeOptions) -> None:
        self._machine: Consume
        machine = Consume(options, stream=source.stream, consumer=source.consumer)
        super().__init__(source, machine, counts_bytes=options.by_bytes, report=self._reported)
        self.number = number
        self._owner = owner

    def open(self) -> None:
        self._open()

    def close(self) -> None:
        self._machine.stop(self._loop.time())
        self._leave()

    def processed(self, message: Message) -> None:
        size_bytes = message.size_bytes if self._counts_bytes else 0
        self._carry_out(self._machine.processed(1, size_bytes, self._loop.time()))

    @override
    def _take(self, messages: list[Message], now: float) -> None:
        self._owner.take(self, messages, now)

    @override
    def _take_status(self, subject: bytes, header: bytes) -> None:
        super()._take_status(subject, header)
        if last := _LAST_DELIVERY.search(header):
            self._owner.heartbeat(self.number, int(last[1]))

    @override
    def _ended(self, error: JetStreamError | None) -> None:
        self._owner.troubled(self.number, error)

    @override
    def _begin(self, work: Unsubscribe | Verify) -> None:
        """Neither is asked for: it is never drained, and a reconnect replaces it."""

    def _reported(self, error: JetStreamError) -> None:
        if isinstance(error, HeartbeatMissedError | NoLeaderOrMissingError):
            self._owner.troubled(self.number, error)
        else:
            self._owner.report(error)


def _seen(info: StreamInfo) -> Seen:
    state = info.raw["state"]
    return Seen(
        created=str(info.raw["created"]),
        first_sequence=info.state.first_sequence,
        first_timestamp_ns=nanoseconds(str(state["first_ts"]), "the stream's first message"),
        last_sequence=info.state.last_sequence,
    )
