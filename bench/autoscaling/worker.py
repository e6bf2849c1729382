"""A worker: collects what it is given into batches, runs some of them at once, and answers for their messages.

Batches are made as the engine makes them: a free driver gets at once all that has been collected; while a batch runs,
the next is collected until it is full, or its first message has waited for `max_wait`. While runs are short more is
held than may run at once; while they take longer, or none was done yet, only what there are places for.

A batch with a message that nobody can process is halved until that is found; one that fails for a reason that may pass
comes again later. Knows its job. Does not know pods, nor who decides how many workers there are.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from bench.autoscaling import chance
from bench.autoscaling.clock import Clock
from bench.autoscaling.consumer import Consumer
from bench.autoscaling.jobs import Job
from bench.autoscaling.messages import Lots, Row, oldest, total
from bench.autoscaling.sink import Sink
from penstock_worker.engine.standing import Work
from penstock_worker.policy.machine.collecting import SHORT_SECONDS
from penstock_worker.policy.machine.pace import Pace

LATER_SECONDS = (10.0, 40.0)
"""Between which delays a failed batch comes again."""


@dataclass(slots=True, eq=False)
class _Run:
    lots: Lots
    count: int
    began_at: float
    left: float
    """Seconds that it would still take by itself."""
    is_computing: bool = True
    plan: int = 0
    """Which of its plans to end still holds."""


@dataclass(slots=True, eq=False)
class Worker:
    """Asks for messages as soon as it is made."""

    clock: Clock
    chance: Random
    job: Job
    consumer: Consumer
    sink: Sink
    fails: Callable[[], bool] = lambda: False
    """Whether the batch that ends now fails, for a reason that may pass."""
    idle: Callable[[], None] = lambda: None
    """Called when it holds nothing any more."""
    is_pulling: bool = True
    work: Work = field(default_factory=Work)
    """The sums that it tells of its batches, as our engine keeps them."""
    settled: int = 0
    """How many messages it has answered for."""
    read: int = 0
    """How many it was given."""
    held: int = 0
    """How many messages it holds, collected or running."""
    _pace: Pace = field(default_factory=Pace)
    _collected: Row = field(default_factory=Row)
    _since: float = 0.0
    """When the first of the collected came here."""
    _runs: list[_Run] = field(default_factory=list)
    _moved_at: float = 0.0
    _busy_since: float = 0.0

    def __post_init__(self) -> None:
        self.consumer.pullers.append(self)

    @property
    def room(self) -> int:
        if not self.is_pulling:
            return 0
        most = self.job.held_each - self.held
        if self._collects_ahead():
            return most
        places = self.job.in_flight - len(self._runs)
        return min(most, places * self.job.batch_messages - self._collected.count)

    def _collects_ahead(self) -> bool:
        """Tell what `policy.machine.collecting` tells."""
        if not self._runs:
            return self._pace.seconds_of(self.job.batch_messages) <= SHORT_SECONDS
        now = self.clock.now
        return any(
            now < run.began_at + SHORT_SECONDS and self._pace.seconds_of(run.count) <= SHORT_SECONDS
            for run in self._runs
        )

    @property
    def is_busy(self) -> bool:
        return bool(self._runs)

    @property
    def oldest(self) -> float:
        """Return when the first of those came that it holds."""
        return min((self._collected.oldest, *(oldest(run.lots) for run in self._runs)))

    @property
    def left(self) -> Lots:
        """Return what it holds."""
        return self._collected.lots + tuple(lot for run in self._runs for lot in run.lots)

    def take(self, lots: Lots) -> None:
        if not self._collected.count:
            self._since = self.clock.now
            self.clock.after(self.job.max_wait, self._collect)
        self._collected.put(lots)
        number = total(lots)
        self.held += number
        self.read += number
        self._collect()

    def stop_pulling(self) -> None:
        """Give back what is not with the driver, and finish the rest."""
        if not self.is_pulling:
            return
        self.is_pulling = False
        self.consumer.pullers.remove(self)
        back = self._collected.take(self._collected.count)
        self.held -= total(back)
        self.consumer.give_back(back)
        self._tell_if_idle()

    def pull_again(self) -> None:
        if not self.is_pulling:
            self.is_pulling = True
            self.consumer.pullers.append(self)
            self.consumer.hand_out()

    def die(self) -> float:
        """End at once: what it holds comes again after its ack wait. Return the seconds of work that are lost."""
        self.stop_pulling()
        lost, now = 0.0, self.clock.now
        for run in self._runs:
            run.plan += 1
            lost += now - run.began_at
            self.consumer.give_back(run.lots, self.job.ack_wait * self.chance.uniform(2 / 3, 1))
        self._runs.clear()
        self.held = 0
        return lost

    def _collect(self) -> None:
        """Make batches of what was collected, as many as are due."""
        while self._collected.count and len(self._runs) < self.job.in_flight and self._is_due():
            self._begin(self._collected.take(self.job.batch_messages))
            self._since = self.clock.now
            if self._collected.count:
                self.clock.after(self.job.max_wait, self._collect)

    def _is_due(self) -> bool:
        is_full = self._collected.count >= self.job.batch_messages
        return is_full or not self._runs or self.clock.now >= self._since + self.job.max_wait - 1e-9

    def _begin(self, lots: Lots) -> None:
        self._move_on()
        if not self._runs:
            self._busy_since = self.clock.now
        number = total(lots)
        seconds = chance.around(self.chance, self.job.seconds(number), self.job.spread)
        if self.read == self.held and not self._runs:
            seconds += self.job.first_seconds
        bad = sum(lot.count for lot in lots if lot.is_bad)
        halvings = math.ceil(math.log2(number)) if number > 1 else 0
        seconds += 2 * bad * halvings * self.job.fixed_seconds + 2 * min(bad, 1) * self.job.each_seconds * number
        self._runs.append(_Run(lots, number, self.clock.now, seconds))
        self._plan()

    def _move_on(self) -> None:
        """Count the time since the number of running batches changed last."""
        computing = [run for run in self._runs if run.is_computing]
        if computing:
            done = (self.clock.now - self._moved_at) * self.job.speed(len(computing))
            for run in computing:
                run.left -= done
        self._moved_at = self.clock.now

    def _plan(self) -> None:
        computing = [run for run in self._runs if run.is_computing]
        for run in computing:
            run.plan += 1
            self.clock.after(max(0.0, run.left) / self.job.speed(len(computing)), self._ending(run, run.plan))

    def _ending(self, run: _Run, plan: int) -> Callable[[], None]:
        return lambda: self._computed(run) if run.plan == plan else None

    def _computed(self, run: _Run) -> None:
        self._move_on()
        run.is_computing = False
        run.plan += 1
        self._plan()
        plan = run.plan
        self.sink.write(run.count, lambda: self._done(run) if run.plan == plan else None)

    def _done(self, run: _Run) -> None:
        self._runs.remove(run)
        self.held -= run.count
        self.work.busy_seconds += self.clock.now - self._busy_since
        self._busy_since = self.clock.now
        if self.fails():
            self.consumer.give_back(run.lots, self.chance.uniform(*LATER_SECONDS))
        else:
            self._count(run)
            self._pace.add(run.count, self.clock.now - run.began_at)
            self.consumer.answer(run.lots)
        self._collect()
        self.consumer.hand_out()
        self._tell_if_idle()

    def _count(self, run: _Run) -> None:
        """Count what went well: the whole batch, or its halves without the bad messages."""
        self.settled += run.count
        bad = sum(lot.count for lot in run.lots if lot.is_bad)
        if not bad:
            self.work.add(run.count, self.clock.now - run.began_at)
            return
        size = run.count
        while size > 1:
            size = -(-size // 2)
            for _ in range(bad):
                self.work.add(size, self.job.seconds(size))

    def _tell_if_idle(self) -> None:
        if not self.held:
            self.idle()
