"""Numbers that no two parallel test processes of this user are given: ports, networks.

A claim is a lock on a file, held by the claiming process until it ends, however it ends.
"""

import fcntl
import os
import random
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

_held: dict[tuple[str, int], int] = {}  # of each claim, the open file whose lock it is


def claim(what: str, numbers: Iterable[int], is_free: Callable[[int], bool]) -> int | None:
    """Claim one of the numbers, by chance, that nobody has claimed and that is free; None when there is none."""
    candidates = list(numbers)
    random.shuffle(candidates)
    return next((number for number in candidates if _claim(what, number, is_free)), None)


def is_claimed_here(what: str, number: int) -> bool:
    return (what, number) in _held


def release(what: str, number: int) -> None:
    """Give a claimed number back."""
    os.close(_held.pop((what, number)))


def _claim(what: str, number: int, is_free: Callable[[int], bool]) -> bool:
    folder = Path(tempfile.gettempdir()) / f"penstock-{what}-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    lock = os.open(folder / str(number), os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return False
    if not is_free(number):
        os.close(lock)
        return False
    _held[what, number] = lock
    return True
