"""A simulated driver with its Spark and the user's code, and their sink, which takes each batch's id only once."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from penstock_worker.policy.machine.circuit import BATCHES_IN_A_ROW
from penstock_worker.policy.outcome import Fault, Outcome, Rejection, Verdict
from tests.jetstream.simulation.violation import Violation
from tests.jetstream.simulation.world import World
from tests.worker.simulation.options import DEADLINE_SECONDS, GRACE_SECONDS, Options
from tests.worker.simulation.server import Message, Server

REBUILD_SECONDS = (2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 65.0)
"""One of them. During the last, the patience of recalled batches ends."""
LOOK_SECONDS = 0.5
"""How often an ending driver checks whether anything runs."""
FICKLE_SHARE = 0.5
COMMIT_SHARE = 0.8
"""How far into a run the sink has its messages; a run that is lost later has been committed."""


@dataclass
class Sink:
    """The committed batches."""

    members: dict[str, frozenset[Message]] = field(default_factory=dict)
    """By batch id, whether or not the batch was committed."""
    batches_of: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    ran_well: set[int] = field(default_factory=set)
    """Messages of runs that ended with OK, without rejected ones."""
    failures: Counter[int] = field(default_factory=Counter)
    """By message: its runs that failed for what might be a passing reason while others did not."""
    rejected: dict[str, frozenset[int]] = field(default_factory=dict)
    """By the id of a committed batch: what the attempt rejected that committed it."""
    cut: set[str] = field(default_factory=set)
    """Ancestors of committed batches: they cannot be committed any more."""
    unrecorded: set[int] = field(default_factory=set)
    """Messages of batches that ran again before anybody but the sink knew what the committed attempt rejected."""

    def commit(
        self, names: tuple[str, ...], sequences: frozenset[int], rejected: frozenset[int]
    ) -> frozenset[int] | None:
        """Take a batch, unless it or an ancestor is there; return what the attempt rejected that committed it.

        None if a batch that was cut from this one was committed before.
        """
        for name in names:
            if name in self.rejected:
                return self.rejected[name] & sequences
        if names[0] in self.cut:
            return None
        self.cut.update(names[1:])
        self.rejected[names[0]] = rejected
        for sequence in sequences - rejected:
            self.batches_of[sequence].add(names[0])
        return rejected

    def begin(self, batch_id: str, messages: frozenset[Message]) -> None:
        if self.members.setdefault(batch_id, messages) != messages:
            raise Violation(f"batch {batch_id} has other members than before: {sorted(messages)}")

    def begin_again(self) -> None:
        """Expect each message once more. What was committed is still known by its batch's id."""
        self.batches_of.clear()
        self.ran_well.clear()

    def lose(self, sequences: Iterable[int]) -> None:
        """Forget messages that the server has lost: others get their sequences."""
        for sequence in sequences:
            self.batches_of.pop(sequence, None)
            self.unrecorded.discard(sequence)
            self.ran_well.discard(sequence)
            del self.failures[sequence]


@dataclass
class Mood:
    """How user code fails at the moment."""

    transient_until: float = 0
    code_until: float = 0
    hangs: int = 0
    """How many of the next runs hang."""


@dataclass(eq=False)
class Run:
    name: tuple[str, int]
    messages: frozenset[Message]
    told: Callable[[Outcome], None]
    ancestors: tuple[str, ...] = ()
    outcome: Outcome | None = None
    rejected: frozenset[int] = frozenset()

    @property
    def sequences(self) -> frozenset[int]:
        return frozenset(sequence for sequence, _ in self.messages)


class Driver:
    """One process; it and its Spark may be killed separately."""

    def __init__(self, world: World, options: Options, server: Server, sink: Sink, mood: Mood, *, name: str) -> None:
        self.world, self.options, self.server, self.sink, self.mood = world, options, server, sink, mood
        self.name = name
        self.incarnation = 1
        self.spark = 1
        self.ready_at = 0.0
        self.runs: dict[tuple[str, int], Run] = {}
        self.on_end: list[Callable[[], None]] = []
        self.on_death: list[Callable[[], None]] = []
        self.is_ending = False
        self.failed: set[str] = set()
        """Batches that failed for what might be a passing reason since the last that did not, under this engine."""

    @property
    def is_ready(self) -> bool:
        return self.world.now >= self.ready_at and not self.is_ending

    def hand(self, given: Run) -> None:
        """Begin a run, unless it is known; its `told` receives its outcome."""
        (batch_id, _), told, messages = given.name, given.told, given.messages
        self.sink.begin(batch_id, messages)
        known = self.runs.get(given.name)
        if known is not None:
            known.told = told
            if known.outcome is not None:
                told(known.outcome)
            return
        self.runs[given.name] = this = given
        if batch_id in self.sink.rejected and not self.options.tells and not self.server.has_rejections(batch_id):
            self.sink.unrecorded |= this.sequences
        if not self.is_ready:
            self._end(this, Verdict.ENGINE_LOST)
            return
        seconds = self.options.run_seconds * (1 + self.world.random.random())
        hostile = {message[0] for message in messages} & self.options.hostile
        if self.mood.hangs or any(sequence % 2 for sequence in hostile):
            self.mood.hangs -= bool(self.mood.hangs)
            seconds = 1000.0
            self.world.after(DEADLINE_SECONDS, self._end, this, Verdict.DEADLINE)
        self.world.after(seconds * COMMIT_SHARE, self._decide, this, self.spark, seconds * (1 - COMMIT_SHARE))

    def cancel(self, name: tuple[str, int]) -> None:
        run = self.runs.get(name)
        if run is not None and run.outcome is None:
            self.world.after(self.options.delay_seconds, self._end, run, Verdict.CANCELLED)

    def forget(self, name: tuple[str, int]) -> None:
        run = self.runs.get(name)
        if run is not None and run.outcome is not None:
            del self.runs[name]

    # The end of a run

    def _decide(self, run: Run, spark: int, rest_seconds: float) -> None:
        if run.outcome is not None or self.runs.get(run.name) is not run or spark != self.spark:
            return
        verdict = self._verdict(run.sequences)
        if verdict is Verdict.ENGINE_LOST:
            self.kill_spark()
        elif verdict is Verdict.OK:
            rejected = run.sequences & self._rejects()
            names = (run.name[0], *(run.ancestors if self.options.tells else ()))
            committed = self.sink.commit(names, self._there(run), rejected)
            if committed is None:
                self._end(run, Verdict.CUT)
                return
            run.rejected = committed if self.options.tells else rejected
            self.world.after(rest_seconds, self._finish, run, spark)
        else:
            self._end(run, verdict)

    def _rejects(self) -> frozenset[int]:
        """Return what the code rejects this time."""
        fickle = (each for each in sorted(self.options.fickle) if self.world.random.random() < FICKLE_SHARE)
        return self.options.rejected.union(fickle)

    def _verdict(self, sequences: frozenset[int]) -> Verdict:
        now = self.world.now
        if now < self.mood.code_until:
            return Verdict.CODE
        if now < self.mood.transient_until or sequences & self.options.hostile:
            return Verdict.TRANSIENT
        if sequences & self.options.killers:
            return Verdict.ENGINE_LOST
        return Verdict.DATA if sequences & self.options.poison else Verdict.OK

    def _finish(self, run: Run, spark: int) -> None:
        if spark == self.spark:
            self._end(run, Verdict.DATA if run.sequences & self.options.late else Verdict.OK)

    def _there(self, run: Run) -> frozenset[int]:
        """Return the sequences of those messages that the server has not lost."""
        return frozenset(message[0] for message in run.messages if self.server.has(message))

    def _end(self, run: Run, verdict: Verdict) -> None:
        if run.outcome is not None or self.runs.get(run.name) is not run:
            return
        self._count_failure(run, verdict)
        rejected = sorted(run.rejected) if verdict is Verdict.OK else []
        if verdict is Verdict.OK:
            self.sink.ran_well |= self._there(run) - run.rejected
        run.outcome = Outcome(
            verdict,
            1.0,
            rejections=tuple(Rejection(sequence, "refused") for sequence in rejected),
            fault=None if verdict is Verdict.OK else Fault("Error", verdict.value),
            outgoing=int(self.options.publishes and verdict is Verdict.OK),
        )
        self.world.say(self.name, f"run {run.name[0]}#{run.name[1]} ends: {verdict.value}")
        run.told(run.outcome)

    def _count_failure(self, run: Run, verdict: Verdict) -> None:
        if verdict in {Verdict.OK, Verdict.DATA}:
            self.failed.clear()
        elif verdict in {Verdict.TRANSIENT, Verdict.DEADLINE}:
            self.failed.add(run.name[0])
            if len(self.failed) < BATCHES_IN_A_ROW:
                self.sink.failures.update(run.sequences)

    # Faults

    def kill_spark(self) -> None:
        self.world.say(self.name, "loses Spark")
        self.spark += 1
        self.ready_at = self.world.now + self.world.random.choice(REBUILD_SECONDS)
        for run in list(self.runs.values()):
            self._end(run, Verdict.ENGINE_LOST)

    def end(self) -> None:
        """Begin no more runs, and end once none runs or the grace period is over."""
        if not self.is_ending:
            self.world.say(self.name, "ends")
            self.is_ending = True
            for call in self.on_end:
                call()
            self._gone_when_idle(self.incarnation, self.world.now + GRACE_SECONDS)

    def _gone_when_idle(self, incarnation: int, until: float) -> None:
        if incarnation != self.incarnation:
            return
        if self.world.now >= until or all(run.outcome for run in self.runs.values()):
            self.kill()
        else:
            self.world.after(LOOK_SECONDS, self._gone_when_idle, incarnation, until)

    def kill(self) -> None:
        self.world.say(self.name, "is killed")
        self.is_ending = False
        self.runs = {}
        self.incarnation += 1
        self.spark += 1
        self.ready_at = self.world.now + self.world.random.choice(REBUILD_SECONDS)
        for call in self.on_death:
            call()
