"""A batch in the machine's books: its messages, how far it got, and the batch that it was cut from.

Knows its states. Does not know what moves it from one to the next.
"""

from dataclasses import dataclass, field, replace
from enum import Enum, auto

from penstock_worker.policy.ledger import Entry
from penstock_worker.policy.machine.pieces import Pieces
from penstock_worker.policy.outcome import Fault
from penstock_worker.policy.ranges import Range


class Stage(Enum):
    """Where a batch stands."""

    OPENING = auto()
    """The ledger is being told of it."""
    READY = auto()
    """It may run as soon as there is room."""
    RUNNING = auto()
    RESTING = auto()
    """It failed for a reason that may pass, and runs again later."""
    PUBLISHING = auto()
    """It went well, and what it wants published is being published."""
    RECORDING = auto()
    """It went well, and the ledger is being told what it rejected: another run might reject other messages."""
    BURYING = auto()
    """Dead letters are being published: its rejected messages, or the one that cannot be processed."""
    COMMITTING = auto()
    """The ledger is being told that only acknowledgements are missing."""
    CUTTING = auto()
    """The ledger is being told that parts are made of it: of two workers that have it, only one may do that."""
    SETTLING = auto()
    """The server is being told."""
    CONDEMNED = auto()
    """One message that cannot be processed; what follows is decided with the whole batch that it was cut from."""


ASKING = frozenset(
    {
        Stage.OPENING,
        Stage.PUBLISHING,
        Stage.RECORDING,
        Stage.BURYING,
        Stage.COMMITTING,
        Stage.CUTTING,
        Stage.SETTLING,
    }
)
"""These wait for an answer, or for the time to ask again."""
BEFORE_A_RUN = frozenset({Stage.OPENING, Stage.READY, Stage.RESTING, Stage.CUTTING, Stage.CONDEMNED})
"""Nothing has come of the batch that would be lost with it."""


@dataclass(slots=True, eq=False)
class Root:
    """A batch as it was collected, whatever parts it has been cut into since."""

    count: int
    runs: int = 0
    """Those of its parts; its own that failed is the first."""
    undecided: set[str] = field(default_factory=set)
    """Parts of which it is not known yet whether they can be processed."""
    condemned: list["Batch"] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Batch:
    """One batch."""

    id: str
    pieces: Pieces
    ranges: tuple[Range, ...]
    oldest: int
    newest: int
    """The earliest and the latest time at which the stream took one of its messages."""
    count: int
    bytes: int
    redelivered: bool
    root: Root
    stage: Stage = Stage.OPENING
    asked: bool = False
    """In a stage that asks: whether the answer is still to come."""
    due: float = 0
    """When to ask again, or to end a rest."""
    failures: int = 0
    """Of the question that its stage asks, in a row."""
    todo: list[Stage] = field(default_factory=list)
    """What is to be done after this stage."""
    runs: int = 0
    attempts: int = 0
    """Those that failed for a reason that may pass, while the circuit was closed."""
    probes: int = 0
    """The same while it was open."""
    losses: int = 0
    """How often Spark was lost while it ran."""
    losses_alone: int = 0
    """Those while nothing else ran."""
    is_suspect: bool = False
    began_at: float = 0
    is_cancelled: bool = False
    warnings: int = 0
    """What was done about a run that takes too long: nothing, it was cancelled, its driver was abandoned."""
    fault: Fault | None = None
    """Of its last run."""
    outgoing: int = 0
    dead: dict[int, str] = field(default_factory=dict)
    """Sequences of those that become dead letters, and why."""
    ancestors: tuple[str, ...] = ()
    """Batches that it was cut from, the latest first: a sink that has one of them has its messages."""

    former: Entry | None = None
    """Of a batch of former times that does not run as it was: what the ledger has of it."""
    with_parts: Entry | None = None
    """Of one that is being cut: what the ledger is to have of it."""

    @property
    def is_whole(self) -> bool:
        return self.former is None or self.former.count == self.count

    @property
    def lineage(self) -> tuple[str, ...]:
        """Return what a batch that is cut from it has as ancestors."""
        return self.id, *self.ancestors

    def entry(self, worker: str, *, committed: bool = False) -> Entry:
        if self.former is not None:
            return replace(self.former, worker=worker)
        return Entry(
            batch_id=self.id,
            ranges=self.ranges,
            oldest=self.oldest,
            newest=self.newest,
            worker=worker,
            attempts=self.attempts,
            losses=self.losses,
            committed=committed,
            ancestors=self.ancestors,
        )

    def covers(self, first: int, last: int) -> bool:
        """Tell whether some of its messages may be among these."""
        return self.ranges[0][0] <= last and first <= self.ranges[-1][1]
