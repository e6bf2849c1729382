"""What Prometheus is told of a worker: batches by how they ended, messages by what became of them, what is held now.

A registry of its own, nothing global; all series carry the group and the worker. Counters are fed as things happen.
Knows prometheus_client. Does not serve (../probes.py).
"""

from collections.abc import Callable

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from penstock_worker.engine.shelf import Shelf
from penstock_worker.engine.standing import Standing

LABELS = ("group", "worker")
SECONDS_BUCKETS = (0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600)
"""From one small Spark job to the usual deadline."""


class Metrics:
    """Everybody who does something that counts notes it here."""

    def __init__(self, group: str, worker: str) -> None:
        self.registry = CollectorRegistry()
        self._own = {"group": group, "worker": worker}
        self._runs = self._counter("penstock_batch_runs", "Runs of batches, by their verdict.", "verdict")
        self._notes = self._counter("penstock_batch_events", "What happened to batches besides running.", "event")
        self._messages = self._counter("penstock_messages", "Messages that have their final answer.", "outcome")
        self._bytes = self._counter("penstock_message_bytes", "Bytes of these messages.", "outcome")
        self._renewals = self._counter("penstock_lease_renewals", "Messages whose ack wait was begun anew.")
        self._published = self._counter("penstock_published", "Messages published for the code.")
        self._seconds = Histogram(
            "penstock_batch_seconds",
            "How long a run of a batch took.",
            [*LABELS, "verdict"],
            buckets=SECONDS_BUCKETS,
            registry=self.registry,
        )
        prometheus_client.ProcessCollector(registry=self.registry)

    def watch(self, standing: Standing, shelf: Shelf) -> None:
        """Read from these, whenever somebody asks, everything that goes up and down."""
        self._gauge("penstock_in_flight", "Batches that are with the driver.", lambda: len(standing.runs))
        self._gauge("penstock_held_messages", "Messages that are held.", lambda: shelf.messages)
        self._gauge("penstock_ready", "1 while messages are worked on, or would be.", lambda: standing.ready().holds)
        self._gauge(
            "penstock_circuit_open", "1 while nothing is pulled after failures.", lambda: standing.is_circuit_open
        )
        self._gauge("penstock_pending", "Messages that the consumer has yet to deliver.", lambda: standing.pending)
        self._gauge("penstock_ack_pending", "Messages delivered, not acknowledged.", lambda: standing.ack_pending)
        self._gauge("penstock_redelivered", "Those of them delivered more than once.", lambda: standing.redelivered)

    def ran(self, verdict: str, seconds: float) -> None:
        self._runs.labels(**self._own, verdict=verdict).inc()
        self._seconds.labels(**self._own, verdict=verdict).observe(seconds)

    def noted(self, event: str) -> None:
        self._notes.labels(**self._own, event=event).inc()

    def answered(self, outcome: str, messages: int, size_bytes: int) -> None:
        self._messages.labels(**self._own, outcome=outcome).inc(messages)
        self._bytes.labels(**self._own, outcome=outcome).inc(size_bytes)

    def renewed(self, messages: int) -> None:
        self._renewals.labels(**self._own).inc(messages)

    def published(self, messages: int) -> None:
        self._published.labels(**self._own).inc(messages)

    def shown(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return prometheus_client.generate_latest(self.registry)

    def _gauge(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        gauge = Gauge(name, meaning, LABELS, registry=self.registry)
        gauge.labels(**self._own).set_function(read)

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(name, meaning, [*LABELS, *labels], registry=self.registry)
