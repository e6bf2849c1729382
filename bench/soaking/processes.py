"""What a worker's processes have at a moment: memory, threads, open files.

Knows how it is read. Does not know how much is too much.
"""

from dataclasses import dataclass

import psutil

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Sample:
    """Of one process."""

    memory_mib: float
    threads: int
    files: int

    @classmethod
    def of(cls, pid: int) -> "Sample":
        process = psutil.Process(pid)
        return cls(round(process.memory_info().rss / MEBIBYTE, 1), process.num_threads(), process.num_fds())


def median(samples: list[Sample]) -> Sample:
    """Return the middle of each figure: one look may fall into a collection of garbage."""
    middle = len(samples) // 2
    return Sample(
        sorted(sample.memory_mib for sample in samples)[middle],
        sorted(sample.threads for sample in samples)[middle],
        sorted(sample.files for sample in samples)[middle],
    )
