"""Messages that are sent to a subject of ours: kept until a user takes them, never dropped, each accounted for.

Knows how messages wait for users and users for messages, when reading must pause, and how what the machine wants is
carried out. Does not know what has to be answered and noticed (core/push.py), or how the subscription begins and ends
(pushing.py).
"""

import asyncio
from abc import abstractmethod
from collections import deque

from typing_extensions import override

from penstock_jetstream.client.message import Message
from penstock_jetstream.client.pulling import ReportHandler, guarded
from penstock_jetstream.client.waiting import Reader, Timer, Waiting
from penstock_jetstream.core.acks import ACK_PREFIX, parse_token
from penstock_jetstream.core.actions import End, Report, Verify, WakeAt
from penstock_jetstream.core.headers import VERSION, Headers
from penstock_jetstream.core.push import Action, Publish, Push, Raise
from penstock_jetstream.errors import JetStreamError, LinkError, ProtocolError, UsageError
from penstock_jetstream.transport.connection import Connection
from penstock_jetstream.transport.subscriptions import Subscription

Frame = tuple[bytes, bytes, bytes, bytes]
"""Subject, reply, header block and payload."""

BUNCH = 64
"""After so many messages the event loop gets a turn, even if the user never waits."""

_STATUS_FOLLOWS = VERSION + b" "


class Receiving(Reader):
    """What a subscription has received and not yet handed over."""

    _subscription: Subscription | None

    def __init__(self, connection: Connection, *, on_report: ReportHandler, buffered_bytes_max: int) -> None:
        self._connection = connection
        self._on_report = guarded(on_report)
        self._buffered_bytes_max = buffered_bytes_max
        self._loop = asyncio.get_running_loop()
        self._machine: Push | None = None
        """None until the consumer is known."""
        self._subscription = None
        self._timer = Timer(self._tick)
        self._early: list[Frame] = []
        """What came before the consumer was known."""
        self._buffer: deque[Message | JetStreamError] = deque()
        self._buffered_bytes = 0
        self._is_paused = False
        self._handed = 0
        self._is_settled = False
        self._waiting = Waiting()
        self._is_empty = asyncio.Event()
        """Somebody has asked for more than there is."""

    # For those who inherit

    @abstractmethod
    def _raise(self, error: JetStreamError) -> None:
        """Have the user get an error in its turn."""

    @abstractmethod
    def _look_for_consumer(self) -> None:
        """Begin to find out whether the consumer is there; then call the machine's `verified`."""

    @abstractmethod
    def _ended(self, error: JetStreamError | None) -> None:
        """Nothing more will come, but what is buffered is handed out."""

    @property
    def is_paused(self) -> bool:
        """Tell whether so much waits for the user that the connection has stopped reading."""
        return self._is_paused

    # Handing out

    @override
    async def _next(self) -> Message | None:
        if self._handed % BUNCH == 0:
            await asyncio.sleep(0)
        while not self._buffer:
            self._is_empty.set()
            if not await self._waiting.more():
                return None
        item = self._buffer.popleft()
        if isinstance(item, JetStreamError):
            raise item
        self._hand_over(item)
        return item

    def _hand_over(self, message: Message) -> None:
        self._handed += 1
        self._buffered_bytes -= message.size_bytes
        if self._is_paused and self._buffered_bytes <= self._buffered_bytes_max // 2:
            self._resume()
        machine = self._machine
        if machine is not None and machine.answers_at is not None:
            self._carry_out(machine.handed(self._handed))

    # What comes from the connection

    def _recognise(self, machine: Push, *, is_acknowledged: bool) -> None:
        """Go on with the consumer that is known now."""
        self._machine = machine
        self._is_settled = not is_acknowledged
        if self._connection.is_connected:
            self._carry_out(machine.connected(self._loop.time()))
        early, self._early = self._early, []
        for frame in early:
            self._receive(*frame)

    def _receive(self, subject: bytes, reply: bytes, header: bytes, payload: bytes) -> None:
        if self._machine is None:
            self._early.append((subject, reply, header, payload))
        elif header.startswith(_STATUS_FOLLOWS):
            self._take_status(self._machine, reply, header)
        else:
            message = Message(self._connection, subject, reply, header, payload, self._is_settled)
            self._take(self._machine, message)

    def _take(self, machine: Push, message: Message) -> None:
        self._buffer.append(message)
        self._is_empty.clear()
        self._waiting.wake(1)
        self._buffered_bytes += message.size_bytes
        if self._buffered_bytes > self._buffered_bytes_max and not self._is_paused:
            self._pause()
        sequence = None
        if message.raw_reply.startswith(ACK_PREFIX):
            try:
                sequence = parse_token(message.raw_reply).consumer_sequence
            except ProtocolError as problem:
                self._on_report(problem)
        if actions := machine.message(sequence, self._loop.time()):
            self._carry_out(actions)

    def _take_status(self, machine: Push, reply: bytes, header: bytes) -> None:
        try:
            headers = Headers.parse(header)
        except ProtocolError as problem:
            self._on_report(problem)
            return
        self._carry_out(machine.handed(self._handed))
        code, now = headers.status or 0, self._loop.time()
        self._carry_out(machine.status(code, headers.description, headers, reply=reply.decode(), now=now))

    # What the machine wants

    def _carry_out(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Publish(subject):
                    self._publish(subject)
                case Report(error):
                    self._on_report(error)
                case Raise(error):
                    self._raise(error)
                case WakeAt(time):
                    self._timer.set(time)
                case Verify():
                    self._look_for_consumer()
                case End(error):
                    self._ended(error)

    def _publish(self, subject: str) -> None:
        try:
            self._connection.publish(subject)
        except UsageError as problem:
            self._on_report(ProtocolError(f"The server wants an answer on no subject: {problem}"))
        except LinkError as problem:
            self._on_report(problem)

    def _tick(self) -> None:
        if self._machine is not None:
            now = self._loop.time()
            self._carry_out(self._machine.connected(now) if self._is_paused else self._machine.tick(now))

    def _pause(self) -> None:
        self._is_paused = True
        if self._subscription is not None:
            self._subscription.pause()

    def _resume(self) -> None:
        self._is_paused = False
        if self._subscription is not None:
            self._subscription.resume()
        if self._machine is not None and self._connection.is_connected:
            self._carry_out(self._machine.connected(self._loop.time()))
