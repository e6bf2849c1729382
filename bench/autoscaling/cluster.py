"""Pods, and the ReplicaSet that makes and ends them.

A pod is scheduled (sometimes only on a node that has to be brought up first), its image is pulled where its node does
not have it, then Java and Spark start. From then on it works. It ends like any pod: it is told, has its grace period
to finish what runs, and is killed. Its seconds count from when a node has it until it is gone. Which pods go is
chosen as Kubernetes' ReplicaSet chooses, or from the end of a row of numbered ones, as Numaflow does. Knows pods.
Does not know how many there should be.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from bench.autoscaling import chance
from bench.autoscaling.clock import Clock
from bench.autoscaling.worker import Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """How pods start. Times are medians, in seconds."""

    scheduled: float = 0.6
    image: float = 12.0
    """To pull, on a node that does not have it."""
    ready: float = 7.0
    """From the container's start to a Spark session."""
    spread: float = 0.3
    new_node: float = 60.0
    new_node_share: float = 0.03
    """Of the pods that find no room on the nodes that are there."""
    nodes: int = 6
    ended: float = 1.5
    """What a worker that holds nothing takes to end."""


class Victims(StrEnum):
    REPLICA_SET = "as a ReplicaSet chooses"
    LAST = "the last of a numbered row"


@dataclass(slots=True, eq=False)
class Pod:
    """One."""

    number: int
    place: int
    """In the row of numbered ones."""
    node: int
    tie: float
    scheduled_at: float | None = None
    ready_at: float | None = None
    worker: Worker | None = None
    deletion_cost: int = 0
    is_ending: bool = False
    gone_at: float | None = None

    @property
    def is_ready(self) -> bool:
        return self.worker is not None and not self.is_ending


@dataclass(slots=True)
class Cluster:
    """The pods of one queue group."""

    clock: Clock
    chance: Random
    make_worker: Callable[[], Worker]
    grace: float
    """Seconds between being told to end and being killed."""
    starts: Starts = field(default_factory=Starts)
    victims: Victims = Victims.REPLICA_SET
    changed: Callable[[int, int], None] = lambda _before, _after: None
    """Called with the number that was asked for, and the one that is now."""
    pods: list[Pod] = field(default_factory=list)
    """Those that are not gone."""
    kills: int = 0
    """Of pods with a batch running."""
    lost_seconds: float = 0.0
    """Of work."""
    _gone_seconds: float = 0.0
    _numbers: int = 0
    _with_image: set[int] = field(default_factory=set)

    @property
    def live(self) -> list[Pod]:
        """Those that were not told to end."""
        return [pod for pod in self.pods if not pod.is_ending]

    @property
    def replicas(self) -> int:
        return sum(not pod.is_ending for pod in self.pods)

    @property
    def ready(self) -> int:
        return sum(pod.is_ready for pod in self.pods)

    @property
    def pod_seconds(self) -> float:
        """Return for how long nodes have held pods, all together."""
        now = self.clock.now
        return self._gone_seconds + sum(now - pod.scheduled_at for pod in self.pods if pod.scheduled_at is not None)

    def scale(self, number: int) -> None:
        """Have so many, from now on."""
        before = self.replicas
        if number != before:
            self.changed(before, number)
        for victim in self._chosen(before - number):
            self._end(victim)
        for _ in range(number - before):
            self._start()

    def _chosen(self, number: int) -> list[Pod]:
        if number <= 0:
            return []
        live = self.live
        if self.victims is Victims.LAST:
            return sorted(live, key=lambda pod: pod.place, reverse=True)[:number]
        on_node = Counter(pod.node for pod in live)
        return sorted(live, key=lambda pod: self._rank(pod, on_node[pod.node]))[:number]

    def _rank(self, pod: Pod, on_node: int) -> tuple[bool, bool, int, int, int, float]:
        """Rank as a ReplicaSet does: not on a node, not ready, cheap, doubled up on a node, new (by powers of two)."""
        age = 0 if pod.ready_at is None else 1 + int(math.log2(1 + self.clock.now - pod.ready_at))
        return (pod.scheduled_at is not None, pod.is_ready, pod.deletion_cost, -on_node, age, pod.tie)

    def _start(self) -> None:
        taken = {pod.place for pod in self.live}
        place = next(each for each in range(len(taken) + 1) if each not in taken)
        pod = Pod(self._numbers, place, self.chance.randrange(self.starts.nodes), self.chance.random())
        self._numbers += 1
        self.pods.append(pod)
        seconds = chance.around(self.chance, self.starts.scheduled, self.starts.spread)
        ready = chance.around(self.chance, self.starts.ready, self.starts.spread)
        image = chance.around(self.chance, self.starts.image, self.starts.spread)
        if self.chance.random() < self.starts.new_node_share:
            seconds += chance.around(self.chance, self.starts.new_node, self.starts.spread)
        self.clock.after(seconds, lambda: self._scheduled(pod, image, ready))

    def _scheduled(self, pod: Pod, image: float, ready: float) -> None:
        if pod.is_ending:
            return
        pod.scheduled_at = self.clock.now
        seconds = ready if pod.node in self._with_image else image + ready
        self._with_image.add(pod.node)
        self.clock.after(seconds, lambda: self._ready(pod))

    def _ready(self, pod: Pod) -> None:
        if pod.is_ending:
            return
        pod.ready_at = self.clock.now
        pod.worker = self.make_worker()
        pod.worker.consumer.hand_out()

    def _end(self, pod: Pod) -> None:
        pod.is_ending = True
        worker = pod.worker
        if pod.scheduled_at is None:
            self._gone(pod)
            return
        if worker is None:
            self.clock.after(self.starts.ended, lambda: self._gone(pod))
            return
        worker.idle = lambda: self.clock.after(self.starts.ended, lambda: self._gone(pod))
        self.clock.after(self.grace, lambda: self._kill(pod, worker))
        if worker.is_pulling:
            worker.stop_pulling()
        elif not worker.held:
            worker.idle()

    def _kill(self, pod: Pod, worker: Worker) -> None:
        if pod.gone_at is not None:
            return
        self.kills += worker.is_busy
        worker.idle = lambda: None
        self.lost_seconds += worker.die()
        self._gone(pod)

    def _gone(self, pod: Pod) -> None:
        if pod.gone_at is None:
            pod.gone_at = self.clock.now
            self.pods.remove(pod)
            if pod.scheduled_at is not None:
                self._gone_seconds += self.clock.now - pod.scheduled_at
