"""Free ports on loopback that no two servers of any parallel test process are given.

Ports are below the range that the kernel uses for outgoing connections, so that none of those can take one between a
server's stop and restart.
"""

import errno
import socket

from tests.testbed import claims

LOWEST, HIGHEST = 20_000, 32_000
LOOPBACK = "127.0.0.1"


class PortInUseError(RuntimeError):
    """The port that was asked for by number is taken."""


def free_port() -> int:
    """Claim a free port until it is released, or this process ends."""
    port = claims.claim("ports", range(LOWEST, HIGHEST), _is_free)
    if port is None:
        raise RuntimeError(f"No free port between {LOWEST} and {HIGHEST} on {LOOPBACK}")
    return port


def particular_port(port: int) -> int:
    """Claim a port that a person chose, or that this process claimed before; it must be free."""
    is_ours = claims.is_claimed_here("ports", port) and _is_free(port)
    if not is_ours and claims.claim("ports", [port], _is_free) is None:
        raise PortInUseError(
            f"Port {port} on {LOOPBACK} is in use by another program (`ss -ltnp 'sport = :{port}'` tells which).\n"
            "Choose another, or leave the port out to get a free one."
        )
    return port


def release(port: int) -> None:
    """Give a claimed port back."""
    claims.release("ports", port)


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
