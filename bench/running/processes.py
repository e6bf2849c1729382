"""What processes cost: CPU seconds of a process and all that it started, those that have ended included."""

import psutil


def cpu_seconds(pid: int) -> float:
    """Return what a process and its descendants have taken so far."""
    root = psutil.Process(pid)
    return sum(_taken(process) for process in (root, *root.children(recursive=True)))


def _taken(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:  # it ended this moment: its parent has its times
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)
