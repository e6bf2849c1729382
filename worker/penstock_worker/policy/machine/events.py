"""What the shell tells the machine: `Machine.handle(event, now=…, chance=…)`, one call per event, in their order.

`now` is monotonic seconds; `chance` is a random number from 0 to 1, anew with each call. Each question that an action
asks is answered by exactly one event here, also when the link is lost or nobody answers: then by the one that says so.
An answer to what is no longer of interest may come: it changes nothing.

Knows the words. Does not know what follows from them (machine.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock_worker.policy.ledger import Entry
from penstock_worker.policy.outcome import Outcome
from penstock_worker.policy.trouble import Trouble


@dataclass(frozen=True, slots=True)
class Started:
    """First of all."""


@dataclass(frozen=True, slots=True)
class LedgerRead:
    """Answers `ReadLedger`: what it has of this stream and consumer, all workers' entries."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class LedgerUnread:
    """Answers `ReadLedger`: it could not be read. It is read again, later."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A block came. Fresh and redelivered messages come as blocks of their own, whatever the pull is told meanwhile."""

    block: int
    """A number of the shell's; never used twice."""
    sequences: Sequence[int]
    """In the stream. They rise."""
    stored_at: Sequence[int]
    """When the stream took them, by its own clock: what has the same sequence and another time is another message."""
    offsets: Sequence[int]
    """How large they are, summed up as Arrow does: from 0 to the sum, one number more than there are messages."""
    redelivered: bool
    """Whether all of it was delivered before (`delivered` > 1), or none of it."""


@dataclass(frozen=True, slots=True)
class DriverReady:
    """It can be handed batches. Also the answer to `AwaitDriver`."""

    incarnation: str


@dataclass(frozen=True, slots=True)
class DriverLost:
    """Its process is gone, or a call to it broke: no outcome will come of what it had."""

    why: str


@dataclass(frozen=True, slots=True)
class DriverEnding:
    """It was told to end: it finishes what it has, and begins nothing more. `DriverLost` follows."""


@dataclass(frozen=True, slots=True)
class DriverUnusable:
    """It will not become ready by waiting: the code cannot be imported, say."""

    why: str
    trouble: Trouble = Trouble.CODE


@dataclass(frozen=True, slots=True)
class RunEnded:
    """What came of a `HandOver`, unless the driver is lost."""

    batch_id: str
    run: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class LedgerWritten:
    """Answers `WriteLedger`."""

    batch_id: str


@dataclass(frozen=True, slots=True)
class LedgerCut:
    """Answers `WriteLedger`: it was not written, as another worker has cut the batch, or has run it meanwhile."""

    batch_id: str


@dataclass(frozen=True, slots=True)
class LedgerFailed:
    """Answers `WriteLedger`: nobody knows whether it was written. The machine writes it again, later."""

    batch_id: str
    why: str


@dataclass(frozen=True, slots=True)
class LettersPublished:
    """Answers `PublishLetters`: all of them have their PubAck."""

    batch_id: str


@dataclass(frozen=True, slots=True)
class LettersFailed:
    """Answers `PublishLetters`: some are not stored, as far as is known. They are published again, later."""

    batch_id: str
    why: str
    sequences: frozenset[int]
    """Of the messages whose letters these are."""


@dataclass(frozen=True, slots=True)
class OutgoingPublished:
    """Answers `PublishOutgoing`: all of it has its PubAck."""

    batch_id: str
    run: int


@dataclass(frozen=True, slots=True)
class OutgoingFailed:
    """Answers `PublishOutgoing`."""

    batch_id: str
    run: int
    why: str
    gone: bool
    """Whether the driver does not have it any more, so that the batch must run again."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Answers `Settle`: the server has taken all of it."""

    batch_id: str


@dataclass(frozen=True, slots=True)
class NotSettled:
    """Answers `Settle`: it is not known what the server took."""

    batch_id: str
    why: str


@dataclass(frozen=True, slots=True)
class LinkLost:
    """The link to the server is gone. All that waits for its answer is answered as failed besides."""


@dataclass(frozen=True, slots=True)
class LinkBack:
    """The link is there again, and the stream and consumer are those from before."""


@dataclass(frozen=True, slots=True)
class ServerChanged:
    """Another server keeps the consumer now, or the same one after a restart: it may not know its newest state.

    It may deliver messages that are held here to other workers, as if they were new, and may have missed answers.
    """


@dataclass(frozen=True, slots=True)
class Reborn:
    """The stream or the consumer is gone, or was made anew: what is held says nothing of the messages there now."""

    why: str


@dataclass(frozen=True, slots=True)
class Counted:
    """What the consumer's info says: in answer to `Count`, and every few seconds."""

    pending: int
    ack_pending: int
    ack_floor: int
    """The stream's sequence up to which everything is acknowledged."""
    is_asked_for: bool
    """Whether a request for messages is open."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Pull no more; what is held is run."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Take back a pause."""


@dataclass(frozen=True, slots=True)
class Retire:
    """Pull no more and hold nothing but what runs, until `Reinstate`."""


@dataclass(frozen=True, slots=True)
class Reinstate:
    """Take back a retirement."""


@dataclass(frozen=True, slots=True)
class Drain:
    """End once everything is processed, which `Counted` says."""


@dataclass(frozen=True, slots=True)
class CancelBatch:
    """Somebody wants a batch cancelled: its messages are given back."""

    batch_id: str


@dataclass(frozen=True, slots=True)
class Terminate:
    """End: finish within so many seconds what runs, give back the rest."""

    grace_seconds: float


@dataclass(frozen=True, slots=True)
class Tick:
    """The time that `WakeAt` named has come."""


ANSWERS = (LedgerRead, LedgerWritten, LedgerCut, LettersPublished, OutgoingPublished, Settled, Counted)
"""The server has said something."""

Event = (
    Started
    | LedgerRead
    | LedgerUnread
    | Arrived
    | DriverReady
    | DriverLost
    | DriverEnding
    | DriverUnusable
    | RunEnded
    | LedgerWritten
    | LedgerCut
    | LedgerFailed
    | LettersPublished
    | LettersFailed
    | OutgoingPublished
    | OutgoingFailed
    | Settled
    | NotSettled
    | LinkLost
    | LinkBack
    | ServerChanged
    | Reborn
    | Counted
    | Pause
    | Resume
    | Retire
    | Reinstate
    | Drain
    | CancelBatch
    | Terminate
    | Tick
)
