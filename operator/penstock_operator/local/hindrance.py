"""Whether a queue group gets on, and what keeps it from that: for who looks at it, and for a drain, which has to end.

Pure: what workers and the server say comes in, and how much time has passed. Does not ask anybody, and does not decide
what follows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock_jetstream.core.consumer_info import Pause
from penstock_operator.plan.declared import Identity

PAUSED = "paused"
"""A worker's word for why it pulls nothing: somebody told it to."""

Status = Mapping[str, Any]


@dataclass(slots=True)
class Standstill:
    """For how long nothing has been settled, but for the time that batches take."""

    seconds: float = 0.0
    _settled: int = 0

    def tick(self, seconds: float, *, settled: int, is_running: bool, is_done: bool) -> None:
        """Let time pass. `settled` counts all messages so far; `is_done`: there is nothing to settle."""
        if settled != self._settled or is_done:
            self.seconds = 0.0
        elif not is_running:
            self.seconds += seconds
        self._settled = settled


def resumed_by(group: Identity, *, is_declared: bool) -> str:
    """Say how a paused group goes on."""
    if is_declared:
        return "Its manifest says suspend: true; without that it goes on."
    return f"`penstock resume {group.name}` has it go on."


def pause_of_consumer(consumer: str, pause: Pause | None) -> str:
    """Say that the server delivers nothing, if that is so."""
    if pause is None or not pause.is_paused:
        return ""
    until = f" until {pause.until:%Y-%m-%d %H:%M:%S} UTC" if pause.until else ""
    return f"The server has paused the consumer {consumer}{until}: its pauseUntil says so, or a person did."


def pause_of_workers(group: Identity, statuses: Sequence[Status]) -> str:
    """Say that all workers were told to pull nothing, if that is so."""
    if statuses and all(PAUSED in status.get("holds", ()) for status in statuses):
        return f"Its workers were told to pause. {resumed_by(group, is_declared=False)}"
    return ""


def complaint(statuses: Sequence[Status]) -> str:
    """Return what workers say of why they get nowhere."""
    if not statuses:
        return "None of its workers answers; `penstock logs` shows what they said last."
    for status in statuses:
        if not status.get("ready"):
            return str(status.get("sentence", ""))
    faults = [str(status["fault"]) for status in statuses if status.get("fault")]
    return f"The last batch failed: {faults[0]}" if faults else "Its workers say that they are ready."
