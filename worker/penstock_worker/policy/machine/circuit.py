"""The circuit: open once several batches in a row failed for a reason that may pass, so that it is not theirs alone.

While it is open nothing is pulled, nothing becomes a dead letter for such a reason, and one run at a time tries whether
it passed, after waits that grow. Knows batches by their ids. Does not know what runs.
"""

from dataclasses import dataclass, field

from penstock_worker.policy.machine.delays import growing
from penstock_worker.policy.settings import RetrySettings

BATCHES_IN_A_ROW = 3


@dataclass(slots=True)
class Circuit:
    """Closed at first."""

    retry: RetrySettings
    failed: set[str] = field(default_factory=set)
    """Batches that failed since the last one that did not."""
    is_open: bool = False
    probes: int = 0
    probe_at: float = 0

    def failed_by(self, batch_id: str, now: float, chance: float) -> bool:
        """Book a failure; return whether it opens the circuit."""
        self.failed.add(batch_id)
        opens = not self.is_open and len(self.failed) >= BATCHES_IN_A_ROW
        if opens:
            self.is_open, self.probes = True, 0
        if self.is_open:
            self.probes += 1
            self.probe_at = now + growing(self.retry, self.probes, chance)
        return opens

    def passed(self) -> bool:
        """Book that something went well; return whether it closes the circuit."""
        self.failed.clear()
        closes, self.is_open = self.is_open, False
        return closes
