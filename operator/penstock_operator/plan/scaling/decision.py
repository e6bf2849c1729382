"""What was decided, and the words that explain it to people.

Knows how it is said. Does not decide.
"""

from dataclasses import dataclass
from enum import StrEnum

from penstock_operator.plan.scaling.memory import Memory


class Why(StrEnum):
    """What the number follows from, as a condition's reason."""

    WORK = "Backlog"
    """What waits, what comes in, and what runs."""
    IDLE = "Idle"
    """There was nothing for long enough."""
    NOT_IDLE_YET = "WaitingForIdle"
    """There is nothing, and there was something a moment ago."""
    MINIMUM = "AtMinimum"
    MAXIMUM = "AtMaximum"
    MAX_ACK_PENDING = "LimitedByMaxAckPending"
    QUOTA = "LimitedByQuota"
    FUTILE = "MoreWorkersDoNoMore"
    STABILIZING = "Stabilizing"
    UNKNOWN = "BacklogUnknown"


@dataclass(frozen=True, slots=True)
class Decision:
    """How many workers there shall be from now on."""

    workers: int
    why: Why
    words: str
    memory: Memory
    """For the next decision."""
