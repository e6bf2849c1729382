"""The addresses of a node: a network of its own between the machine and the node, one for pods, one for services.

Two nodes at once have different ones. They are from 198.18.0.0/15, which is set aside for testing (RFC 2544) and so is
nobody's real network.
"""

import ipaddress
import json
import subprocess

from tests.testbed.ports import claim

NETWORKS = 256


class Network:
    def __init__(self, number: int) -> None:
        self.interface = f"penstock-{number}"
        """The machine's end of the virtual Ethernet link to the node."""
        self.machine = f"198.18.{number}.1"
        """Where pods reach servers that a test runs on this machine."""
        self.node = f"198.18.{number}.2"
        """Where the node's API server, kubelet and DNS are, for pods and for this machine."""
        self.services = f"198.18.{number}.128/25"
        self.pods = f"198.19.{number}.0/24"


def claim_network() -> Network:
    """Claim a network for as long as this process lives."""
    taken = _routed()
    number = claim("networks", range(NETWORKS), lambda number: not _overlaps(number, taken))
    if number is None:
        raise RuntimeError(f"None of the {NETWORKS} networks in 198.18.0.0/15 is free: see `ip route`.")
    return Network(number)


def _overlaps(number: int, taken: list[ipaddress.IPv4Network]) -> bool:
    ours = [ipaddress.IPv4Network(f"198.{second}.{number}.0/24") for second in (18, 19)]
    return any(one.overlaps(other) for one in ours for other in taken)


def _routed() -> list[ipaddress.IPv4Network]:
    """Return all networks that this machine has a route to, but for the default route's everything."""
    shown = subprocess.run(["ip", "-json", "-4", "route", "show", "table", "all"], capture_output=True, check=True)
    routes = [route["dst"] for route in json.loads(shown.stdout)]
    return [ipaddress.IPv4Network(route) for route in routes if route != "default"]
