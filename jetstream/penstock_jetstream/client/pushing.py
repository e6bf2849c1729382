"""A push subscription: a consumer sends its messages to a subject of ours.

Knows how a subscription begins and ends: by itself, by its user, by an error, with the connection. Does not know how
the consumer is found or made (core/subscribing.py), how messages wait (receiving.py), or what is answered and noticed
(core/push.py).
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

from typing_extensions import override

from penstock_jetstream.client.api import Api
from penstock_jetstream.client.consumers import Consumers
from penstock_jetstream.client.message import Message
from penstock_jetstream.client.pulling import ReportHandler, log_report
from penstock_jetstream.client.receiving import Receiving
from penstock_jetstream.client.subscribing import Workflow
from penstock_jetstream.core import wire
from penstock_jetstream.core.acks import ACK_PREFIX, NAK
from penstock_jetstream.core.push import ALARM_FACTOR, Push, Pushed
from penstock_jetstream.core.session import denied_subscription
from penstock_jetstream.core.subscribing import Ready, Subscribing
from penstock_jetstream.core.times import NANOSECONDS_PER_SECOND
from penstock_jetstream.core.wanted import Wanted
from penstock_jetstream.errors import (
    AuthenticationError,
    ClosedError,
    JetStreamError,
    LinkError,
    MissingError,
    RequestTimeoutError,
    UsageError,
)
from penstock_jetstream.transport.events import Closed, Connected, Disconnected, LinkEvent, ServerReported

MessageHandler = Callable[[Message], Awaitable[None] | None]

BUFFERED_BYTES_MAX = 64 << 20
"""What may wait for the user before reading pauses. Flow control, where there is some, keeps far below this."""
PARTING_SECONDS = 2.0
"""How long to wait for what was on its way when the subscription was drained."""


class SubscribeKeywords(TypedDict, total=False):
    """What may be said of a push subscription."""

    stream: str
    """Instead of looking for the one that has the subject."""
    durable: str
    """The consumer's name; it is made if it does not exist."""
    bind: str
    """The consumer's name; it must exist."""
    queue: str
    """Share the messages with all who name the same queue. It is the durable's name, too, unless that is given."""
    config: Mapping[str, Any]
    """Fields of the consumer. One that exists must have them: a subscription changes nothing."""
    keep: bool
    """Leave the consumer there at the end, even if it was made here."""
    on_message: MessageHandler
    on_report: ReportHandler
    alarm_factor: float
    """So many heartbeat intervals must pass in silence until it is reported (3)."""
    buffered_bytes_max: int
    """When more waits for you, the connection reads nothing, so that nothing has to be dropped (64 MiB)."""


@dataclass(frozen=True, kw_only=True)
class Extras:
    """What a subscription does besides finding its consumer."""

    on_message: MessageHandler | None = None
    on_report: ReportHandler = log_report
    alarm_factor: float = ALARM_FACTOR
    buffered_bytes_max: int = BUFFERED_BYTES_MAX


def pushing(api: Api, subject: str, **said: Unpack[SubscribeKeywords]) -> "Pushing":
    """Return a push subscription, from what was said of it."""
    wanted = Wanted(
        subject=subject,
        stream=said.get("stream", ""),
        durable=said.get("durable", ""),
        bind=said.get("bind", ""),
        queue=said.get("queue", ""),
        config=said.get("config", {}),
        keep=said.get("keep", False),
    )
    extras = Extras(
        on_message=said.get("on_message"),
        on_report=said.get("on_report", log_report),
        alarm_factor=said.get("alarm_factor", ALARM_FACTOR),
        buffered_bytes_max=said.get("buffered_bytes_max", BUFFERED_BYTES_MAX),
    )
    return Pushing(api, wanted, extras)


class Pushing(Receiving):
    """A subscription: `async with` finds or makes its consumer and leaves it, `async for` hands out its messages.

    With `on_message` they go there instead, one after another. A message's ack wait begins when the server sends it.

    `drain()` hands out what is buffered, then it is over; leaving the `async with` gives that back to the server. At
    the end a consumer that was made here is deleted, and no other.
    """

    def __init__(self, api: Api, wanted: Wanted, extras: Extras) -> None:
        super().__init__(api.connection, on_report=extras.on_report, buffered_bytes_max=extras.buffered_bytes_max)
        self._consumers = Consumers(api)
        self._extras = extras
        machine = Subscribing(wanted, inbox=self._connection.new_inbox())
        self._workflow = Workflow(api, machine, self._listen)
        self._ready: Ready | None = None
        self._stop_listening: Callable[[], None] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._draining: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    # What users call

    async def __aenter__(self) -> Self:
        if self._stop_listening is not None:
            raise UsageError("This subscription has begun before.", advice="Call subscribe() again for another.")
        self._stop_listening = self._connection.listen(self._hear)
        try:
            ready = await self._workflow.until_ready()
            if self._waiting.is_over:
                await self._workflow.clean_up()
                await self._waiting.ended()
        except BaseException:
            self._leave()
            raise
        self._begin(ready)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if problem is not None and self._serving is not None:
            self._serving.cancel()
        self._stop()
        await self._end_tasks()
        if self._serving is not None:
            await asyncio.wait([self._serving])
        try:
            await self._workflow.clean_up()
        except JetStreamError as error:
            if problem is None and not isinstance(error, ClosedError):
                raise
            self._on_report(error)
        if self._serving is not None and problem is None:
            self._serving.result()

    @override
    def __aiter__(self) -> Self:
        if self._extras.on_message is not None:
            raise UsageError("These messages go to on_message.", advice="Use either on_message or `async for`.")
        return self

    @property
    def stream(self) -> str:
        return self._known.stream

    @property
    def consumer(self) -> str:
        return self._known.consumer

    @property
    def config(self) -> Mapping[str, Any]:
        """The consumer's, as it was when the subscription began."""
        return self._known.config

    @property
    def is_over(self) -> bool:
        """Tell whether nothing more will come; what is buffered is handed out all the same."""
        return self._waiting.is_over

    async def unsubscribe(self) -> None:
        """End it: what is buffered is given back to the server, and a consumer that was made here deleted."""
        self._stop()
        await self._workflow.clean_up()

    def drain(self) -> None:
        """Have nothing more sent; when all that was sent has been handed out, it is over."""
        if not self._waiting.is_over:
            self._draining = self._spawn(self._drain())

    async def closed(self) -> None:
        """Wait until it is over, and raise what ended it, if that was no wish of its user."""
        await self._waiting.ended()

    # Its own

    def _listen(self, subject: str, queue: str) -> None:
        if self._subscription is not None:
            self._subscription.unsubscribe()
        self._subscription = self._connection.subscribe(subject, self._receive, queue=queue)

    def _begin(self, ready: Ready) -> None:
        config = ready.config
        self._ready = ready
        pushed = Pushed(
            stream=ready.stream,
            consumer=ready.consumer,
            heartbeat_seconds=config.get("idle_heartbeat", 0) / NANOSECONDS_PER_SECOND,
            alarm_factor=self._extras.alarm_factor,
            is_shared=bool(config.get("deliver_group")),
            is_new=ready.created,
        )
        self._recognise(Push(pushed), is_acknowledged=config.get("ack_policy") != "none")
        if self._extras.on_message is not None:
            self._serving = self._loop.create_task(self._serve(self._extras.on_message))

    async def _serve(self, on_message: MessageHandler) -> None:
        try:
            while (message := await self._next()) is not None:
                answer = on_message(message)
                if answer is not None:
                    await answer
        except Exception as problem:
            self._stop(problem)
            raise

    def _hear(self, event: LinkEvent) -> None:
        if isinstance(event, ServerReported):
            if self._subscription is not None and denied_subscription(event.text) == self._subscription.subject:
                self._stop(_denied(self._subscription.subject, event.text))
        elif isinstance(event, Closed):
            self._stop(
                ClosedError(
                    "The connection was closed while a subscription was read.",
                    advice="Leave the `async with` of the subscription before that of the connection.",
                )
            )
        elif self._machine is not None and isinstance(event, Connected):
            self._carry_out(self._machine.connected(self._loop.time()))
        elif self._machine is not None and isinstance(event, Disconnected):
            self._carry_out(self._machine.disconnected())

    async def _verify(self) -> None:
        """Look whether the consumer is there; if that cannot be found out, it may be."""
        exists = True
        try:
            await self._consumers.info(self.stream, self.consumer)
        except MissingError:
            exists = False
        except JetStreamError:
            pass
        if self._machine is not None:
            self._carry_out(self._machine.verified(exists=exists))

    # What Receiving calls

    @override
    def _raise(self, error: JetStreamError) -> None:
        """Have the user get an error in its turn; a function that takes messages takes none, so that it is reported."""
        if self._extras.on_message is not None:
            self._on_report(error)
            return
        self._buffer.append(error)
        self._is_empty.clear()
        self._waiting.wake(1)

    @override
    def _look_for_consumer(self) -> None:
        _ = self._spawn(self._verify())

    @override
    def _ended(self, error: JetStreamError | None) -> None:
        self._leave()
        self._waiting.end(error)

    # Its end

    @property
    def _known(self) -> Ready:
        if self._ready is None:
            raise UsageError("This subscription has not begun.", advice="Enter it with `async with` first.")
        return self._ready

    def _stop(self, error: Exception | None = None) -> None:
        self._leave()
        self._discard()
        self._waiting.end(error)

    def _leave(self) -> None:
        """Let go of all that was taken."""
        self._timer.cancel()
        if self._stop_listening is not None:
            self._stop_listening()
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            with suppress(LinkError):
                subscription.unsubscribe()

    def _discard(self) -> None:
        """Have what nobody will work on here delivered to someone else at once, by one write."""
        replies = [item.raw_reply for item in self._buffer if isinstance(item, Message) and not item.is_settled]
        self._buffer.clear()
        self._buffered_bytes = 0
        answerable = [reply for reply in replies if reply.startswith(ACK_PREFIX)]
        if answerable and not self._workflow.deletes:
            with suppress(LinkError):  # then they are delivered again when their ack wait is over
                self._connection.send(wire.publish_same(answerable, NAK))

    async def _drain(self) -> None:
        if self._subscription is not None and self._connection.is_connected:
            with suppress(LinkError, RequestTimeoutError):
                self._connection.send(wire.unsubscribe(self._subscription.sid))
                await self._connection.flush(PARTING_SECONDS)
        self._leave()
        await self._is_empty.wait()
        try:
            await self._workflow.clean_up()
        except JetStreamError as error:
            self._on_report(error)
        self._waiting.end(None)

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _end_tasks(self) -> None:
        if self._draining is not None and self._is_empty.is_set():
            await asyncio.wait([self._draining])  # it is about to delete the consumer
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def _denied(subject: str, text: str) -> AuthenticationError:
    return AuthenticationError(
        f"The server does not let this user listen on {subject}, where the messages are sent: {text}.",
        advice="Allow it to subscribe there, or have the consumer deliver elsewhere: deliver_subject in config.",
    )
