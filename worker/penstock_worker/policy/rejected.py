"""What a run of a batch rejected, as it is kept with what that run wrote: in the ledger, and in sinks.

A later attempt at the batch may reject other messages. What the sink has is the first attempt's, so the messages that
are not in the sink are those that the first attempt rejected.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from penstock_worker.policy.outcome import Rejection
from penstock_worker.policy.ranges import as_distances, from_distances, ranges_of


def rows_of(rejections: Iterable[Rejection]) -> list[list[str]]:
    """Return reasons, each with the messages that it is given for."""
    sequences: defaultdict[str, list[int]] = defaultdict(list)
    for rejection in rejections:
        sequences[rejection.reason].append(rejection.sequence)
    return [[reason, as_distances(ranges_of(sorted(some)))] for reason, some in sequences.items()]


def from_rows(rows: Iterable[Sequence[str]]) -> tuple[Rejection, ...]:
    """Return the rejections in the order of the stream."""
    found = [
        Rejection(sequence, reason)
        for reason, distances in rows
        for first, last in from_distances(distances)
        for sequence in range(first, last + 1)
    ]
    return tuple(sorted(found, key=lambda each: each.sequence))


def as_text(rejected: Mapping[int, str]) -> str:
    """Return reasons by sequence as a sink keeps them."""
    return json.dumps(rows_of(Rejection(*each) for each in rejected.items()))


def from_text(text: str) -> dict[int, str]:
    return {each.sequence: each.reason for each in from_rows(json.loads(text))}
