"""What the machine asks its shell to do, in this order. What has an answer says so: events.py has it.

Every row of every block is named by exactly one of `Settle`, `GiveBack`, `Acknowledge` and `LetGo`, unless the process
ends before: that is its final answer, and with the last of a block's rows the shell may forget the block.
(A `Settle` that is not confirmed is repeated, and names the same rows again.)

An action that turns out impossible (the link is gone) and has no answer is dropped. Knows nothing but their content.
"""

from dataclasses import dataclass
from enum import StrEnum

from penstock_worker.policy.ledger import Entry
from penstock_worker.policy.machine.pieces import Piece, Pieces
from penstock_worker.policy.outcome import Fault
from penstock_worker.policy.ranges import Range
from penstock_worker.policy.trouble import Trouble


@dataclass(frozen=True, slots=True)
class AwaitDriver:
    """Ask the driver who it is until it is ready, then tell `DriverReady` (or `DriverUnusable`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """Have the driver run a batch; `RunEnded` or `DriverLost` follows. It gets the rows in the order of sequences."""

    batch_id: str
    run: int
    """Counted from 1, over all attempts; with the id it names the run."""
    deadline_seconds: float
    attempt: int
    redelivered: bool
    pieces: Pieces
    count: int
    bytes: int
    ranges: tuple[Range, ...]
    ancestors: tuple[str, ...] = ()
    """Batches that it was cut from, under whose ids sinks may have its messages."""


@dataclass(frozen=True, slots=True)
class CancelRun:
    """Have the driver cancel a run. Its outcome comes by the `HandOver`."""

    batch_id: str
    run: int


@dataclass(frozen=True, slots=True)
class ForgetRun:
    """Tell the driver that nobody will ask for this run's outcome or outgoing messages any more."""

    batch_id: str
    run: int


@dataclass(frozen=True, slots=True)
class AbandonDriver:
    """A run did not end although it was cancelled: kill or leave the driver's process, and tell `DriverLost`."""

    why: str


@dataclass(frozen=True, slots=True)
class ReadLedger:
    """Read all entries of this stream and consumer, whoever wrote them. Answered."""


@dataclass(frozen=True, slots=True)
class WriteLedger:
    """Write the entry under its batch id, if it may replace what is there. Answered."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class DeleteLedger:
    """Delete these ids' entries. Not answered: what stays is found to be over later, by `Counted`."""

    batch_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One message that becomes a dead letter, and why."""

    piece: Piece
    """Of one row."""
    sequence: int
    reason: str
    fault: Fault | None
    """None where the code rejected it."""
    attempts: int


@dataclass(frozen=True, slots=True)
class PublishLetters:
    """Publish dead letters, and wait for their PubAcks. Answered."""

    batch_id: str
    letters: tuple[Letter, ...]


@dataclass(frozen=True, slots=True)
class PublishOutgoing:
    """Fetch what the run wants published, publish it, wait for the PubAcks. Answered."""

    batch_id: str
    run: int
    count: int


@dataclass(frozen=True, slots=True)
class Settle:
    """Terminate, acknowledge, and have the last answer confirmed: by one write. Answered. Final for all its rows."""

    batch_id: str
    acknowledged: Pieces
    terminated: Pieces = ()
    """Those that are dead letters now."""


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Acknowledge messages that were settled before and came once more. Final; not answered."""

    pieces: Pieces


@dataclass(frozen=True, slots=True)
class GiveBack:
    """`-NAK` with a delay (0: at once). Final; not answered."""

    pieces: Pieces
    delay_seconds: float


@dataclass(frozen=True, slots=True)
class LetGo:
    """Answer nothing: another delivery of these messages is held, or their stream is gone. Final; not answered.

    What a run or a letter needs of these rows is needed until that is over all the same.
    """

    pieces: Pieces


@dataclass(frozen=True, slots=True)
class Renew:
    """`+WPI`: work goes on, have the ack wait begin anew."""

    pieces: Pieces


class HoldReason(StrEnum):
    """Why nothing is pulled."""

    STARTING = "starting"
    """The ledger is not read yet."""
    DRIVER = "driver"
    CIRCUIT = "circuit"
    FULL = "full"
    PAUSED = "paused"
    RETIRING = "retiring"
    """Nothing is to be held here but what runs."""
    ENDING = "ending"


@dataclass(frozen=True, slots=True)
class HoldPull:
    """Ask the server for nothing more. What arrives all the same is told all the same.

    Every step states this or `ReleasePull`, even if nothing has changed, and it replaces what was stated before.
    """

    reasons: tuple[HoldReason, ...]
    """All that there are now."""


@dataclass(frozen=True, slots=True)
class ReleasePull:
    """Pull. Nothing is pulled before the first of these.

    Every step states this or `HoldPull`, even if nothing has changed, and it replaces what was stated before.
    """

    messages: int
    """The room: how many messages there are places for, in addition to those that have arrived."""


@dataclass(frozen=True, slots=True)
class RestartPull:
    """Pull in another way than so far: no request for messages is open, though there should be one."""


@dataclass(frozen=True, slots=True)
class Count:
    """Read the consumer's info now, and tell `Counted`."""


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Send `Tick` at this time. It replaces the wish before it."""

    time: float


@dataclass(frozen=True, slots=True)
class Stop:
    """It is over: send what is not sent yet, and end the process."""

    code: int
    """Its exit code."""
    sentence: str
    trouble: Trouble = Trouble.NONE
    """What somebody has to change before it is of use to start again."""


class Note(StrEnum):
    """What people hear of, in logs and metrics."""

    OPENED = "opened"
    ENDED = "ended"
    """A run is over; the verdict says how."""
    RETRIED = "retried"
    """It will run again, after so many seconds."""
    SPLIT = "split"
    SUSPECTED = "suspected"
    """It lost Spark several times, and runs alone from now on."""
    SETTLED = "settled"
    GIVEN_BACK = "given-back"
    DEAD_LETTERED = "dead-lettered"
    ADOPTED = "adopted"
    """Its messages came again, and it goes on under its id."""
    REPLACED = "replaced"
    """Some of its messages did not come again: those that did are another batch now."""
    CIRCUIT_OPEN = "circuit-open"
    CIRCUIT_CLOSED = "circuit-closed"
    DRIVER_READY = "driver-ready"
    DRIVER_LOST = "driver-lost"
    STALLED = "stalled"
    """Messages were pending, and none was asked for."""
    FAILED = "failed"
    """Something with an answer failed, and is tried again: the detail says what and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Tell people. Nothing follows from it."""

    note: Note
    batch_id: str = ""
    messages: int = 0
    verdict: str = ""
    seconds: float = 0
    detail: str = ""


Action = (
    AwaitDriver
    | HandOver
    | CancelRun
    | ForgetRun
    | AbandonDriver
    | ReadLedger
    | WriteLedger
    | DeleteLedger
    | PublishLetters
    | PublishOutgoing
    | Settle
    | Acknowledge
    | GiveBack
    | LetGo
    | Renew
    | HoldPull
    | ReleasePull
    | RestartPull
    | Count
    | WakeAt
    | Stop
    | Report
)
