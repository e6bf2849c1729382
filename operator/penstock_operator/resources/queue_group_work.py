"""How a queue group works: batches, their order, what follows a failure, and where messages go that nobody can process.

Knows what may be written, and the ranges. What is made of it is the worker's business.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from penstock_operator.resources.part import Part, Rule
from penstock_operator.resources.ranges import holding, lasting, not_longer
from penstock_operator.resources.references import StreamRef
from penstock_operator.resources.scalars import DurationText, SizeText


class Batch(Part):
    """How messages are put together into the batches that the code is called with."""

    max_messages: Annotated[int, Field(ge=1, le=1_000_000)] = 100_000
    """A batch has no more messages than this."""
    max_bytes: Annotated[SizeText, holding("1Ki", "1Gi")] = "32Mi"
    """A batch has no more bytes than this, unless it is one message."""
    max_wait: Annotated[DurationText, lasting("0s", "5m")] = "200ms"
    """How long a free worker waits for more messages when there are few."""
    in_flight: Annotated[int, Field(ge=1, le=16)] = 2
    """How many batches one driver may have at once: with 2, the next is there when one is done."""
    deadline: Annotated[DurationText, lasting("1s", "24h")] = "10m"
    """How long one call of the code may take. Its messages are held for it that long; then it is cancelled."""


class OrderingMode(StrEnum):
    NONE = "None"
    PARTITION = "Partition"
    KEY = "Key"


class OrderingKey(Part):
    """What makes two messages belong together."""

    subject_token: Annotated[int, Field(ge=1, le=64)] | None = None
    """The number of a token of the subject, counted from 1: in orders.eu.42 the second is eu."""
    header: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = None
    """The name of a header."""

    RULES = (
        Rule(
            "Choose exactly one of subjectToken and header.",
            "has(self.subjectToken) != has(self.header)",
            lambda key: (key.subject_token is None) != (key.header is None),
        ),
    )


class Ordering(Part):
    """In which order messages are processed."""

    mode: OrderingMode = OrderingMode.NONE
    """None: any worker, any message. Partition and Key are not built yet, and refused."""
    partitions: Annotated[int, Field(ge=1, le=1024)] | None = None
    """With mode Partition: into how many parts the subjects are divided."""
    key: OrderingKey | None = None
    """With the modes Partition and Key: what makes two messages belong together."""

    RULES = (
        Rule(
            "The ordering modes Partition and Key are not built yet: choose None, or leave ordering out.",
            "self.mode == 'None'",
            lambda ordering: ordering.mode is OrderingMode.NONE,
        ),
        Rule(
            "partitions and key belong to the ordering modes Partition and Key, which are not built yet.",
            "!has(self.partitions) && !has(self.key)",
            lambda ordering: ordering.partitions is None and ordering.key is None,
        ),
    )


class Retry(Part):
    """What follows when a batch fails for a reason that may pass."""

    max_attempts: Annotated[int, Field(ge=1, le=1000)] = 5
    """How often a batch is tried before its messages are put aside."""
    initial_delay: Annotated[DurationText, lasting("0s", "1h")] = "1s"
    """How long to wait before the second attempt; each further wait is longer."""
    max_delay: Annotated[DurationText, lasting("0s", "24h")] = "4m"
    """No wait is longer than this."""

    RULES = (not_longer("initialDelay", "maxDelay"),)


class DeadLetter(Part):
    """Where messages go that cannot be processed."""

    stream_ref: StreamRef | None = None
    """The Stream that takes them; by default one that Penstock makes."""
