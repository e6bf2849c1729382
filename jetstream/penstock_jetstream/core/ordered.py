"""An ordered consumer: all messages of a stream, in order, each once, whatever gets lost on the way (ADR-17).

It is a row of short-lived consumers, one at a time. When anything is not as it should be, the one at hand is dropped
with all that came from it, and the next begins right after the last message that was handed over.

              ┌─────────────────────────────── tick ──────────────────────────────┐
              ▼                                                                   │
     start ─▶ CREATING ─▶ LOOKING ─▶ READING ── gap, silence, deletion, … ──▶ WAITING
              │  ▲    (is the stream                                              ▲
              │  └────── another now?)                                            │
              └─────────── refused (the first time this is the end) ──────────────┘

Knows what is next in the order, when a consumer must be replaced, from where its successor starts, and how long to wait
before. Does not know pulls (core/consume.py), sockets, clocks or messages. What belongs to a consumer that was dropped
meanwhile is told apart by its number.

Between a loss and the next attempt no time passes if the consumer had been of use; otherwise 1, 2, 4, 8, 10, 10 … s.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from penstock_jetstream.core.actions import End, Report, WakeAt
from penstock_jetstream.core.ordered_options import OrderedOptions, Start, consumer_config, first_start
from penstock_jetstream.core.times import rfc3339_in_full
from penstock_jetstream.errors import (
    AuthenticationError,
    ClosedError,
    GapError,
    JetStreamError,
    LinkError,
    StreamRestartedError,
)

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 10.0
DOUBLINGS_MAX = 5
"""More would be waited for no longer."""

BY_SEQUENCE = "by_start_sequence"


class State(Enum):
    """Where it stands."""

    NEW = auto()
    CREATING = auto()
    LOOKING = auto()
    READING = auto()
    WAITING = auto()
    ENDED = auto()


@dataclass(frozen=True, slots=True)
class LookAtStream:
    """Ask for the info of the stream, and call `stream_seen` or `stream_not_seen`. Other actions do not wait for it."""

    number: int


@dataclass(frozen=True, slots=True)
class Create:
    """Create the consumer, and call `created` or `refused`."""

    number: int
    config: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """Pull from the consumer."""

    number: int
    name: str


@dataclass(frozen=True, slots=True)
class Drop:
    """Stop pulling, throw away what is not handed over, and delete the consumer, whether or not that works."""

    name: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What the stream says of itself."""

    created: str
    first_sequence: int
    first_timestamp_ns: int
    last_sequence: int


Action = LookAtStream | Create | Read | Drop | Report | WakeAt | End


class Ordered:
    """The machine."""

    def __init__(self, options: OrderedOptions) -> None:
        self._options = options
        self.state = State.NEW
        self.number = 0
        """Of the consumer at hand, or the one about to be made."""
        self._start = first_start(options)
        self._passed_sequence = 0
        """Of the stream, which therefore had it: nothing up to it is wanted any more."""
        self._handed_timestamp_ns = 0
        self._next_delivery = 1
        self._taken_sequence = 0
        self._stream_created = ""
        self._failures = 0
        """Waits in a row, since a consumer was of use."""
        self._replaced_at_once = False
        self._attempted_at = 0.0
        self._has_read = False
        self._reading_since = 0.0
        self._linked = True

    @property
    def name(self) -> str:
        return f"{self._options.name_prefix}_{self.number}"

    def start(self) -> list[Action]:
        """Make the first consumer. Which stream it is of is asked meanwhile, to be compared with later."""
        self.number = 1
        return [LookAtStream(self.number), *self._create()]

    # What comes of what was asked for

    def created(self, number: int, delivered_stream_sequence: int | None, now: float) -> list[Action]:
        """Read it, if it is a successor's turn: of the stream that we know. Only now is it sure that it is of the same.

        Where it starts is known from now on: what lies before counts as delivered.
        """
        if self.state is not State.CREATING or number != self.number:
            return []
        self._next_delivery = 1
        if delivered_stream_sequence is not None and self._start.policy not in {"last_per_subject", BY_SEQUENCE}:
            self._passed_sequence = delivered_stream_sequence
            self._start = Start(BY_SEQUENCE, delivered_stream_sequence + 1)
        self._taken_sequence = self._passed_sequence
        if number == 1:
            return self._read(now)
        self.state = State.LOOKING
        return [LookAtStream(number)]

    def stream_seen(self, number: int, seen: Seen, now: float) -> list[Action]:
        if self.state is not State.LOOKING or number != self.number:
            self._stream_created = self._stream_created or seen.created
            return []
        known, self._stream_created = self._stream_created or seen.created, seen.created
        if known == seen.created and self._has_what_was_passed(seen):
            return self._read(now)
        changed = Report(StreamRestartedError(self._options.stream, is_other=known != seen.created))
        drop = Drop(self.name)
        self._start = self._start_in_changed_stream()
        self._passed_sequence = 0
        return [changed, drop, *self._next(now)]

    def stream_not_seen(self, number: int, now: float) -> list[Action]:
        """Go on without: who may consume may not be allowed to ask."""
        return self._read(now) if self.state is State.LOOKING and number == self.number else []

    def refused(self, number: int, error: JetStreamError, now: float) -> list[Action]:
        """Try again; but if it never worked, what was asked for is wrong, and the caller is there to hear it."""
        if self.state is not State.CREATING or number != self.number:
            return []
        if not self._has_read and not _is_of_the_link(error):
            self.state = State.ENDED
            return [End(error)]
        return [Report(error), *self._wait(now)]

    # What comes from the consumer

    def is_next(self, number: int, delivery: int, stream_sequence: int) -> bool:
        """Take a message if it is the next one; otherwise it is `out_of_order`."""
        if delivery != self._next_delivery or number != self.number or self.state is not State.READING:
            return False
        if stream_sequence <= self._taken_sequence:
            return False
        self._next_delivery += 1
        self._taken_sequence = stream_sequence
        return True

    def out_of_order(self, number: int, delivery: int, now: float) -> list[Action]:
        return self.troubled(number, self._gap(delivery), now)

    def heartbeat(self, number: int, last_delivery: int, now: float) -> list[Action]:
        """Notice that the last messages were lost, or the consumer reset, though nothing follows that would tell."""
        if last_delivery + 1 == self._next_delivery:
            return []
        return self.troubled(number, self._gap(last_delivery + 1), now)

    def troubled(self, number: int, error: JetStreamError | None, now: float) -> list[Action]:
        """Replace the consumer: it is not known to deliver any more what comes next. Who may not read has to know."""
        if self.state is not State.READING or number != self.number:
            return []
        if isinstance(error, AuthenticationError):
            self.state = State.ENDED
            return [Drop(self.name), End(error)]
        actions: list[Action] = [] if error is None else [Report(error)]
        actions.append(Drop(self.name))
        if self._next_delivery > 1 or now - self._reading_since >= LONGEST_WAIT_SECONDS:
            self._replaced_at_once, self._failures = False, 0
        if self._replaced_at_once:
            return actions + self._wait(now)
        self._replaced_at_once = True
        return actions + self._next(now)

    # What comes from the user, the link and the clock

    def handed(self, stream_sequence: int, timestamp_ns: int) -> None:
        """Remember that all up to this message has been handed over."""
        self._start = Start(BY_SEQUENCE, stream_sequence + 1)
        self._passed_sequence = stream_sequence
        self._handed_timestamp_ns = timestamp_ns

    def disconnected(self) -> list[Action]:
        """Do nothing until the link is back: what is buffered is in order, and may be handed over."""
        self._linked = False
        return []

    def reconnected(self, now: float) -> list[Action]:
        """Begin anew: what was sent over the old link is lost, and perhaps the consumer with its server."""
        self._linked = True
        self._replaced_at_once, self._failures = False, 0
        if self.state is State.WAITING:
            return self._next(now)
        return self.troubled(self.number, None, now)

    def tick(self, now: float) -> list[Action]:
        return self._next(now) if self.state is State.WAITING and self._linked else []

    def stop(self) -> list[Action]:
        before, self.state = self.state, State.ENDED
        if before is State.ENDED:
            return []
        return [End()] if before in {State.NEW, State.WAITING} else [Drop(self.name), End()]

    # Decisions

    def _next(self, now: float) -> list[Action]:
        self.number += 1
        self._attempted_at = now
        return self._create()

    def _create(self) -> list[Action]:
        self.state = State.CREATING
        return [Create(self.number, consumer_config(self._options, self.name, self._start))]

    def _read(self, now: float) -> list[Action]:
        self.state = State.READING
        self._has_read = True
        self._reading_since = now
        return [Read(self.number, self.name)]

    def _wait(self, now: float) -> list[Action]:
        """Wait before the next attempt. The time that this one took, such as for an answer that never came, counts."""
        self.state = State.WAITING
        self._failures += 1
        doublings = min(self._failures, DOUBLINGS_MAX) - 1
        wait_seconds = min(FIRST_WAIT_SECONDS * 2**doublings, LONGEST_WAIT_SECONDS)
        return [WakeAt(max(now, self._attempted_at + wait_seconds))]

    def _has_what_was_passed(self, seen: Seen) -> bool:
        """Tell whether the stream's sequences mean what they meant: what it has of them is as old, and comes as far.

        One in memory is empty after a restart of its server, and may have grown again until we look. What a crash took
        from the end alone, and was written anew until then, is not noticed.
        """
        is_older = seen.first_sequence > self._passed_sequence or seen.first_timestamp_ns <= self._handed_timestamp_ns
        return seen.last_sequence >= self._passed_sequence and (is_older or not self._handed_timestamp_ns)

    def _start_in_changed_stream(self) -> Start:
        """Return where to go on in a stream that was made anew, or has lost its end: after what we have seen.

        Its sequences tell nothing any more. What was stored after the last message that was handed over is new.
        """
        if self._handed_timestamp_ns:
            return Start("by_start_time", time=rfc3339_in_full(self._handed_timestamp_ns + 1))
        first = first_start(self._options)
        return Start("all") if first.policy in ("last", "new") else first

    def _gap(self, delivery: int) -> GapError:
        return GapError(stream=self._options.stream, consumer=self.name, expected=self._next_delivery, got=delivery)


def _is_of_the_link(error: JetStreamError) -> bool:
    """Tell whether it says nothing of what was asked for: the link was lost in between, and will be back."""
    return isinstance(error, LinkError) and not isinstance(error, AuthenticationError | ClosedError)
