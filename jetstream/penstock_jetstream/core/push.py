"""What a push subscription does besides handing over messages: it answers the server, and notices what is not well.

Knows heartbeats and their absence (S-24, S-25), gaps (S-26), flow control (S-27), stalls (S-30), and what each status
means. Does not know sockets, clocks or messages: it is told of each thing that comes, and of each message handed over.

Messages are counted as they come and as they are handed over. An answer to flow control is due at a count: when all
that came before the request has been handed over. Answered earlier, it would let the server send faster than we work.

     arrives       m1  m2  FC  m3
     handed over            m1      m2      m3
     answered                          FC
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from penstock_jetstream.core.actions import End, Report, Verify, WakeAt
from penstock_jetstream.errors import (
    ConsumeError,
    ConsumerDeletedError,
    GapError,
    HeartbeatMissedError,
    UnknownStatusError,
)

ALARM_FACTOR = 3
"""Of the heartbeat's interval, in which nothing came, until somebody is told."""
ANSWERED_MAX = 64
"""Flow control subjects remembered as answered. The server has one open at a time."""

CONTROL = 100
NO_MESSAGES, TIMEOUT, CONFLICT = 404, 408, 409
FLOW_CONTROL = "FlowControl Request"
LAST_CONSUMER_SEQUENCE = "Nats-Last-Consumer"
STALLED = "Nats-Consumer-Stalled"


@dataclass(frozen=True, slots=True)
class Publish:
    """Publish nothing, to this subject."""

    subject: str


@dataclass(frozen=True, slots=True)
class Raise:
    """Whoever waits for messages gets this error, after those that came before it."""

    error: ConsumeError


Action = Publish | Report | Raise | Verify | End | WakeAt


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """The consumer as far as it matters here."""

    stream: str
    consumer: str
    heartbeat_seconds: float = 0
    """0: the consumer has none, and silence means nothing."""
    alarm_factor: float = ALARM_FACTOR
    is_shared: bool = False
    """By a queue: each member sees only some of the sequence, so that gaps mean nothing."""
    is_new: bool = False
    """It was made for this subscription, so that its first delivery is number 1."""


class Push:
    """One push subscription, from when its consumer is known until nobody listens."""

    def __init__(self, pushed: Pushed) -> None:
        self._pushed = pushed
        self._alarm_seconds = pushed.heartbeat_seconds * pushed.alarm_factor
        self._heard_at = 0.0
        self._linked = False
        self._next_sequence = 1 if pushed.is_new else None
        """Of the consumer. None: the first thing that is heard tells."""
        self._arrived = 0
        self._handed = 0
        self._due: deque[tuple[int, str]] = deque()
        """How many must have been handed over, and the subject to be answered then."""
        self._answered: deque[str] = deque(maxlen=ANSWERED_MAX)

    @property
    def answers_at(self) -> int | None:
        """The count of messages handed over at which an answer is due: before it `handed` need not be called."""
        return self._due[0][0] if self._due else None

    def connected(self, now: float) -> list[Action]:
        """Begin to expect heartbeats: the subscription is there, or is there again."""
        self._linked = True
        self._heard_at = now
        return self._wake()

    def disconnected(self) -> list[Action]:
        """Expect nothing. What the server asked for is answered as before: the connection keeps it until it is back."""
        self._linked = False
        return []

    def message(self, sequence: int | None, now: float) -> list[Action]:
        """Take note of a message, and of its consumer sequence if it is one of the stream's."""
        self._heard_at = now
        self._arrived += 1
        if sequence is None or self._pushed.is_shared:
            return []
        return self._follow(sequence, then=sequence + 1)

    def handed(self, total: int) -> list[Action]:
        """Answer what is due, now that so many messages have been handed over in all."""
        self._handed = total
        answers: list[Action] = []
        while self._due and self._due[0][0] <= total:
            answers.append(self._answer(self._due.popleft()[1]))
        return answers

    def status(
        self, code: int, description: str, headers: Mapping[str, str], *, reply: str, now: float
    ) -> list[Action]:
        self._heard_at = now
        if code == CONTROL:
            return self._flow_control(reply) if reply else self._heartbeat(headers)
        if code in (NO_MESSAGES, TIMEOUT):
            return []
        name = {"stream": self._pushed.stream, "consumer": self._pushed.consumer}
        if code == CONFLICT and description.casefold() == "consumer deleted":
            return [End(ConsumerDeletedError(**name))]
        return [Raise(UnknownStatusError(code, description, **name))]

    def tick(self, now: float) -> list[Action]:
        """Sound the alarm if it is time. It sounds again each time the silence has lasted as long anew."""
        if not self._alarm_seconds or not self._linked or now < self._heard_at + self._alarm_seconds:
            return self._wake()
        self._heard_at = now
        missed = HeartbeatMissedError(
            stream=self._pushed.stream, consumer=self._pushed.consumer, silent_seconds=self._alarm_seconds
        )
        return [Report(missed), Verify(), *self._wake()]

    def verified(self, *, exists: bool) -> list[Action]:
        """Take the answer to `Verify`: a deleted push consumer tells nobody. Who could not ask says that it exists."""
        if exists:
            return []
        return [End(ConsumerDeletedError(stream=self._pushed.stream, consumer=self._pushed.consumer))]

    def _wake(self) -> list[Action]:
        if not self._alarm_seconds or not self._linked:
            return []
        return [WakeAt(self._heard_at + self._alarm_seconds)]

    def _heartbeat(self, headers: Mapping[str, str]) -> list[Action]:
        last, stalled = headers.get(LAST_CONSUMER_SEQUENCE, ""), headers.get(STALLED)
        actions: list[Action] = []
        if last.isdigit() and not self._pushed.is_shared:
            actions += self._follow(int(last) + 1, then=int(last) + 1)
        return [*actions, *self._flow_control(stalled)] if stalled else actions

    def _follow(self, sequence: int, *, then: int) -> list[Action]:
        """Tell if the consumer's next delivery has not the number that was expected, and believe it from now on."""
        expected, self._next_sequence = self._next_sequence or sequence, then
        if sequence == expected:
            return []
        stream, consumer = self._pushed.stream, self._pushed.consumer
        return [Report(GapError(stream=stream, consumer=consumer, expected=expected, got=sequence))]

    def _flow_control(self, subject: str) -> list[Action]:
        """Answer it when all that came before has been handed over, which may be now; each subject once."""
        if subject in self._answered or any(subject == due for _, due in self._due):
            return []
        if self._handed >= self._arrived:
            return [self._answer(subject)]
        self._due.append((self._arrived, subject))
        return []

    def _answer(self, subject: str) -> Publish:
        self._answered.append(subject)
        return Publish(subject)
