"""The control groups of a node's pods: made before it, removed after it.

usage: python -m tests.testbed.kubernetes.cgroups NAME     (remove: the run's clean-up, once its processes are dead)
"""

import os
import sys
from pathlib import Path

from tests.testbed.waiting import eventually

REMOVED_SECONDS = 60  # the kernel lets go of a killed process's group when its memory is given back


def create(name: str) -> None:
    for group in groups(name):
        group.mkdir()


def remove(name: str) -> None:
    """Remove the groups of that name with all below them, as soon as no process is in them."""
    for group in groups(name):
        eventually(lambda group=group: _is_removed(group), f"cgroup {group} removed", REMOVED_SECONDS)  # type: ignore[misc]


def groups(name: str) -> list[Path]:
    """Return where the groups of that name are, in each hierarchy."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [Path(place) / name for _, place, kind, *_ in mounts if kind in ("cgroup", "cgroup2")]


def _is_removed(group: Path) -> bool:
    try:
        for folder, _, _ in os.walk(group, topdown=False):
            Path(folder).rmdir()
    except OSError:  # busy: a process has not quite ended
        return False
    return not group.exists()


if __name__ == "__main__":
    remove(sys.argv[1])
