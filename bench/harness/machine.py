"""The machine that a benchmark ran on: figures of different machines are not to be compared."""

import os
import platform
from pathlib import Path


def described() -> dict[str, str | int]:
    return {"cores": len(os.sched_getaffinity(0)), "cpu": _cpu(), "python": platform.python_version()}


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
