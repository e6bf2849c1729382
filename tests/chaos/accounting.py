"""The account of a round: where each message is in the end.

What is in no sink, in no dead letter and not on the server any more is lost.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

COMMITTED = "_SUCCESS"
"""Spark's mark of a folder that was written to its end."""


@dataclass(frozen=True)
class Account:
    """What became of the messages of a round."""

    messages: int = 0
    lost: int = 0
    dead: int = 0
    left: int = 0
    """Those that are still on the server."""
    twice_appended: int = 0
    """Rows too many in the sink that takes whatever it is given."""
    twice_staged: int = 0
    """Rows too many in the sink that takes a batch's id once."""
    problems: tuple[str, ...] = ()
    """What must never be."""


@dataclass
class Sinks:
    """What the user's code wrote."""

    folder: Path
    staged: Counter[int] = field(default_factory=Counter)
    appended: Counter[int] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    _seen: set[Path] = field(default_factory=set)

    def read(self) -> None:
        """Take in what was written since."""
        for sink, pattern, rows in (("staged", "batch=*", self.staged), ("appended", "*", self.appended)):
            for folder in (self.folder / sink).glob(pattern):
                if folder not in self._seen and (folder / COMMITTED).exists():
                    self._seen.add(folder)
                    self._count(folder, rows)

    def _count(self, folder: Path, rows: Counter[int]) -> None:
        for file in folder.glob("*.parquet"):
            table = pq.read_table(file, columns=["seq", "number"], partitioning=None)
            if not table["seq"].equals(table["number"]):
                self.problems.append(f"{folder.name} has rows that are not what was published")
            rows.update(table["seq"].to_pylist())

    def account(self, first: int, last: int, dead: Counter[int], left: int) -> Account:
        """Return the account of messages by their sequences, with the dead letters of each."""
        sequences = range(first, last + 1)
        problems = [*self.problems]
        problems += [f"message {each} has {dead[each]} dead letters" for each in sequences if dead[each] > 1]
        both = [each for each in sequences if dead[each] and self.staged[each]]
        problems += [f"message {each} is a dead letter, and processed" for each in both]
        missing = sum(not dead[each] and not (self.staged[each] and self.appended[each]) for each in sequences)
        return Account(
            messages=len(sequences),
            lost=max(0, missing - left),
            dead=sum(dead[each] > 0 for each in sequences),
            left=left,
            twice_appended=sum(max(0, self.appended[each] - 1) for each in sequences),
            twice_staged=sum(max(0, self.staged[each] - 1) for each in sequences),
            problems=tuple(problems),
        )

    def batches_twice(self) -> dict[str, list[int]]:
        """Return the batches whose messages another batch has as well, with those messages."""
        found: dict[str, list[int]] = {}
        for file in (self.folder / "staged").glob("batch=*/*.parquet"):
            table = pq.read_table(file, columns=["seq"], partitioning=None)
            if shared := [each for each in table["seq"].to_pylist() if self.staged[each] > 1]:
                found.setdefault(file.parent.name.removeprefix("batch="), []).extend(sorted(shared))
        return found

    def contents(self) -> dict[int, tuple[bytes, dict[str, list[str]]]]:
        """Return data and headers of each message, where the user's code wrote them."""
        found = {}
        for file in (self.folder / "staged").glob("batch=*/*.parquet"):
            for row in pq.read_table(file, partitioning=None).to_pylist():
                found[row["seq"]] = row["data"], dict(row["headers"] or ())
        return found
