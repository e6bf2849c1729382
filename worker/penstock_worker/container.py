"""What this machine, or this container, gives: how many cores, how much memory.

Knows cgroups (both versions) and /proc. Does not know what it is used for.
"""

import os
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
LIMITS = ("memory.max", "memory/memory.limit_in_bytes")
"""Where a container reads its own limit: version 2, version 1."""


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """Return the bytes of memory of the whole machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def memory_limit(groups: Path = CGROUPS) -> int | None:
    """Return the bytes that our container may use, or None if nobody set a limit."""
    for name in LIMITS:
        limit = groups / name
        if limit.is_file():
            said = limit.read_text().strip()
            if said.isdigit() and int(said) < memory():  # an unlimited version 1 says a number beyond all memory
                return int(said)
    return None
