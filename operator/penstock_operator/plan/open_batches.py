"""The open batches of a queue group: what the ledger has of them, and what the workers say that they run.

Pure. Knows an entry of the ledger and a worker's status (penstock_worker.policy.ledger and engine.standing; tests of
both sides hold the form). An entry that cannot be read is of a later version, and is left out.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any


class Stage(StrEnum):
    """How far a batch is."""

    RUNNING = "Running"
    COLLECTED = "Collected"
    """It is written down, and not with a driver: it waits for one, or for its next attempt."""
    COMMITTED = "Committed"
    """All is done but for the acknowledgements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBatch:
    """A batch whose messages are not all settled yet, as far as is known."""

    id: str
    worker: str
    stage: Stage
    messages: int
    bytes: int | None = None
    """Known while it runs, as is what follows."""
    attempt: int
    losses: int = 0
    """How often Spark or its worker was lost while it ran."""
    since: datetime | None = None
    """When it was written down, or last changed."""
    running_seconds: float | None = None
    deadline_seconds: float | None = None
    """How long the run may go on, counted from its beginning."""
    ranges: str = ""


@dataclass(frozen=True, slots=True)
class Consumed:
    """What a consumer says about the ledger's entries."""

    life: str
    """When its stream and the consumer itself were created."""
    ack_floor: int
    """The sequence up to which all messages are acknowledged."""


def open_batches(
    entries: Mapping[str, tuple[bytes, datetime]],
    consumed: Consumed | None,
    statuses: Iterable[Mapping[str, Any]],
    deadline_seconds: float,
) -> list[OpenBatch]:
    """Put together what the ledger has, by the ids of batches, and what workers run; those that run longest first.

    An entry with another life than that of stream and consumer is about others that had their names. A committed batch
    behind the ack floor is settled: the ledger keeps it for a while, in case the server forgets acknowledgements. It
    keeps a batch that was cut as well, whose parts are open instead.
    """
    found = {
        batch_id: batch
        for batch_id, (value, written) in entries.items()
        if (batch := _recorded(batch_id, value, written, consumed)) is not None
    }
    for status in statuses:
        for run in status.get("batches", ()):
            running = _running(str(status.get("worker", "")), run, deadline_seconds)
            before = found.get(running.id)
            found[running.id] = (
                running if before is None else replace(running, since=before.since, losses=before.losses)
            )
    return sorted(found.values(), key=lambda each: (-(each.running_seconds or 0), each.id))


def _recorded(batch_id: str, value: bytes, written: datetime, consumed: Consumed | None) -> OpenBatch | None:
    try:
        fields = json.loads(value)
        if consumed is None or fields["incarnation"] != consumed.life:
            return None
        if fields.get("parts"):
            return None
        if fields["committed"] is True and _last(str(fields["ranges"])) <= consumed.ack_floor:
            return None
        return OpenBatch(
            id=batch_id,
            worker=str(fields["worker"]),
            stage=Stage.COMMITTED if fields["committed"] is True else Stage.COLLECTED,
            messages=_count(str(fields["ranges"])),
            attempt=int(fields["attempts"]) + 1,
            losses=int(fields["losses"]),
            since=written,
        )
    except (ValueError, TypeError, KeyError):
        return None


def _count(ranges: str) -> int:
    """Count the messages of ranges written as distances: 5+2,2 is 5-7 and 9."""
    return sum(1 + int(part.partition("+")[2] or 0) for part in ranges.split(","))


def _last(ranges: str) -> int:
    """Return the last sequence of ranges written as distances."""
    return sum(int(distance) for part in ranges.split(",") for distance in part.split("+"))


def _running(worker: str, run: Mapping[str, Any], deadline_seconds: float) -> OpenBatch:
    return OpenBatch(
        id=str(run["id"]),
        worker=worker,
        stage=Stage.RUNNING,
        messages=int(run["messages"]),
        bytes=int(run["bytes"]),
        attempt=int(run["attempt"]),
        running_seconds=float(run["seconds"]),
        deadline_seconds=deadline_seconds,
        ranges=str(run["ranges"]),
    )


def held_messages(statuses: Sequence[Mapping[str, Any]]) -> int:
    """Return how many messages these workers hold."""
    return sum(int(status.get("heldMessages", 0)) for status in statuses)
