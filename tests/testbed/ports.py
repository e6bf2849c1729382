"""Free ports on loopback that no two servers of any parallel test process are given.

A claim is a lock on a file, held by the claiming process until it ends, however it ends. Ports are below the range
that the kernel uses for outgoing connections, so that none of those can take one between a server's stop and restart.
"""

import errno
import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

LOWEST, HIGHEST = 20_000, 32_000
LOOPBACK = "127.0.0.1"
_claims: dict[int, int] = {}  # of each port, the open file whose lock is the claim; never closed


class PortInUseError(RuntimeError):
    """The port that was asked for by number is taken."""


def free_port() -> int:
    """Claim a free port for as long as this process lives."""
    candidates = list(range(LOWEST, HIGHEST))
    random.shuffle(candidates)
    for port in candidates:
        if _claim(port):
            return port
    raise RuntimeError(f"No free port between {LOWEST} and {HIGHEST} on {LOOPBACK}")


def particular_port(port: int) -> int:
    """Make sure that a port chosen by a person is free."""
    if not _is_free(port):
        raise PortInUseError(
            f"Port {port} on {LOOPBACK} is in use by another program (`ss -ltnp 'sport = :{port}'` tells which).\n"
            "Choose another, or leave the port out to get a free one."
        )
    return port


def _claim(port: int) -> bool:
    folder = Path(tempfile.gettempdir()) / f"penstock-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    lock = os.open(folder / str(port), os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return False
    if not _is_free(port):
        os.close(lock)
        return False
    _claims[port] = lock
    return True


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
