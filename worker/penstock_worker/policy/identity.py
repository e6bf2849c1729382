"""The id of a batch: the same for the same messages of the same consumer, however often they are tried.

Knows what an id is made of. Sinks and drivers know a batch by it, and outlive what the server knows: a stream may be
made anew, or may have lost its newest messages in a crash and given their sequences to others. Those are other batches,
and the time that the stream took the last of them tells. So are the batches of a consumer that was deleted and created
again: it is to give everything once more, and sinks are to take it.
"""

import hashlib
from collections.abc import Sequence

from penstock_worker.policy.ranges import Range, as_text

DIGEST_LETTERS = 8


def batch_id(stream: str, consumer: str, ranges: Sequence[Range], *, newest: int, life: str) -> str:
    """Return STREAM.CONSUMER.FIRST-LAST.DIGEST.

    The digest is of all ranges, the newest message's time, and the times when stream and consumer were created.
    """
    digest = hashlib.sha256(f"{life}:{newest}:{as_text(ranges)}".encode()).hexdigest()[:DIGEST_LETTERS]
    return f"{stream}.{consumer}.{ranges[0][0]}-{ranges[-1][1]}.{digest}"


def own_part(name: str) -> str:
    """Return FIRST-LAST.DIGEST of an id, which is what it has beside the names of its stream and consumer."""
    return ".".join(name.rsplit(".", 2)[1:])
