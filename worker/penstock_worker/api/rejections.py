"""The messages of one batch that its code refuses, each once and with the first reason given.

Knows the batch's ranges, and how a frame names messages. Does not know what becomes of what is refused.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from penstock_worker.api.session import functions
from penstock_worker.policy.outcome import Rejection
from penstock_worker.policy.ranges import Range, as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame


class Rejections:
    """What is refused so far."""

    def __init__(self, ranges: Sequence[Range]) -> None:
        self._ranges = tuple(ranges)
        self._firsts = [first for first, _ in ranges]
        self._reasons: dict[int, str] = {}

    def add(self, reasons: Mapping[int, str]) -> None:
        """Refuse messages by their sequences; one that is not in the batch is an error, and nothing is refused."""
        strangers = [sequence for sequence in reasons if not self._holds(sequence)]
        if strangers:
            raise ValueError(
                f"Message {strangers[0]} cannot be rejected: the batch holds {as_text(self._ranges)}. "
                "Give sequences of the stream, or a DataFrame that still has the batch's column seq."
            )
        for sequence, reason in reasons.items():
            self._reasons.setdefault(sequence, reason)

    def add_all(self, sequences: Iterable[int], reason: str) -> None:
        self.add(dict.fromkeys(sequences, reason))

    def known(self, earlier: Sequence[Mapping[int, str] | None]) -> tuple[Rejection, ...]:
        """Return what is rejected, given what each sink says that an earlier attempt rejected whose writing it kept.

        If all sinks kept that attempt's, its rejections alone count: what it did not reject is there. If one took this
        attempt's, both count.
        """
        kept = [each for each in earlier if each is not None]
        reasons = {} if kept and len(kept) == len(earlier) else self.reasons
        for each in kept:
            reasons = {**reasons, **{sequence: why for sequence, why in each.items() if self._holds(sequence)}}
        return tuple(Rejection(*each) for each in sorted(reasons.items()))

    @property
    def reasons(self) -> dict[int, str]:
        """Return the reasons by sequence, in the order of the stream."""
        return dict(sorted(self._reasons.items()))

    def _holds(self, sequence: int) -> bool:
        index = bisect_right(self._firsts, sequence) - 1
        return index >= 0 and sequence <= self._ranges[index][1]


def reasons_in(df: DataFrame, reason: str | Column) -> dict[int, str]:
    """Read sequences and reasons from a frame."""
    if "seq" not in df.columns:
        raise ValueError(
            "The DataFrame to reject has no column seq, which names the messages: keep it through your transformations."
        )
    f = functions(df.sparkSession)
    column = f.lit(reason) if isinstance(reason, str) else reason
    told = df.select(f.col("seq"), column.cast("string").alias("reason")).distinct().collect()
    return {row["seq"]: row["reason"] or "No reason was given." for row in told}
