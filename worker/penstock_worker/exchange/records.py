"""What engine and driver say to each other besides the messages themselves, as JSON.

The driver serves Arrow Flight on a unix socket, and the engine calls it:

- action `describe`: who serves there (`Description`). A new `incarnation` is a new process, which knows of no batch;
- `do_put` of a batch: its descriptor's command is a `Handed`, its rows are in the columns of `columns.py`. What the
  driver writes back is one `Outcome`, once the run is over. A run that the driver already knows by its id and number is
  not begun again: its outcome is told once more, or awaited. So an engine that restarts may ask again;
- `do_get` with a `RunName` as ticket: the messages that the code wants published, if its outcome says that there are;
- action `cancel` with a `RunName`: its outcome comes by its own call;
- action `forget` with a `RunName`: nobody will ask for its outcome any more;
- action `await-end`: answered once the driver begins nothing more, by a `Description` that says so; the engine asks it
  first of all, and has it answered last;
- action `end`: the process is to end, as a run in it did not; whoever keeps it alive starts another.

Knows the words, and how they are written. Neither side need be of the same version: what one does not know, it leaves.
"""

from dataclasses import dataclass

from penstock_worker.policy.ranges import Range
from penstock_worker.policy.trouble import Trouble

DESCRIBE, CANCEL, FORGET, AWAIT_END, END = "describe", "cancel", "forget", "await-end", "end"


@dataclass(frozen=True, slots=True)
class RunName:
    """One run of one batch."""

    batch_id: str
    run: int
    """Counted from 1 by the engine, over all attempts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """A batch, as it is handed over."""

    name: RunName
    deadline_seconds: float
    """From now."""
    attempt: int
    """Counted from 1: how often these messages are tried, this time included."""
    redelivered: bool
    """Whether the server delivered some of it before."""
    stream: str
    incarnation: str = ""
    """The stream's and the consumer's: others of the same names are others."""
    consumer: str
    ranges: tuple[Range, ...]
    ancestors: tuple[str, ...] = ()
    """Batches that it was cut from, under whose ids sinks may have its messages."""
    count: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """Who serves."""

    incarnation: str
    entrypoint: str
    spark: str
    """The Spark that runs the code, such as local[*], without secrets."""
    ready: bool
    """Whether a batch can be handed over now."""
    why_not: str = ""
    trouble: Trouble = Trouble.NONE
    """What `why_not` is about, for programs."""
    permanent: bool = False
    """Whether it will not become ready by waiting: the code cannot be imported, say."""
    ending: bool = False
    """Whether it was told to end: it finishes what it has, and is not ready any more."""
