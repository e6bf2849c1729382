"""Numbers that no two parallel test processes of this user are given: ports, networks.

A claim is a lock on a file, held by the claiming process until it ends, however it ends.
"""

import fcntl
import os
import random
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

_held: list[int] = []  # the open files whose locks are the claims; never closed


def claim(what: str, numbers: Iterable[int], is_free: Callable[[int], bool]) -> int | None:
    """Claim one of the numbers, by chance, that nobody has claimed and that is free; None when there is none."""
    folder = Path(tempfile.gettempdir()) / f"penstock-{what}-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    candidates = list(numbers)
    random.shuffle(candidates)
    return next((number for number in candidates if _claim(folder / str(number), number, is_free)), None)


def _claim(path: Path, number: int, is_free: Callable[[int], bool]) -> bool:
    lock = os.open(path, os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return False
    if not is_free(number):
        os.close(lock)
        return False
    _held.append(lock)
    return True
