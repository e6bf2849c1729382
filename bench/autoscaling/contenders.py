"""Who decides, and with which settings: each peer as it comes, and in a grid of settings of which it may have the best.

Knows settings. Thresholds of KEDA are given in seconds of one worker's full speed, as a person would reckon who knows
it. Workers of all are the same; of peers as they come only their grace period is Kubernetes' own.
"""

from dataclasses import dataclass
from typing import Protocol

from bench.autoscaling.cluster import Victims
from bench.autoscaling.jobs import Job
from bench.autoscaling.measures import Outcome
from bench.autoscaling.scalers.keda import Keda
from bench.autoscaling.scalers.numaflow import Numaflow
from bench.autoscaling.scalers.penstock import Penstock
from bench.autoscaling.traces import TRACES
from bench.autoscaling.world import World

KUBERNETES_GRACE = 30.0
GRACE_BEYOND_DEADLINE = 30.0
"""What our workers get to end beyond the deadline of a batch; so do those of tuned peers."""

OURS, KEDA, NUMAFLOW = "ours", "keda_hpa", "numaflow"
PEERS = (KEDA, NUMAFLOW)

LAG_SECONDS = (1, 2.5, 5, 10, 20, 40)
KEDA_TIMES = ((30, 300), (5, 120), (5, 30))
"""How often is polled, and how long fewer must have been wanted."""
TARGETS = (5, 10, 20, 40)
NUMAFLOW_TIMES = ((2, 90, 120, 120), (5, 60, 60, 120), (20, 30, 30, 60))
"""So many pods at once, the cooldown, how long it sleeps at zero, and how far it looks back."""


class Scaler(Protocol):
    """Something that decides."""

    @property
    def label(self) -> str: ...

    def attach(self, world: World) -> None: ...


@dataclass(frozen=True, slots=True)
class Contender:
    """Settings of one, and whether its workers have time to finish their batches."""

    name: str
    scaler: Scaler
    is_tuned: bool = True

    def run(self, trace: str, seed: int) -> Outcome:
        job = TRACES[trace].job
        grace = job.deadline + GRACE_BEYOND_DEADLINE if self.is_tuned else KUBERNETES_GRACE
        victims = Victims.LAST if self.name == NUMAFLOW else Victims.REPLICA_SET
        world = World(TRACES[trace], seed, grace, victims)
        self.scaler.attach(world)
        return world.run()


def ours() -> Contender:
    return Contender(OURS, Penstock())


def as_it_comes(peer: str) -> Contender:
    return Contender(peer, Keda() if peer == KEDA else Numaflow(), is_tuned=False)


def grid(peer: str, job: Job) -> list[Contender]:
    """Return all the settings that a peer may have for a job."""
    scalers: list[Scaler]
    if peer == KEDA:
        scalers = [
            Keda(lag_threshold=max(1, round(job.worker_per_second * seconds)), polling_interval=poll, down_window=down)
            for seconds in LAG_SECONDS
            for poll, down in KEDA_TIMES
        ]
    else:
        scalers = [
            Numaflow(target=target, per_scale=at_once, cooldown=cooldown, zero_sleep=sleep, lookback=lookback)
            for target in TARGETS
            for at_once, cooldown, sleep, lookback in NUMAFLOW_TIMES
        ]
    return [Contender(peer, scaler) for scaler in scalers]
