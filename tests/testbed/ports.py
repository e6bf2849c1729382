"""Free ports on loopback that no two servers of any parallel test process are given.

Ports are below the range that the kernel uses for outgoing connections, so that none of those can take one between a
server's stop and restart.
"""

import errno
import socket

from tests.testbed.claims import claim

LOWEST, HIGHEST = 20_000, 32_000
LOOPBACK = "127.0.0.1"


class PortInUseError(RuntimeError):
    """The port that was asked for by number is taken."""


def free_port() -> int:
    """Claim a free port for as long as this process lives."""
    port = claim("ports", range(LOWEST, HIGHEST), _is_free)
    if port is None:
        raise RuntimeError(f"No free port between {LOWEST} and {HIGHEST} on {LOOPBACK}")
    return port


def particular_port(port: int) -> int:
    """Make sure that a port chosen by a person is free."""
    if not _is_free(port):
        raise PortInUseError(
            f"Port {port} on {LOOPBACK} is in use by another program (`ss -ltnp 'sport = :{port}'` tells which).\n"
            "Choose another, or leave the port out to get a free one."
        )
    return port


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
