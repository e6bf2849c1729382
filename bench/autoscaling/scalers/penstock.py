"""Ours: the product's own functions, asked each second, with what workers say of themselves.

`plan.scaling` decides how many there are, `plan.fleet.shrinking` who goes and when: a worker that is to go stops
pulling, finishes what runs, and is ended once it holds nothing. Knows how they are asked, and how what they decide is
carried out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.autoscaling import chance
from bench.autoscaling.cluster import Pod
from bench.autoscaling.worker import Worker
from bench.autoscaling.world import World
from penstock_operator.plan.fleet.pods import Container, WorkerPod
from penstock_operator.plan.fleet.shrinking import FIRST_TO_GO, RETIRING, Statuses, shrink
from penstock_operator.plan.group_limits import group_limits
from penstock_operator.plan.scaling import NOTHING_YET, Decision, Limits, Memory, Observation, Reading, scale
from penstock_operator.plan.scaling.tally import Tally
from penstock_operator.resources import ConsumerSpec, QueueGroupSpec
from penstock_operator.resources.queue_group_template import ENGINE

AWAKE_SECONDS = 1.0
ASLEEP_SECONDS = 2.0
"""Between two looks at a group, with workers and without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Penstock:
    """What is set; the rest are the defaults."""

    target_drain: str = "30s"

    @property
    def label(self) -> str:
        return f"targetDrain {self.target_drain}"

    def limits(self, world: World) -> Limits:
        job = world.trace.job
        group = {
            "consumerRef": {"name": "orders"},
            "handler": {"entrypoint": "job:process", "configMapRef": {"name": "code"}},
            "batch": {"maxMessages": job.batch_messages, "inFlight": job.in_flight},
            "scaling": {"targetDrain": self.target_drain, "maxReplicas": job.max_workers},
        }
        spec = QueueGroupSpec.model_validate(group)
        return group_limits(spec, ConsumerSpec.model_construct(max_ack_pending=job.max_ack_pending))

    def attach(self, world: World) -> None:
        loop = Loop(world, self.limits(world))
        world.clock.at(chance.source(world.seed, "penstock").uniform(0, AWAKE_SECONDS), loop.look)


@dataclass(slots=True)
class Loop:
    """The scaling of one group."""

    world: World
    limits: Limits
    tally: Tally = field(default_factory=Tally)
    decisions: list[Decision] = field(default_factory=list)
    keeps_decisions: bool = False
    _memory: Memory = NOTHING_YET
    _retiring: set[int] = field(default_factory=set)
    _heard: dict[int, tuple[int, int]] = field(default_factory=dict)
    _looked_at: float = 0.0

    def look(self) -> None:
        world, now = self.world, self.world.clock.now
        if not world.is_silent:
            self._hear()
        self.tally.tick(now, now - self._looked_at)
        self._looked_at = now
        decision = scale(self.limits, self._observed(now), self._memory)
        self._memory = decision.memory
        if self.keeps_decisions:
            self.decisions.append(decision)
        self._become(decision.workers)
        world.clock.after(AWAKE_SECONDS if world.cluster.pods else ASLEEP_SECONDS, self.look)

    def _hear(self) -> None:
        for pod in self.world.cluster.pods:
            if pod.worker is None:
                continue
            told = pod.worker.work.batches, pod.worker.settled
            if self._heard.get(pod.number) != told:  # who has done nothing more has nothing new to tell
                self._heard[pod.number] = told
                self.tally.hear(str(pod.number), _told(pod.worker))

    def _observed(self, now: float) -> Observation:
        world = self.world
        counters = world.counters()
        staying = [pod for pod in world.cluster.live if pod.number not in self._retiring]
        ready = [pod for pod in staying if pod.is_ready]
        return Observation(
            now=now,
            reading=None
            if counters is None
            else Reading(
                at=now, pending=counters.pending, ack_pending=counters.ack_pending, delivered=counters.delivered
            ),
            workers=len(staying),
            ready=0 if world.is_silent else len(ready),
            held=0 if world.is_silent else sum(pod.worker.held for pod in world.cluster.pods if pod.worker),
            unheard=len(ready) if world.is_silent else 0,
            work=self.tally.work,
            settled_per_second=0.0 if world.is_silent else self.tally.per_second,
        )

    def _become(self, number: int) -> None:
        cluster = self.world.cluster
        if number == cluster.replicas and not self._retiring:
            return
        pods = {str(pod.number): pod for pod in cluster.live}
        moves = shrink(cluster.replicas, number, [_shown(pod) for pod in pods.values()], self._statuses(pods))
        for name in (*moves.recall, *moves.unmark):
            pods[name].deletion_cost = 0
        for pod, worker in _workers(pods[name] for name in moves.recall):
            self._retiring.discard(pod.number)
            worker.pull_again()
        for pod, worker in _workers(pods[name] for name in moves.retire):
            self._retiring.add(pod.number)
            worker.stop_pulling()
        for name in moves.mark:
            pods[name].deletion_cost = FIRST_TO_GO
        if moves.replicas is not None:
            cluster.scale(moves.replicas)
        self._retiring &= {pod.number for pod in cluster.live}

    def _statuses(self, pods: Mapping[str, Pod]) -> Statuses:
        if self.world.is_silent:
            return {}
        return {str(pod.number): self._status(pod, worker) for pod, worker in _workers(pods.values())}

    def _status(self, pod: Pod, worker: Worker) -> dict[str, Any]:
        return {"heldMessages": worker.held, "holds": [RETIRING] if pod.number in self._retiring else []}


def _workers(pods: Iterable[Pod]) -> list[tuple[Pod, Worker]]:
    return [(pod, pod.worker) for pod in pods if pod.worker is not None]


def _shown(pod: Pod) -> WorkerPod:
    """Return what the API server shows of it."""
    engine = Container(name=ENGINE, image="worker", is_running=pod.worker is not None)
    return WorkerPod(
        name=str(pod.number),
        revision="",
        phase="Pending" if pod.scheduled_at is None else "Running",
        node="" if pod.scheduled_at is None else str(pod.node),
        is_ready=pod.is_ready,
        deletion_cost=pod.deletion_cost,
        created=f"{pod.number:09}",
        containers=(engine,),
    )


def _told(worker: Worker) -> dict[str, Any]:
    """Return what the micro service would answer, as far as scaling reads it."""
    return {"answered": {"acked": worker.settled}, "work": worker.work.told()}
