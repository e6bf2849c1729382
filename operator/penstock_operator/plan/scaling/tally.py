"""What a queue group's workers have done, added up over workers that come and go and engines that start anew.

Pure: statuses as the micro service tells them come in, with a time. Knows that a worker counts from its own start, and
that one which tells of less than before has started anew. Does not ask anybody.
"""

from collections import Counter, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock_operator.plan.scaling.service import NO_WORK_YET, Work

RATE_SECONDS = 5.0
"""Over what time a rate is the mean."""
FADING = 0.98
"""What a second leaves of the weight of batches that were done: what a batch costs is learned from the last minutes."""
SETTLED = ("acked", "dead-lettered")

Status = Mapping[str, Any]


@dataclass(slots=True)
class Tally:
    """Of one group."""

    verdicts: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    work: Work = NO_WORK_YET
    """Of late."""
    _last: dict[str, Status] = field(default_factory=dict)
    """What each worker said last."""
    _settled: deque[tuple[float, int]] = field(default_factory=deque)

    @property
    def settled(self) -> int:
        return sum(self.answered[outcome] for outcome in SETTLED)

    def began(self, worker: str) -> None:
        """A worker's engine starts, and counts from nothing."""
        self._last.pop(worker, None)

    def hear(self, worker: str, status: Status) -> None:
        """Add what a worker has done since it was heard last."""
        before = self._last.get(worker, {})
        if _is_less(status, before):
            before = {}
        self._last[worker] = status
        self.verdicts.update(_more(status, before, "verdicts"))
        self.answered.update(_more(status, before, "answered"))
        self.work += _work(_more(status, before, "work"))

    def forget(self, staying: Collection[str]) -> None:
        """Keep in mind these workers only: others are gone, and what they have done is added up already."""
        self._last = {worker: status for worker, status in self._last.items() if worker in staying}

    def tick(self, now: float, seconds: float) -> None:
        """Let time pass."""
        self.work = self.work.faded(FADING**seconds)
        self._settled.append((now, self.settled))
        while len(self._settled) > 1 and now - self._settled[1][0] >= RATE_SECONDS:
            self._settled.popleft()

    @property
    def per_second(self) -> float:
        """How many messages were settled in each of the last seconds."""
        if len(self._settled) <= 1:
            return 0.0
        (began, before), (ended, after) = self._settled[0], self._settled[-1]
        return (after - before) / (ended - began) if ended > began else 0.0


def _is_less(status: Status, before: Status) -> bool:
    """Tell whether a worker counts fewer batches than it did: then it counts from nothing again."""
    return _runs(status) < _runs(before)


def _runs(status: Status) -> int:
    return sum((status.get("verdicts") or {}).values())


def _more(status: Status, before: Status, name: str) -> dict[str, Any]:
    old = before.get(name) or {}
    return {key: value - old.get(key, 0) for key, value in (status.get(name) or {}).items()}


def _work(more: Mapping[str, float]) -> Work:
    names = ("batches", "messages", "seconds", "messagesSquared", "messagesTimesSeconds", "busySeconds")
    return Work(*(more.get(name, 0) for name in names))
