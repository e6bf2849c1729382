"""What a Spark master asks of a worker's pod: a service account, ports to be reached at, hosts to reach.

Knows the forms of masters. Does not know Spark.
"""

import re
from dataclasses import dataclass

from penstock_operator.plan.workload.naming import BLOCK_MANAGER_PORT, DRIVER_PORT
from penstock_operator.resources.queue_group_handler import Spark

KUBERNETES, CONNECT, STANDALONE = "k8s://", "sc://", "spark://"
DEFAULT_PORTS = {KUBERNETES: 443, CONNECT: 15002, STANDALONE: 7077}
API_SERVER_PORTS = (443, 6443)
"""Behind a Service, the port that a policy sees may be that of the API server itself."""
DRIVER_PORT_SETTINGS = ("spark.driver.port", "spark.driver.blockManager.port")
"""By default these are ours (penstock_worker.spark.kubernetes), and whoever sets them means it."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What follows from a master for the pod."""

    makes_pods: bool = False
    """Executors are pods: the driver asks the API server for them, and they come to its ports."""
    is_called_back: bool = False
    """Executors are anywhere, and come to the driver's ports."""
    ports: tuple[int, ...] = ()
    """Of the servers that the driver goes to."""


def needs_of(spark: Spark) -> Needs:
    """Tell what a group's Spark needs."""
    scheme = next((each for each in DEFAULT_PORTS if spark.master.startswith(each)), None)
    if scheme is None:
        return Needs()
    ports = ports_of(spark.master.removeprefix(scheme).removeprefix("http://").removeprefix("https://"), scheme)
    if scheme == KUBERNETES:
        return Needs(makes_pods=True, ports=tuple(sorted({*ports, *API_SERVER_PORTS})))
    return Needs(is_called_back=scheme == STANDALONE, ports=ports)


def ports_of(hosts: str, scheme: str) -> tuple[int, ...]:
    """Return the ports of host:port,host:port, whatever follows after a slash."""
    found = (re.search(r":([0-9]+)$", host) for host in hosts.partition("/")[0].split(","))
    return tuple(sorted({int(port[1]) if port else DEFAULT_PORTS[scheme] for port in found}))


def driver_ports(spark: Spark) -> tuple[int, int]:
    """Return where executors reach the driver: its own port, and its block manager's."""
    ours = zip(DRIVER_PORT_SETTINGS, (DRIVER_PORT, BLOCK_MANAGER_PORT), strict=True)
    first, second = (_port(spark.conf.get(name, ""), default) for name, default in ours)
    return first, second


def _port(written: str, default: int) -> int:
    return int(written) if written.isascii() and written.isdecimal() and int(written) else default
