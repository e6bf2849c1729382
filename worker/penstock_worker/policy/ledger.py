"""An entry of the ledger: which messages form a batch, and how far it got. One key of a bucket per batch.

Knows what is written, and how: JSON, with the ranges as distances, which keeps 100 000 scattered messages below a
server's 1 MiB. What a later version adds is left alone. Does not know buckets, nor when to write (machine/).
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil, log10
from typing import Self

from penstock_worker.policy.identity import own_part
from penstock_worker.policy.ranges import Range, as_distances, contains, from_distances, ranges_of, sequences

OTHER_FIELDS_BYTES = 1024
"""Of an entry, all but the ranges; names of workers are not longer than 253 letters."""

ANCESTOR_BYTES = 64
"""Two sequences, a digest and what is between them."""
INCARNATION_BYTES = 256
"""Two times and a space are shorter."""


class LedgerEntryError(ValueError):
    """What a key holds is no entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A batch whose messages are not all settled yet, as far as is known."""

    batch_id: str
    ranges: tuple[Range, ...]
    newest: int
    """The latest time at which the stream took one of them: what it took later is none of them, whatever its sequence.

    The time of the last sequence may be an earlier one, where a server's clock was set back.
    """
    worker: str
    """Who wrote it last."""
    attempts: int = 0
    """How often it failed for a reason that may pass, while others did not."""
    losses: int = 0
    """How often Spark or its worker was lost while it ran, or might have run."""
    oldest: int = 0
    """The earliest such time, for a server that has lost messages, and whose clock is behind since."""
    committed: bool = False
    """Whether all is done but for the acknowledgements: messages of it that come again are only acknowledged."""
    rejected: tuple[Range, ...] = ()
    """What the run rejected that ended well. It is not run again. Without reasons, as they quote payloads."""
    ancestors: tuple[str, ...] = ()
    """Batches, the latest first, that all of its messages were in before it was cut from them: sinks may have these."""
    parts: tuple["Part", ...] = ()
    """Batches that were cut from it. With any it does not run as a whole any more. No two have a message in common."""

    def holds(self, sequence: int, stored_at: int) -> bool:
        """Tell whether this very message is one of them."""
        return self.oldest <= stored_at <= self.newest and contains(self.ranges, sequence)

    def spans(self, first: int, last: int) -> bool:
        """Tell whether some of its messages may be among these."""
        return self.ranges[0][0] <= last and first <= self.ranges[-1][1]

    @property
    def lineage(self) -> tuple[str, ...]:
        """Return what a batch of some of its messages has as ancestors."""
        return self.batch_id, *self.ancestors

    @property
    def count(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    def after_a_loss(self) -> Self:
        """Return it as its next holder has it: the one before may have been lost over it."""
        return self if self.is_over else replace(self, losses=self.losses + 1)

    def may_replace(self, held: "Entry") -> bool:
        """Tell whether it may be written over what is there, by a worker that may not know of that."""
        knows_parts = set(held.parts) <= set(self.parts)
        return self.committed or (knows_parts and (self.is_over or not held.is_over))

    @property
    def is_over(self) -> bool:
        """Whether a run of it ended well, so that it does not run again."""
        return self.committed or bool(self.rejected)

    def of_parts(self) -> tuple["Entry", ...]:
        """Return an entry for each part, to use where the part has no entry of its own yet."""
        return tuple(
            replace(
                self,
                batch_id=part.batch_id,
                ranges=part.ranges,
                rejected=ranges_of(each for each in sequences(self.rejected) if contains(part.ranges, each)),
                ancestors=self.lineage,
                parts=(),
            )
            for part in self.parts
        )

    def with_parts(self, parts: Iterable["Part"], *, most_bytes: int) -> Self:
        """Return it with more parts, unless it would be larger than that."""
        return self._within(replace(self, parts=(*self.parts, *parts)), most_bytes)

    def with_rejected(self, rejected: Iterable[int], *, most_bytes: int) -> Self:
        """Return it with what was rejected, in the order of the stream, unless it would be larger than that."""
        return self._within(replace(self, rejected=ranges_of(rejected)), most_bytes)

    def _within(self, entry: Self, most_bytes: int) -> Self:
        return entry if len(encode(entry, incarnation="")) + INCARNATION_BYTES <= most_bytes else self


@dataclass(frozen=True, slots=True)
class Part:
    """A batch that was cut from another."""

    batch_id: str
    ranges: tuple[Range, ...]


def encode(entry: Entry, *, incarnation: str) -> bytes:
    """Return the value of the key. The incarnation is that of stream and consumer, say the times they were made."""
    fields: dict[str, object] = {
        "incarnation": incarnation,
        "ranges": as_distances(entry.ranges),
        "newest": entry.newest,
        "oldest": entry.oldest,
        "worker": entry.worker,
        "attempts": entry.attempts,
        "losses": entry.losses,
        "committed": entry.committed,
    }
    if entry.ancestors:
        fields["ancestors"] = [own_part(name) for name in entry.ancestors]
    if entry.parts:
        fields["parts"] = {own_part(part.batch_id): as_distances(part.ranges) for part in entry.parts}
    if entry.rejected:
        fields["rejected"] = as_distances(entry.rejected)
    return json.dumps(fields, separators=(",", ":")).encode()


def most_bytes(ranges: Sequence[Range], messages: int, ancestors: int = 0) -> int:
    """Return how large an entry of so many messages in these ranges is at most, without writing it.

    Numbers of a certain sum have the most digits if all are the same, as a logarithm is concave.
    """
    distances, followed = len(ranges), min(len(ranges), messages - len(ranges))
    span = ranges[-1][1] - ranges[0][0] + 1
    return (
        OTHER_FIELDS_BYTES
        + ancestors * ANCESTOR_BYTES
        + _most_digits(distances, span)
        + _most_digits(followed, messages)
    )


def _most_digits(count: int, total: int) -> int:
    """Return how many letters so many numbers of at least 1 have at most, each with one before it."""
    return ceil(count * (2 + log10(max(1, total / count)))) if count else 0


def decode(batch_id: str, value: bytes, *, incarnation: str) -> Entry | None:
    """Read a key's value; None if it is about another stream or consumer of the same name."""
    try:
        fields = json.loads(value)
        if fields["incarnation"] != incarnation:
            return None
        names = batch_id.removesuffix(own_part(batch_id))
        return Entry(
            batch_id=batch_id,
            ancestors=tuple(f"{names}{each}" for each in fields.get("ancestors", ())),
            parts=tuple(Part(f"{names}{own}", from_distances(text)) for own, text in fields.get("parts", {}).items()),
            ranges=from_distances(fields["ranges"]),
            newest=int(fields["newest"]),
            oldest=int(fields.get("oldest", 0)),
            worker=str(fields["worker"]),
            attempts=int(fields["attempts"]),
            losses=int(fields["losses"]),
            committed=fields["committed"] is True,
            rejected=from_distances(fields["rejected"]) if "rejected" in fields else (),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise LedgerEntryError(
            f"The ledger's entry of batch {batch_id} cannot be read ({error!r}): {value[:200]!r}. "
            "Its messages, if they come again, form a new batch."
        ) from error


def is_former(value: bytes, *, incarnation: str) -> bool:
    """Tell whether an entry is about a stream or consumer in whose place those of this incarnation were created."""
    try:
        times, ours = (
            [datetime.fromisoformat(each) for each in text.split(" ")]
            for text in (json.loads(value)["incarnation"], incarnation)
        )
        return times != ours and all(time <= our for time, our in zip(times, ours, strict=True))
    except (ValueError, TypeError, KeyError, AttributeError):
        return False
