"""Free ports on loopback, and other numbers, that no two parallel test processes of this user get.

A claim is a lock on a file, held by the claiming process until it ends, however it ends. Ports are below the range that
the kernel uses for outgoing connections, so that none of those can take one between a server's stop and restart.
"""

import errno
import fcntl
import os
import random
import socket
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

LOWEST, HIGHEST = 20_000, 32_000
LOOPBACK = "127.0.0.1"


_held: dict[tuple[str, int], int] = {}  # of each claim, the open file whose lock it is


class PortInUseError(RuntimeError):
    """The port that was asked for by number is taken."""


def free_port() -> int:
    """Claim a free port until it is released, or this process ends."""
    port = claim("ports", range(LOWEST, HIGHEST), _is_free)
    if port is None:
        raise RuntimeError(f"No free port between {LOWEST} and {HIGHEST} on {LOOPBACK}")
    return port


def particular_port(port: int) -> int:
    """Claim a port that a person chose, or that this process claimed before; it must be free."""
    is_ours = ("ports", port) in _held and _is_free(port)
    if not is_ours and claim("ports", [port], _is_free) is None:
        raise PortInUseError(
            f"Port {port} on {LOOPBACK} is in use by another program (`ss -ltnp 'sport = :{port}'` tells which).\n"
            "Choose another, or leave the port out to get a free one."
        )
    return port


def release(port: int) -> None:
    """Give a claimed port back."""
    os.close(_held.pop(("ports", port)))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that linger do not hold a port
        try:
            probe.bind((LOOPBACK, port))
        except OSError as refusal:
            if refusal.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
    return True


def answers(port: int, host: str = LOOPBACK) -> bool:
    """Tell whether something accepts connections on a port."""
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def claim(what: str, numbers: Iterable[int], is_free: Callable[[int], bool]) -> int | None:
    """Claim one of the numbers, by chance, that is neither claimed nor in use; None if there is none."""
    candidates = list(numbers)
    random.SystemRandom().shuffle(candidates)  # the shared generator is hypothesis', which refuses other threads
    return next((number for number in candidates if _claim(what, number, is_free)), None)


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
