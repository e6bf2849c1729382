"""A fetch: one answer of the consumer, of so many messages or bytes, within a time. `next` is a fetch of one message.

Knows what to ask, when the answer is complete, and what each status makes of it. Does not know sockets, clocks, nor the
messages themselves. Its shell hands the user whatever came before `End`, also where an error was reported.

    Wait.BATCH     one request, kept by the server until it is complete or expires                              (ADR-37)
    Wait.FIRST     what is there now; if that is nothing, a second request, answered by the first messages     (ADR-13)
    Wait.NOTHING   what is there now

An error ends the fetch as an error only if nothing came; otherwise the messages matter more, and it is reported.
Expiry is no error: there were no messages.
"""

from enum import Enum, auto

from penstock_jetstream.core.actions import (
    Action,
    End,
    Pinned,
    Pull,
    Report,
    Resubscribe,
    Unpinned,
    UnsubscribeAfter,
    WakeAt,
)
from penstock_jetstream.core.options import FetchOptions, Wait
from penstock_jetstream.core.pulls import PullRequest
from penstock_jetstream.core.refusals import refusal
from penstock_jetstream.core.statuses import Kind, Status
from penstock_jetstream.core.timing import (
    ANSWER_GRACE_SECONDS,
    HEARTBEATS_MISSED,
    OVERSLEPT_SECONDS,
    STRAGGLERS_SECONDS,
)
from penstock_jetstream.errors import ConsumeError, HeartbeatMissedError, PullUnansweredError, PullWithoutLinkError

NO_WAIT_ANSWER_SECONDS = 5.0
"""A request that must not wait is answered at once; after this time it was lost."""
LONG_REQUEST_MARGIN_SECONDS = 0.1
"""The second step's request expires this long before the client's own timeout (P-10)."""

ENDS_QUIETLY = {Kind.EXPIRED, Kind.NO_MESSAGES, Kind.OTHERS_WAIT, Kind.INTEREST_GONE, Kind.COMPLETED}
"""What says that there is no more for this request, which is no error."""


class Step(Enum):
    """Which request is out."""

    NEW = auto()
    AWAY = auto()
    TAKE = auto()
    """What is there now."""
    TAKE_FIRST = auto()
    """The first messages, once there are any."""
    FILL = auto()
    """All that was asked for."""
    STRAGGLERS = auto()
    """None any more: the status came before the last messages."""
    ENDED = auto()


class Fetch:
    """The machine. Every method that takes `now` (monotonic seconds) returns what is to be done, in order."""

    def __init__(self, options: FetchOptions, *, stream: str, consumer: str, pin_id: str = "") -> None:
        self.options = options
        self.stream, self.consumer = stream, consumer
        self.pin_id = pin_id
        self.takes_pins = options.may_be_pinned
        """Whether a pin in a message may be the server's: where no one is pinned, it was a publisher who wrote it."""
        self.step = Step.NEW
        self.messages = 0
        self.size_bytes = 0
        self.requests = 0
        self._statuses = 0
        self._unsubscribe_after = 0
        self._heard_at = 0.0
        self._expires_at = 0.0
        """When the server shall let go."""
        self._deadline = 0.0
        """When we do; later (C-02)."""
        self._asked_in_all = 0
        """How many messages there will be once the request is complete."""
        self._due_messages = 0
        self._outcome: ConsumeError | None = None
        """What it ends with, when the last messages have come."""
        self._wake_at: float | None = None

    def start(self, now: float, *, connected: bool = True) -> list[Action]:
        if self.step is not Step.NEW:
            return []
        self._set_times(now)
        if connected:
            return self._ask(self._first_step, now)
        self.step = Step.AWAY
        return self._onwards([])

    def arrived(self, messages: int, size_bytes: int, now: float) -> list[Action]:
        if self.step is Step.ENDED:
            return []
        self._heard_at = now
        self.messages += messages
        self.size_bytes += size_bytes
        if self.step is Step.STRAGGLERS:
            return self._end(self._outcome) if self.messages >= self._due_messages else []
        complete = self._messages_left <= 0 or (self.options.max_bytes is not None and self._bytes_left == 0)
        return self._end(None) if complete else []

    def status(self, status: Status, now: float) -> list[Action]:
        stale = status.request not in {0, self.requests}
        if self.step in {Step.NEW, Step.AWAY, Step.STRAGGLERS, Step.ENDED} or stale:
            return []
        self._heard_at = now
        self._statuses += 1
        if status.kind in {Kind.HEARTBEAT, Kind.FLOW_CONTROL}:
            return []
        if status.kind in {Kind.WRONG_PIN, Kind.NO_PINS} and self.pin_id:
            self.takes_pins = self.takes_pins and status.kind is Kind.WRONG_PIN
            self.pin_id = ""
            return [Unpinned(), *self._ask(self.step, now)]
        if status.kind in ENDS_QUIETLY and (following := self._following_step(status.kind)) is not None:
            return self._ask(following, now)
        return self._end_with(status, now)

    def pinned(self, pin_id: str, now: float) -> list[Action]:
        """Take the id that a message carried."""
        del now
        if pin_id == self.pin_id or not self.takes_pins or self.step is Step.ENDED:
            return []
        self.pin_id = pin_id
        return [Pinned(pin_id)]

    def stop(self, now: float) -> list[Action]:
        """Give up: the subscription goes, so that the server sends nothing to nobody (P-13)."""
        del now
        return self._end(None)

    def disconnected(self, now: float) -> list[Action]:
        """End with what came; if nothing did, wait for the link as long as there is time."""
        del now
        if self.step in {Step.NEW, Step.ENDED}:
            return []
        if self.messages or self.step is Step.STRAGGLERS:
            return self._end(self._outcome)
        self.step = Step.AWAY
        self._statuses = self._unsubscribe_after = 0
        # The server may not have noticed yet: what it still sends for this request is not for the next.
        return self._onwards([Resubscribe(0)])

    def reconnected(self, now: float) -> list[Action]:
        if self.step is not Step.AWAY:
            return []
        return self._ask(self._first_step, now)

    def tick(self, now: float) -> list[Action]:
        wished, self._wake_at = self._wake_at, None
        if self.step in {Step.NEW, Step.ENDED}:
            return []
        if wished is not None and now - wished > OVERSLEPT_SECONDS:
            self._heard_at = now
            self._deadline = max(self._deadline, now + ANSWER_GRACE_SECONDS)
        if now >= self._deadline:
            return self._end(self._outcome if self.step is Step.STRAGGLERS else self._late())
        if self._alarm_at is not None and now >= self._alarm_at:
            silent_seconds = round(now - self._heard_at, 1)
            error = HeartbeatMissedError(stream=self.stream, consumer=self.consumer, silent_seconds=silent_seconds)
            return self._end(error)
        return self._onwards([])

    # Decisions

    @property
    def _first_step(self) -> Step:
        return Step.FILL if self.options.wait is Wait.BATCH else Step.TAKE

    @property
    def _messages_left(self) -> int:
        return self.options.batch - self.messages

    @property
    def _bytes_left(self) -> int:
        return max(0, (self.options.max_bytes or 0) - self.size_bytes)

    @property
    def _alarm_at(self) -> float | None:
        heartbeats = self.step in {Step.TAKE_FIRST, Step.FILL} and self.options.heartbeat_seconds > 0
        return self._heard_at + HEARTBEATS_MISSED * self.options.heartbeat_seconds if heartbeats else None

    def _set_times(self, now: float) -> None:
        self._heard_at = now
        whole = now + self.options.expires_seconds
        if self.options.wait is Wait.BATCH:
            self._expires_at, self._deadline = whole, whole + ANSWER_GRACE_SECONDS
        elif self.options.wait is Wait.FIRST:
            margin = min(LONG_REQUEST_MARGIN_SECONDS, self.options.expires_seconds / 2)
            self._expires_at, self._deadline = whole - margin, whole
        else:
            self._expires_at = self._deadline = now + NO_WAIT_ANSWER_SECONDS

    def _following_step(self, kind: Kind) -> Step | None:
        """Return the request that follows one that came to nothing, if one does (P-09)."""
        if self.options.wait is not Wait.FIRST or self.messages:
            return None
        if self.step is Step.TAKE:
            return Step.TAKE_FIRST
        # What there is was promised to others, so the server will not even let us wait for the first: queue up.
        return Step.FILL if self.step is Step.TAKE_FIRST and kind is Kind.OTHERS_WAIT else None

    def _ask(self, step: Step, now: float) -> list[Action]:
        """Make a request for what is left, of messages and of time. This is the only place that does."""
        waits = step is not Step.TAKE
        left_seconds = self._expires_at - now
        if waits and left_seconds < FetchOptions.SHORTEST_SECONDS:
            return self._end(None)
        self.step = step
        self._heard_at = now
        heartbeat_seconds = self.options.heartbeat_seconds if waits else 0
        request = PullRequest(
            batch=self._messages_left,
            max_bytes=self._bytes_left,
            expires_seconds=left_seconds if waits else 0,
            idle_heartbeat_seconds=min(heartbeat_seconds, left_seconds / 2),
            no_wait=step is Step.TAKE or (step is Step.TAKE_FIRST and self._messages_left > 1),
            group_fields=self.options.group_fields(),
            pin_id=self.pin_id,
        )
        self.requests += 1
        self._asked_in_all = self.messages + request.batch
        return self._onwards([*self._bound_subscription(), Pull(self.requests, request.body())])

    def _end_with(self, status: Status, now: float) -> list[Action]:
        """End with what a status says, once all that the server has sent by then is here."""
        error = None if status.kind in ENDS_QUIETLY else self._refusal(status)
        left = self._asked_in_all if status.left_messages is None else status.left_messages
        self._due_messages = self._asked_in_all - left
        if self.messages >= self._due_messages:
            return self._end(error)
        self.step = Step.STRAGGLERS
        self._outcome = error
        self._deadline = min(self._deadline, now + STRAGGLERS_SECONDS)
        return self._onwards([])

    def _bound_subscription(self) -> list[Action]:
        """Let the server unsubscribe after the batch, and one status that may come before it (P-11).

        Heartbeats would count too, so there it is left to `End`; as it is where the batch is not what limits the fetch.
        """
        if self.options.wait is not Wait.FIRST or self.options.heartbeat_seconds or self.options.max_bytes:
            return []
        needed = self.messages + self._statuses + self._messages_left
        needed += 0 if self._statuses else 1
        if needed <= self._unsubscribe_after:
            return []
        self._unsubscribe_after = needed
        return [UnsubscribeAfter(needed)]

    def _onwards(self, actions: list[Action]) -> list[Action]:
        alarm_at = self._alarm_at
        due = self._deadline if alarm_at is None else min(self._deadline, alarm_at)
        if self._wake_at is None or due < self._wake_at:
            self._wake_at = due
            actions.append(WakeAt(due))
        return actions

    def _late(self) -> ConsumeError | None:
        """Return what it means that our own time is over before the server's answer came."""
        if self.step is Step.AWAY:
            return PullWithoutLinkError(stream=self.stream, consumer=self.consumer)
        if self.options.wait is Wait.FIRST:
            return None
        return PullUnansweredError(stream=self.stream, consumer=self.consumer)

    def _refusal(self, status: Status) -> ConsumeError:
        max_bytes = self.options.max_bytes or 0
        return refusal(status, stream=self.stream, consumer=self.consumer, max_bytes=max_bytes)

    def _end(self, error: ConsumeError | None) -> list[Action]:
        if self.step is Step.ENDED:
            return []
        self.step = Step.ENDED
        return [Report(error), End()] if error is not None and self.messages else [End(error)]
