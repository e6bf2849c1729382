"""The id of a batch: the same for the same messages of the same consumer, however often they are tried.

Knows what an id is made of. Sinks, dead letters and drivers know a batch by it, and may outlive its stream: other
messages have to have another id, although they are 1-500 of a stream of the same name.
"""

import hashlib
from collections.abc import Sequence

from penstock_worker.policy.ranges import Range, as_text

DIGEST_LETTERS = 8


def batch_id(stream: str, consumer: str, ranges: Sequence[Range], *, incarnation: str = "") -> str:
    """Return STREAM.CONSUMER.FIRST-LAST.DIGEST, the digest being that of all ranges, and of which stream they are."""
    digest = hashlib.sha256(f"{incarnation}{as_text(ranges)}".encode()).hexdigest()[:DIGEST_LETTERS]
    return f"{stream}.{consumer}.{ranges[0][0]}-{ranges[-1][1]}.{digest}"
