"""KEDA with its nats-jetstream trigger, and the HPA that it makes: the first worker and the last are KEDA's business.

As its source has it (pkg/scaling/executor/scale_scaledobjects.go, pkg/scalers/nats_jetstream_scaler.go): lag is what
is pending and ack pending, from the monitoring endpoint of the server that led the consumer when it was looked for.
An error of that endpoint changes nothing. From one worker up an HPA decides, which asks for the same lag at its own
times.
"""

from dataclasses import dataclass, field

from bench.autoscaling import chance
from bench.autoscaling.scalers.hpa import SYNC_SECONDS, Hpa
from bench.autoscaling.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Keda:
    """A ScaledObject. The defaults are KEDA's own."""

    lag_threshold: float = 10
    polling_interval: float = 30
    cooldown_period: float = 300
    activation: float = 0
    down_window: float = 300
    """Of the HPA's stabilization."""

    @property
    def label(self) -> str:
        times = f"polled each {self.polling_interval:g} s, {self.down_window:g} s down"
        return f"lagThreshold {self.lag_threshold:,.0f}, {times}"

    def attach(self, world: World) -> None:
        hpa = Hpa(target=self.lag_threshold, max_replicas=world.trace.job.max_workers, down_window=self.down_window)
        scaled = ScaledObject(self, world, hpa)
        phase = chance.source(world.seed, "keda")
        world.clock.every(self.polling_interval, scaled.poll, first=phase.uniform(0, self.polling_interval))
        world.clock.every(SYNC_SECONDS, scaled.sync, first=phase.uniform(0, SYNC_SECONDS))


@dataclass(slots=True)
class ScaledObject:
    """One, at work."""

    settings: Keda
    world: World
    hpa: Hpa
    _active_at: float | None = field(default=None)

    def poll(self) -> None:
        """Wake at the first message, and go to zero once there has been none for the cooldown."""
        lag, cluster, now = self._lag(), self.world.cluster, self.world.clock.now
        if lag is None:
            return
        if lag > self.settings.activation:
            self._active_at = now
            if not cluster.replicas:
                cluster.scale(1)
        elif cluster.replicas and (self._active_at is None or self._active_at + self.settings.cooldown_period < now):
            cluster.scale(0)

    def sync(self) -> None:
        cluster = self.world.cluster
        cluster.scale(self.hpa.sync(self.world.clock.now, cluster.replicas, self._lag()))

    def _lag(self) -> int | None:
        counters = self.world.monitored()
        return None if counters is None else counters.pending + counters.ack_pending
