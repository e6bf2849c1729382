"""What a run of a batch rejected, as sinks keep it with what that run wrote.

A later attempt at the batch may reject other messages. What the sink has is the first attempt's, so the messages that
are not in the sink are those that the first attempt rejected.
"""

import json
from collections import defaultdict
from collections.abc import Mapping

from penstock_worker.policy.ranges import as_distances, from_distances, ranges_of


def as_text(rejected: Mapping[int, str]) -> str:
    """Return reasons by sequence as a sink keeps them: each reason with the messages that it is given for."""
    sequences: defaultdict[str, list[int]] = defaultdict(list)
    for sequence, reason in rejected.items():
        sequences[reason].append(sequence)
    return json.dumps([[reason, as_distances(ranges_of(sorted(some)))] for reason, some in sequences.items()])


def from_text(text: str) -> dict[int, str]:
    """Read what `as_text` returned, in the order of the stream."""
    return dict(
        sorted(
            (sequence, reason)
            for reason, distances in json.loads(text)
            for first, last in from_distances(distances)
            for sequence in range(first, last + 1)
        )
    )
