"""How one run of a batch ended, as the driver tells it and the engine acts on it.

Knows the words. Does not know which error means what (classification.py), nor what follows (the engine's machine).
"""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What kind of end it was."""

    OK = "ok"
    """The function returned: everything that is not rejected is done."""
    DATA = "data"
    """Some message of it cannot be processed, by anybody, ever."""
    CODE = "code"
    """The code or its configuration is wrong: no message is to blame."""
    TRANSIENT = "transient"
    """What passes: the same run may succeed later."""
    ENGINE_LOST = "engine-lost"
    """Spark itself is gone: the JVM, the Connect server or its session."""
    DEADLINE = "deadline"
    """The run took longer than it may, and was cancelled."""
    CUT = "cut"
    """Another worker has cut the batch, and a sink has a part of it: it cannot be written as a whole any more."""
    CANCELLED = "cancelled"
    """The engine asked for it: somebody cancelled the batch, or the worker ends."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An error, as far as people and dead letters need it."""

    type: str
    """The name of its class."""
    message: str
    """What it says, which may quote payloads: for dead letters."""
    condition: str | None = None
    """Spark's error condition, such as CAST_INVALID_INPUT."""
    sqlstate: str | None = None
    trace: str = ""
    place: str | None = None
    """The line of the user's code that it came from, as FILE:LINE."""
    sentence: str = ""
    """What is said of it in logs and in the status: it quotes no payload."""

    @property
    def told(self) -> str:
        return self.sentence or self.type


@dataclass(frozen=True, slots=True)
class Rejection:
    """A message that the code refused, by its sequence in the stream."""

    sequence: int
    reason: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one run of one batch."""

    verdict: Verdict
    seconds: float
    """How long the function ran."""
    rejections: tuple[Rejection, ...] = ()
    """With OK: what to put aside. All else of the batch is done."""
    fault: Fault | None = None
    """With every verdict but OK."""
    retry_after_seconds: float | None = None
    """With TRANSIENT: what the code asked for."""
    outgoing: int = 0
    """With OK: how many messages the code wants published. The engine gets them by `do_get`, before it settles."""
