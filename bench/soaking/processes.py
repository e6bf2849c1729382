"""What a worker's processes have at a moment: memory, threads, open files.

Knows how it is read. Does not know how much is too much.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

MEBIBYTE = 1 << 20
CAPPED = ("block-manager-", "broadcast-excha", "QueryStageCreat", "ResultQueryStag")
"""Pools of Spark's, by what Linux keeps of their threads' names. Each comes to a hundred or so as batches do, and loses
those that had no work for a minute: whether there are ever more of the others could not be told beside them."""


@dataclass(frozen=True)
class Sample:
    """Of one process."""

    memory_mib: float
    threads: int
    """Without those of Spark's capped pools."""
    files: int

    @classmethod
    def of(cls, pid: int) -> "Sample":
        process = psutil.Process(pid)
        return cls(round(process.memory_info().rss / MEBIBYTE, 1), _threads(pid), process.num_fds())


def _threads(pid: int) -> int:
    return sum(not name.startswith(CAPPED) for name in _thread_names(pid))


def _thread_names(pid: int) -> Iterator[str]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended just now
            yield (task / "comm").read_text()


def median(samples: list[Sample]) -> Sample:
    """Return the middle of each figure: one look may fall into a collection of garbage."""
    middle = len(samples) // 2
    return Sample(
        sorted(sample.memory_mib for sample in samples)[middle],
        sorted(sample.threads for sample in samples)[middle],
        sorted(sample.files for sample in samples)[middle],
    )
