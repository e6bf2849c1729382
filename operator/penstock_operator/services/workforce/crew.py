"""What is remembered of one queue group from one look to the next: counters, what workers said, what was decided.

All of it can be lost: whoever leads next finds it again in a few looks. Knows how a look is taken in. Does not ask
anybody (looking.py), and decides by plan.scaling alone.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock_operator.plan.declared import Identity
from penstock_operator.plan.fleet import WorkerPod
from penstock_operator.plan.fleet.shrinking import RETIRING
from penstock_operator.plan.group_places import GroupPlace
from penstock_operator.plan.message_loss import lost
from penstock_operator.plan.scaling import NOTHING_YET, Decision, Limits, Memory, Observation, Reading, scale
from penstock_operator.plan.scaling.tally import Tally
from penstock_operator.resources.message_loss import MessageLoss
from penstock_operator.services.group_streams import GroupStreams
from penstock_operator.services.links import Counters, WorkerStatus
from penstock_operator.services.workforce.fleets import Label

LACKS_STREAMS = "streams"
"""A worker's word for a ledger or a stream of dead letters that is missing, or would lose what is stored in it."""
POSITION_SECONDS = 5.0
"""Between two looks at where a group's stream begins: so long may it take until removed messages are noticed."""
STREAMS_PERIOD_SECONDS = 60.0
"""How old the last look at them may be when a step is taken anyway. Notices and workers tell before that."""


@dataclass(frozen=True, slots=True)
class Post:
    """Where a group works and how large it may be, as it is declared now."""

    place: GroupPlace
    label: Label
    limits: Limits | None
    """None: somebody else decides, or nobody is to work."""
    workers: int
    """How many there are to be then."""
    patience: float
    """How many seconds one that is to go may take to finish what it holds."""


@dataclass(slots=True)
class Crew:
    """Of one group."""

    post: Post
    reading: Reading | None = None
    is_consumer_paused: bool = False
    statuses: dict[str, WorkerStatus] = field(default_factory=dict)
    """What each worker said at the last look; who did not answer is not there."""
    was_heard: set[str] = field(default_factory=set)
    """Who has answered before."""
    going_since: dict[str, float] = field(default_factory=dict)
    """Since when each worker is to go: it was told to retire, whether it has heard it or not."""
    decision: Decision | None = None
    looked_at: float | None = None
    is_asleep: bool = False
    """Whether, at the last look, nobody was there and nothing was to be done: one look in a while is enough."""
    is_looked_at: bool = False
    """Whether a look is under way."""
    stepped_at: float | None = None
    tally: Tally = field(default_factory=Tally)
    streams: GroupStreams = field(default_factory=GroupStreams)
    streams_looked_at: float | None = None
    """None: one of them may be missing."""
    loss: MessageLoss | None = None
    """Messages that were never processed, as far as known; None before stream and consumer were read."""
    position_at: float | None = None
    """When they were read, or could not be."""
    _memory: Memory = NOTHING_YET
    _stepped_on: tuple[object, ...] = ()
    _told: tuple[object, ...] = ()

    @property
    def desired(self) -> int | None:
        """How many workers there are to be; None before the first look."""
        if self.post.limits is None:
            return self.post.workers
        return None if self.decision is None else self.decision.workers

    @property
    def held(self) -> int:
        """How many messages the workers hold, as far as they say."""
        return sum(int(status.get("heldMessages", 0)) for status in self.statuses.values())

    @property
    def batches(self) -> int:
        return sum(len(status.get("batches", ())) for status in self.statuses.values())

    def stepped(self, now: float) -> None:
        """Note that a step begins, which acts on, and tells, all that is known now."""
        self.stepped_at, self._stepped_on, self._told = now, self._matters(), self._numbers()
        self.is_asleep = False  # something is new, or it would not have been woken

    def needs_look_at_streams(self, now: float) -> bool:
        """Tell whether a stream that the operator keeps may be missing."""
        lacks = any(status.get("why") == LACKS_STREAMS for status in self.statuses.values())
        return lacks or self.streams_looked_at is None or now - self.streams_looked_at >= STREAMS_PERIOD_SECONDS

    def needs_position(self, now: float) -> bool:
        """Tell whether the stream is to be read as well as the consumer."""
        return self.position_at is None or now - self.position_at >= POSITION_SECONDS

    def needs_step(self, now: float, asked: int | None, period_seconds: float) -> bool:
        """Tell whether something is to be done or said: numbers alone are told at the period only."""
        if self.stepped_at is None or self.desired not in (None, asked) or self._stepped_on != self._matters():
            return True
        return now - self.stepped_at >= period_seconds and self._told != self._numbers()

    def _matters(self) -> tuple[object, ...]:
        workers = [
            (name, status.get("ready"), status.get("sentence"), tuple(status.get("holds", ())))
            for name, status in sorted(self.statuses.items())
        ]
        why = None if self.decision is None else (self.decision.workers, self.decision.why)
        loss = (bool(self.loss.expired), bool(self.loss.given_up)) if self.loss else ()
        return self.desired, self.reading is None, self.is_consumer_paused, why, tuple(workers), loss

    def _numbers(self) -> tuple[object, ...]:
        reading = self.reading
        return (reading.pending, reading.ack_pending, self.held, self.batches, lost(self.loss)) if reading else ()

    def take_in(
        self, now: float, counters: Counters | None, told: Sequence[WorkerStatus], pods: Sequence[WorkerPod], asked: int
    ) -> None:
        """Take in one look. `asked` is how many workers the Deployment has been told to have."""
        seconds = 0.0 if self.looked_at is None else now - self.looked_at
        self.looked_at = now
        if counters is None:
            self.reading = None
        else:
            self.is_consumer_paused = counters.is_paused
            self.reading = Reading(
                at=now,
                pending=counters.pending,
                ack_pending=counters.ack_pending,
                delivered=counters.delivered,
            )
        self._hear({str(status.get("worker")): status for status in told}, {pod.name for pod in pods})
        self.tally.tick(now, seconds)
        self._decide(now, pods, asked)
        has_work = self.reading is not None and not self.reading.is_empty
        self.is_asleep = not pods and not self.desired and not asked and not has_work

    def late(self, now: float) -> frozenset[str]:
        """Return those that have had the time that a batch may take, and more, since they were told to retire."""
        return frozenset(name for name, since in self.going_since.items() if now - since > self.post.patience)

    def told_to_retire(self, workers: Collection[str], now: float) -> None:
        """Note who is to go: these, and those that say that they were told before."""
        retiring = {name for name, status in self.statuses.items() if is_retiring(status)}
        self.going_since = {name: self.going_since.get(name, now) for name in (*workers, *retiring)}

    def _hear(self, told: Mapping[str, WorkerStatus], there: set[str]) -> None:
        self.statuses = {name: status for name, status in told.items() if name in there}
        self.was_heard = (self.was_heard & there) | self.statuses.keys()
        self.tally.forget(there)
        for name, status in self.statuses.items():
            self.tally.hear(name, status)

    def _decide(self, now: float, pods: Sequence[WorkerPod], asked: int) -> None:
        if self.post.limits is None:
            self.decision, self._memory = None, NOTHING_YET
            return
        retiring = sum(is_retiring(status) for status in self.statuses.values())
        working = [status for status in self.statuses.values() if status.get("ready") and not is_retiring(status)]
        # One that ends does not answer in the end, and no number of workers keeps it.
        silent = [pod for pod in pods if pod.is_there and pod.name in self.was_heard and pod.name not in self.statuses]
        reading = self.reading
        if reading is not None and self.is_consumer_paused:
            reading = replace(reading, pending=0)  # nothing of it is delivered, however many there are
        seen = Observation(
            now=now,
            reading=reading,
            workers=max(0, asked - retiring) if self.decision is None else self.decision.workers,
            ready=len(working),
            held=self.held,
            unheard=len(silent),
            work=self.tally.work,
            settled_per_second=self.tally.per_second,
        )
        decided = scale(self.post.limits, seen, self._memory)
        self._memory, before = decided.memory, self.decision
        is_same = before is not None and (before.workers, before.why) == (decided.workers, decided.why)
        if not is_same:  # the words are of the moment at which it was decided
            self.decision = decided


def is_retiring(status: WorkerStatus) -> bool:
    """Tell whether a worker pulls nothing any more, as it was told."""
    return RETIRING in status.get("holds", ())


Crews = dict[Identity, Crew]
