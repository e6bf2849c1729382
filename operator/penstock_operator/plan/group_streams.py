"""The streams that a queue group needs besides those that are declared: the ledger's bucket, and one for dead letters.

Pure. The operator creates them, as `penstock up` does, so that no worker needs the right to create a stream. What has
to be true of them so that nothing is lost is judged by the engine (penstock_worker.engine.prerequisites).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock_jetstream.core.keyvalue import stream_config, stream_of
from penstock_operator.plan.group_places import GroupPlace

LEDGER_BUCKET = "penstock-ledger"
LEDGER_STREAM = stream_of(LEDGER_BUCKET)
ENTRIES_KEPT_SECONDS = 30 * 24 * 3600.0
"""Entries of workers that never come back are removed after this time."""
DUPLICATE_WINDOW_NS = 3600 * 10**9
"""A worker that dies between publishing a dead letter and terminating its message is replaced well within it."""


@dataclass(frozen=True, slots=True)
class GroupStream:
    """One of them."""

    name: str
    purpose: str
    """As it follows the name in a sentence."""
    config: Mapping[str, Any]


def group_streams(place: GroupPlace, replicas: int = 1) -> tuple[GroupStream, ...]:
    """Return those that the operator creates, with as many replicas as the stream that messages come from has."""
    ledger = stream_config(
        LEDGER_BUCKET,
        {
            "description": "Open batches of Penstock's queue groups",
            "history": 1,
            "ttl_seconds": ENTRIES_KEPT_SECONDS,
            "replicas": replicas,
        },
    )
    dead_letters = {
        "name": place.dead_letter_stream,
        "subjects": [f"{place.dead_letter_subject}.>"],
        "num_replicas": replicas,
        "duplicate_window": DUPLICATE_WINDOW_NS,
        "allow_direct": True,
        "description": f"Dead letters of consumer {place.consumer} of stream {place.stream}",
    }
    own = (
        () if place.dead_letter_identity else (GroupStream(place.dead_letter_stream, "of dead letters", dead_letters),)
    )
    return GroupStream(LEDGER_STREAM, "of the ledger", ledger), *own
