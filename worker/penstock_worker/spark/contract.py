"""What a driver needs of a Spark, whichever it is: an own JVM, a cluster, or a Connect server.

Knows the words. Each slot of the driver has a session of its own, so that two batches at once share neither settings
nor views; a slot uses its session from one thread, in which it was made.
"""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class Seat(Protocol):
    """A session for one slot."""

    @property
    def session(self) -> "SparkSession": ...

    def frame(self, table: "pa.Table") -> "DataFrame":
        """Return the table's rows as a DataFrame."""

    def tagged(self, tag: str) -> AbstractContextManager[None]:
        """Have all that runs within known by a tag, in logs and for interrupting."""

    def interrupt(self) -> None:
        """Cancel what runs in this session, from another thread. What is begun afterwards is not cancelled."""


END_SECONDS = 10.0
"""What any Spark gets to end in order."""


class Spark(Protocol):
    """A Spark that can be started, lost, and started anew."""

    name: str
    """Where it runs, without secrets."""
    sees_our_modules: bool
    """Whether its Python workers can import what this process can."""

    @property
    def end_seconds(self) -> float:
        """How long `close` may take."""

    def start(self) -> None:
        """Start it, or raise a CannotStartError. It may have been there before: nothing of that is used again."""

    def seat(self, slot: int) -> Seat:
        """Return the slot's seat, in the slot's thread."""

    def complaint(self) -> str | None:
        """Return why it is lost, or None. May take seconds."""

    def close(self) -> None:
        """End it, or what is left of it; at once, and without an error."""

    def kill(self) -> None:
        """End the processes of it that are ours, this instant."""
