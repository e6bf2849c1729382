"""Looking at processes that may end at any moment: between two looks, or between being listed and being asked."""

from pathlib import Path

import psutil


def words(process: psutil.Process) -> list[str]:
    """Return the command of a process; none if it is gone."""
    try:
        command: list[str] = process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess, psutil.AccessDenied):
        return []
    return command


def program(process: psutil.Process) -> str:
    """Return what a process runs, such as "java"; nothing if it is gone."""
    return Path((words(process) or [""])[0]).name
