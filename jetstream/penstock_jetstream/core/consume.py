"""A consume: keeps a buffer filled by pull requests, for as long as its user wants messages.

Knows when to pull and for how much, what each status means, when silence is too long, and how to stop. Does not know
sockets, clocks, nor the messages themselves: its shell tells how many came and how large they were, one by one or
thousands at once, and carries out the actions. Messages need no permission: the shell hands out what comes for as long
as it has not been told to `End`.

    pending  =  buffered (came, not processed yet)  +  in flight (asked for, not come yet)
    refill   :  pending ≤ threshold  →  ask for maximum - pending, so that pending never exceeds the maximum (C-35)
    room     :  how many more messages the user can take, if it states that: a request asks for at most
                room - buffered - in flight

What ended a request without use is followed by a new one at once where that promises something, and otherwise after
1, 2, 4, 8, 10, 10 … s (C-41), but not for longer than two heartbeats: who wants to know soon of what is lost also wants
to go on soon when a leader is elected. Even "at once" is so only the first time: a request that replaced a failed one,
and failed in the same way without a message or heartbeat, has to wait as well. So no server, whatever it answers, is
asked in a hot loop.
"""

from dataclasses import dataclass
from enum import Enum, auto

from penstock_jetstream.core.actions import (
    Action,
    End,
    Pinned,
    Pull,
    Report,
    Resubscribe,
    Unpinned,
    Unsubscribe,
    Verify,
    WakeAt,
)
from penstock_jetstream.core.in_flight import InFlight
from penstock_jetstream.core.options import ConsumeOptions
from penstock_jetstream.core.pulls import UNLIMITED_BATCH, PullRequest
from penstock_jetstream.core.refusals import refusal
from penstock_jetstream.core.statuses import Kind, Status
from penstock_jetstream.core.timing import ANSWER_GRACE_SECONDS, HEARTBEATS_MISSED, OVERSLEPT_SECONDS
from penstock_jetstream.errors import (
    ConsumeError,
    ConsumerDeletedError,
    HeartbeatMissedError,
    PinTimeoutError,
    UsageError,
)

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 10.0
DOUBLINGS_MAX = 4
OPEN_REQUESTS_MAX = 3
"""Requests count against the consumer's max_waiting, which all its clients share. A server serves two in turn, so they
end together; with a third it need not wait for us then."""


class State(Enum):
    """Where a consume stands."""

    NEW = auto()
    PULLING = auto()
    AWAY = auto()
    VERIFYING = auto()
    DRAINING = auto()
    EMPTYING = auto()
    ENDED = auto()


class Signal(Enum):
    """What moves it."""

    START = auto()
    START_AWAY = auto()
    LINK_LOST = auto()
    LINK_BACK = auto()
    LINK_BACK_UNSURE = auto()
    VERIFIED = auto()
    DRAIN = auto()
    UNSUBSCRIBED = auto()
    END = auto()


TRANSITIONS: dict[State, dict[Signal, State]] = {
    State.NEW: {
        Signal.START: State.PULLING,
        Signal.START_AWAY: State.AWAY,
        Signal.DRAIN: State.EMPTYING,
        Signal.END: State.ENDED,
    },
    State.PULLING: {Signal.LINK_LOST: State.AWAY, Signal.DRAIN: State.DRAINING, Signal.END: State.ENDED},
    State.AWAY: {
        Signal.LINK_BACK: State.PULLING,
        Signal.LINK_BACK_UNSURE: State.VERIFYING,
        Signal.DRAIN: State.EMPTYING,
        Signal.END: State.ENDED,
    },
    State.VERIFYING: {
        Signal.VERIFIED: State.PULLING,
        Signal.LINK_LOST: State.AWAY,
        Signal.DRAIN: State.DRAINING,
        Signal.END: State.ENDED,
    },
    State.DRAINING: {
        Signal.UNSUBSCRIBED: State.EMPTYING,
        Signal.LINK_LOST: State.EMPTYING,
        Signal.END: State.ENDED,
    },
    State.EMPTYING: {Signal.END: State.ENDED},
    State.ENDED: {},
}
"""A signal that a state does not list means nothing there."""


class Then(Enum):
    """What follows once a status has been booked."""

    GO_ON = auto()
    PULL = auto()
    WAIT = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Reaction:
    """What a consume makes of a status: what follows, and whether the user hears of it."""

    then: Then
    reported: bool = False


REACTIONS: dict[Kind, Reaction] = {
    Kind.HEARTBEAT: Reaction(Then.GO_ON),
    Kind.FLOW_CONTROL: Reaction(Then.GO_ON),
    Kind.COMPLETED: Reaction(Then.GO_ON),
    Kind.EXPIRED: Reaction(Then.GO_ON),
    Kind.NO_MESSAGES: Reaction(Then.PULL),
    Kind.OTHERS_WAIT: Reaction(Then.PULL),
    Kind.INTEREST_GONE: Reaction(Then.PULL),
    Kind.TOO_LARGE: Reaction(Then.PULL),
    Kind.LEADER_MOVED: Reaction(Then.PULL, reported=True),
    Kind.WRONG_PIN: Reaction(Then.PULL),
    Kind.NO_PINS: Reaction(Then.PULL),
    Kind.SERVER_STOPPING: Reaction(Then.WAIT, reported=True),
    Kind.LIMIT_EXCEEDED: Reaction(Then.WAIT, reported=True),
    Kind.QUEUE_FULL: Reaction(Then.WAIT, reported=True),
    Kind.UNAVAILABLE: Reaction(Then.WAIT, reported=True),
    Kind.UNKNOWN: Reaction(Then.WAIT, reported=True),
    Kind.DELETED: Reaction(Then.END, reported=True),
    Kind.PUSH_BASED: Reaction(Then.END, reported=True),
    Kind.BAD_REQUEST: Reaction(Then.END, reported=True),
    Kind.API_LEVEL: Reaction(Then.END, reported=True),
}


class Consume:
    """The machine. Every method that takes `now` (monotonic seconds) returns what is to be done, in order."""

    def __init__(self, options: ConsumeOptions, *, stream: str, consumer: str, pin_id: str = "") -> None:
        self.options = options
        self.stream, self.consumer = stream, consumer
        self.pin_id = pin_id
        self.takes_pins = options.may_be_pinned
        """Whether a pin in a message may be the server's: where no one is pinned, it was a publisher who wrote it."""
        self.state = State.NEW
        self.buffered_messages = 0
        self.buffered_bytes = 0
        self.requests = 0
        """How many there were so far; also the number of the newest."""
        self._in_flight = InFlight()
        self._room: int | None = None
        """The room that the user stated last, minus the messages processed since then; None: no limit."""
        self._by_bytes, self._maximum, self._threshold = options.by_bytes, options.maximum, options.threshold
        self._alarm_seconds = HEARTBEATS_MISSED * options.heartbeat_seconds
        self._heard_at = 0.0
        self._wake_at: float | None = None
        self._wait_until: float | None = None
        self._waits_for_life = False
        """It waits because of silence alone, so that anything that is heard ends it."""
        self._failures = 0
        """Requests in a row that failed, each made in place of the one before."""
        self._failed_by: set[Kind | None] = set()
        """What they failed by; None is silence."""
        self._failure_seen_at_request = 0
        self._needs_whole_buffer = False
        """The next message did not fit what was free of the buffer, but may fit all of it."""
        self._has_standbys = False
        """One request took the pin. Others were made without it, and would stand by for as long as we hold it."""
        self._former_pin_at_request = 0
        """The requests up to this one may have a former pin: what is said of theirs says nothing of ours."""

    @property
    def in_flight(self) -> int:
        """Return how much is asked for and has not come: bytes where max_bytes is the limit, otherwise messages."""
        return self._in_flight.amount

    @property
    def written_off(self) -> int:
        """Return the newest request of which nothing more is expected, nor of those before it."""
        return self._in_flight.written_off

    @property
    def pending(self) -> int:
        buffered = self.buffered_bytes if self._by_bytes else self.buffered_messages
        return buffered + self._in_flight.amount

    def start(self, now: float, *, connected: bool = True) -> list[Action]:
        if not self._move(Signal.START if connected else Signal.START_AWAY):
            return []
        self._heard_at = now
        timeout = self.options.priority_timeout_seconds
        if timeout is not None and self.options.expires_seconds > timeout / 2:
            error = PinTimeoutError(
                stream=self.stream,
                consumer=self.consumer,
                expires_seconds=self.options.expires_seconds,
                timeout_seconds=timeout,
            )
            return self._onwards(now, [Report(error)])
        return self._onwards(now, [])

    # What comes from the server

    def arrived(self, messages: int, size_bytes: int, now: float) -> list[Action]:
        """Book messages that came: one, or many at once. `size_bytes` is theirs together (sizes.py)."""
        if self.state is State.ENDED:
            return []
        self._hear(now)
        self._failures = 0
        self.buffered_messages += messages
        self.buffered_bytes += size_bytes
        self._in_flight.arrived(messages, size_bytes if self._by_bytes else messages)
        if self._has_standbys:
            return self._replace_standbys(now)
        return self._onwards(now, []) if self.pending <= self._threshold else []

    def arrived_late(self, messages: int, size_bytes: int, now: float) -> list[Action]:
        """Book messages of a former inbox: nothing was expected of it any more, but they do fill the buffer."""
        if self.state is State.ENDED:
            return []
        self._hear(now)
        self.buffered_messages += messages
        self.buffered_bytes += size_bytes
        return self._onwards(now, [])

    def status(self, status: Status, now: float) -> list[Action]:
        if self.state in {State.NEW, State.ENDED}:
            return []
        self._hear(now)
        reaction = REACTIONS[status.kind]
        if reaction.then is Then.END:
            return self._end(self._refusal(status))
        actions = self._lose_pin(status)
        if actions:
            reaction = Reaction(Then.GO_ON)  # the next request has no pin: it is another, and has not failed yet
        if status.kind in {Kind.HEARTBEAT, Kind.FLOW_CONTROL}:
            if status.request > self._failure_seen_at_request:
                self._failures = 0
        elif not self._in_flight.is_written_off(status.request):
            actions += self._request_ended(status, reaction, now)
        return self._onwards(now, actions)

    def pinned(self, pin_id: str, now: float) -> list[Action]:
        """Take the id that a message carried, before that is booked, if it is another than `pin_id`."""
        del now
        if pin_id == self.pin_id or not self.takes_pins or self.state is State.ENDED:
            return []
        if self.pin_id:
            self._former_pin_at_request = self.requests
        self.pin_id = pin_id
        self._has_standbys = len(self._in_flight) > 1
        return [Pinned(pin_id)]

    # What comes from the user

    def processed(self, messages: int, size_bytes: int, now: float) -> list[Action]:
        """Make room: the user is done with so many messages."""
        if self.state is State.ENDED:
            return []
        if messages > self.buffered_messages or size_bytes > self.buffered_bytes:
            raise UsageError(f"{messages} messages of {size_bytes} bytes cannot have been processed: fewer came.")
        self.buffered_messages -= messages
        self.buffered_bytes -= size_bytes
        if self._room is not None:
            self._room = max(0, self._room - messages)
        if self.state is State.EMPTYING:
            return self._end_when_empty()
        return self._onwards(now, []) if self.pending <= self._threshold else []

    def allow(self, messages: int | None, now: float) -> list[Action]:
        """Set the room: how many messages the user can take in addition to those processed so far; None: no limit.

        This replaces the room that was stated before. Each message processed afterwards uses up one place until the
        user states the room again: only the user knows when a place is free. Messages that were already asked for may
        still come. With a limit in bytes only one request is open at a time while there is a room, because it is not
        known how many messages each of several requests will still bring.
        """
        self._room = messages
        return self._onwards(now, [])

    def stop(self, now: float) -> list[Action]:
        """End now; what is buffered is the shell's to discard (C-04)."""
        del now
        return self._end(None)

    def drain(self, now: float) -> list[Action]:
        """Ask for no more, hand out what is buffered or on its way, then end (C-04)."""
        del now
        if not self._move(Signal.DRAIN):
            return []
        return [Unsubscribe(), *self._end_when_empty()]

    def unsubscribed(self, now: float) -> list[Action]:
        """Nothing will come any more."""
        del now
        return self._end_when_empty() if self._move(Signal.UNSUBSCRIBED) else []

    # What comes from the link and the clock

    def disconnected(self, now: float) -> list[Action]:
        """Expect nothing of the requests that were open, and make none (C-53)."""
        del now
        if not self._move(Signal.LINK_LOST):
            return []
        self._in_flight.write_off(self.requests)
        self._wait_until = self._wake_at = None
        self._waits_for_life = False
        self._failures = 0
        self._needs_whole_buffer = False
        return [Resubscribe(0), *self._end_when_empty()] if self.state is State.AWAY else self._end_when_empty()

    def reconnected(self, now: float) -> list[Action]:
        unsure = self.options.verify_on_reconnect
        if not self._move(Signal.LINK_BACK_UNSURE if unsure else Signal.LINK_BACK):
            return []
        self._heard_at = now
        return [Verify()] if unsure else self._onwards(now, [])

    def verified(self, now: float, *, exists: bool) -> list[Action]:
        """Take the answer to `Verify`; a shell that could not find out says that it exists."""
        if self.state is not State.VERIFYING:
            return []
        if not exists:
            return self._end(ConsumerDeletedError(stream=self.stream, consumer=self.consumer))
        self._move(Signal.VERIFIED)
        self._heard_at = now
        return self._onwards(now, [])

    def tick(self, now: float) -> list[Action]:
        wished, self._wake_at = self._wake_at, None
        if self.state is not State.PULLING:
            return []
        if wished is not None and now - wished > OVERSLEPT_SECONDS:
            self._heard_at = now
            self._in_flight.postpone(now - wished)
        actions = self._look_for_silence(now)
        if self._in_flight.expire(now):
            self._in_flight.write_off(self.requests)
            actions.append(Resubscribe(self.options.expires_seconds))
        return self._onwards(now, actions)

    # Decisions

    def _move(self, signal: Signal) -> bool:
        state = TRANSITIONS[self.state].get(signal)
        self.state = state or self.state
        return state is not None

    def _replace_standbys(self, now: float) -> list[Action]:
        self._has_standbys = False
        former_seconds = self._in_flight.last_deadline - now
        self._in_flight.write_off(self.requests)
        return self._onwards(now, [Resubscribe(max(0, former_seconds))])

    def _hear(self, now: float) -> None:
        self._heard_at = now
        if self._waits_for_life:
            self._waits_for_life, self._wait_until = False, None

    def _onwards(self, now: float, actions: list[Action]) -> list[Action]:
        """Pull if it is time to, and ask to be woken if it is sooner than last asked for."""
        if self.state is not State.PULLING:
            return actions
        if self._may_pull(now):
            actions.append(self._pull(now))
        due = self._due()
        if due is not None and (self._wake_at is None or due < self._wake_at):
            self._wake_at = due
            actions.append(WakeAt(due))
        return actions

    def _may_pull(self, now: float) -> bool:
        if self._wait_until is not None and now >= self._wait_until:
            self._waits_for_life, self._wait_until = False, None
        pending = self.pending
        return (
            pending <= self._threshold
            and pending < self._maximum
            and self._wait_until is None
            and len(self._in_flight) < OPEN_REQUESTS_MAX
            and not (self._needs_whole_buffer and pending)
            and self._messages_left > 0
        )

    @property
    def _messages_left(self) -> int:
        """Return how many messages the next request may ask for."""
        if self._room is None:
            return UNLIMITED_BATCH
        left = min(self._room - self.buffered_messages, UNLIMITED_BATCH)
        if self._by_bytes:
            return 0 if self._in_flight else left
        return left - self._in_flight.amount

    def _pull(self, now: float) -> Pull:
        """Make a request for all that there is room for. This is the only place that does."""
        amount = self._maximum - self.pending
        if not self._by_bytes:
            amount = min(amount, self._messages_left)
        options = self.options
        request = PullRequest(
            batch=self._messages_left if self._by_bytes else amount,
            max_bytes=amount if self._by_bytes else 0,
            expires_seconds=options.expires_seconds,
            idle_heartbeat_seconds=options.heartbeat_seconds,
            group_fields=options.group_fields(),
            pin_id=self.pin_id,
        )
        if not self._in_flight:
            self._heard_at = now  # no request, no heartbeat: the silence before it was to be expected
        self._needs_whole_buffer = False
        self.requests += 1
        deadline = now + options.expires_seconds + ANSWER_GRACE_SECONDS
        self._in_flight.add(self.requests, amount, now=now, deadline=deadline)
        return Pull(self.requests, request.body())

    def _due(self) -> float | None:
        deadline = self._in_flight.next_deadline
        times = [] if deadline is None else [deadline, self._heard_at + self._alarm_seconds]
        if self._wait_until is not None:
            times.append(self._wait_until)
        return min(times, default=None)

    def _request_ended(self, status: Status, reaction: Reaction, now: float) -> list[Action]:
        """Book what a request gave back, and decide whether the next one has to wait."""
        number = status.request or self._in_flight.oldest
        request = self._in_flight.find(number)
        left = status.left_bytes if self._by_bytes else status.left_messages
        if status.kind is Kind.LEADER_MOVED:
            self._in_flight.write_off(number)
        else:
            self._in_flight.close(number, left, now)
        then, reported = reaction.then, reaction.reported
        if status.kind is Kind.TOO_LARGE and request is not None and left is not None:
            brought_nothing = left >= request.asked
            is_hopeless = brought_nothing and request.asked >= self._maximum
            self._needs_whole_buffer = brought_nothing and not is_hopeless
            then, reported = (Then.WAIT, True) if is_hopeless else (Then.GO_ON, False)
        elif status.kind is Kind.EXPIRED and request is not None:
            lasted_seconds = now - request.sent_at
            then = Then.GO_ON if lasted_seconds >= self.options.expires_seconds / 2 else Then.PULL
        elif status.kind is Kind.COMPLETED and request is not None and left is not None and left >= request.asked:
            then = Then.PULL  # servers say this after messages: without one, the next request may end the same way
        if then is not Then.GO_ON:
            self._count_failure(number, status.kind, now, at_once=then is Then.PULL)
        return [Report(self._refusal(status))] if reported else []

    def _count_failure(self, number: int, kind: Kind | None, now: float, *, at_once: bool) -> None:
        """Let the next request wait, longer with each that fails. Those that were open together fail but once."""
        anew = number > self._failure_seen_at_request
        if anew:
            if not self._failures:
                self._failed_by.clear()
            self._failures += 1
            self._failure_seen_at_request = self.requests
        if not at_once or (anew and kind in self._failed_by):
            doublings = min(max(self._failures - 1 - at_once, 0), DOUBLINGS_MAX)
            wait_seconds = min(FIRST_WAIT_SECONDS * 2**doublings, LONGEST_WAIT_SECONDS, self._alarm_seconds)
            self._waits_for_life = kind is None and (self._waits_for_life or self._wait_until is None)
            self._wait_until = max(self._wait_until or 0, now + wait_seconds)
        self._failed_by.add(kind)

    def _lose_pin(self, status: Status) -> list[Action]:
        """Forget the id, unless the request that is refused had a former one (G-09).

        A request that was made without any takes the pin with its first message, and so is refused for it, too. Where
        no one is ever pinned (G-17), all that look like pins are forgotten, and those to come.
        """
        if status.kind is Kind.NO_PINS:
            self.takes_pins = False
        elif status.kind is not Kind.WRONG_PIN or 0 < status.request <= self._former_pin_at_request:
            return []
        if not self.pin_id:
            return []
        self.pin_id = ""
        self._former_pin_at_request = self.requests
        return [Unpinned()]

    def _look_for_silence(self, now: float) -> list[Action]:
        """Report missed heartbeats, and expect nothing more of the requests that should have brought some (C-51)."""
        if not self._in_flight or now < self._heard_at + self._alarm_seconds:
            return []
        silent_seconds = now - self._heard_at
        former_seconds = self._in_flight.last_deadline - now
        self._in_flight.write_off(self.requests)
        self._count_failure(self.requests, None, now, at_once=True)
        self._heard_at = now
        error = HeartbeatMissedError(
            stream=self.stream, consumer=self.consumer, silent_seconds=round(silent_seconds, 1)
        )
        return [Report(error), Resubscribe(former_seconds)]

    def _end_when_empty(self) -> list[Action]:
        return self._end(None) if self.state is State.EMPTYING and not self.buffered_messages else []

    def _end(self, error: ConsumeError | None) -> list[Action]:
        self._in_flight.write_off(self.requests)
        return [End(error)] if self._move(Signal.END) else []

    def _refusal(self, status: Status) -> ConsumeError:
        return refusal(status, stream=self.stream, consumer=self.consumer, max_bytes=self._maximum)
