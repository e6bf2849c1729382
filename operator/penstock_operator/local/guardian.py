"""Ends what a local home has started, once the home's own process is gone, however it went; a process of its own.

usage: python -m penstock_operator.local.guardian HURRY < PIPE

Lines on the pipe say what there is: `+PID RANK` and `-PID`. When the pipe closes, the process groups that are left are
told to end, those of the lowest rank first, and killed if they do not. It inherits the lock of the state folder: nobody
else begins there before it is done. If the file HURRY appears, another `up` waits for that: workers are killed at once,
and what they held is delivered again.
"""

import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

WORKER, SERVER = 1, 2
"""Ranks, in the order in which they end: workers answer to servers."""
PATIENCE_SECONDS = 30.0
"""What a rank gets to end by itself: a worker finishes the batches that it has."""
LOOK_SECONDS = 0.05


def main() -> None:
    """Wait for the end, and see to it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    living: dict[int, int] = {}
    for line in sys.stdin:
        words = line.split()
        if words[0].startswith("+"):
            living[int(words[0][1:])] = int(words[1])
        else:
            living.pop(int(words[0][1:]), None)
    hurry = Path(sys.argv[1])
    for rank in sorted(set(living.values())):
        pids = [pid for pid, its_rank in living.items() if its_rank == rank]
        end(pids, hurry if rank == WORKER else None)


def end(leaders: Iterable[int], hurry: Path | None) -> None:
    """End these process groups: within their patience, or at once if there is such a file."""
    left = [pid for pid in leaders if told(pid, signal.SIGTERM)]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while left and time.monotonic() < deadline and not (hurry and hurry.exists()):
        time.sleep(LOOK_SECONDS)
        left = [pid for pid in left if told(pid, 0)]
    for pid in left:
        told(pid, signal.SIGKILL)


def told(leader: int, number: int) -> bool:
    """Signal a process group, and tell whether it is there."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
        return True
    return False


if __name__ == "__main__":
    main()
