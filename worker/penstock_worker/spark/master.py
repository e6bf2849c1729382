"""Where Spark runs, read from one URL: local[*], local-cluster[2,1,1024], spark://, k8s:// or sc://.

Knows what the URLs mean. Does not connect to anything.
"""

import re
from dataclasses import dataclass, field

from penstock_worker.spark.problems import CannotStartError

CONNECT, STANDALONE = "sc://", "spark://"
SERVERS = {CONNECT: ("Spark Connect server", 15002), STANDALONE: ("Spark master", 7077)}
"""What listens there, in words, and where by default."""
LOCAL = re.compile(r"local(\[(?P<threads>\d+|\*)(,\d+)?\])?")
LOCAL_CLUSTER = re.compile(r"local-cluster\[(?P<executors>\d+),(?P<threads>\d+),\d+\]")
CLUSTER_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?(\.[-a-z0-9]+\.svc(\.[-.a-z0-9]+)?)?")
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Address:
    """A server of Spark's, and how to speak to it."""

    host: str
    port: int
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def endpoint(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK

    @property
    def is_of_a_cluster(self) -> bool:
        """Whether the name is one that only the DNS of a Kubernetes cluster gives: of a Service there."""
        return bool(CLUSTER_NAME.fullmatch(self.host))


def is_connect(master: str) -> bool:
    """Tell whether it is a Spark Connect server."""
    return master.startswith(CONNECT)


def is_kubernetes(master: str) -> bool:
    """Tell whether executors are pods that the driver makes."""
    return master.startswith("k8s://")


def is_on_this_machine(master: str) -> bool:
    """Tell whether all of Spark runs here: nobody else needs to reach the JVM, and executors see our files."""
    return bool(LOCAL.fullmatch(master) or LOCAL_CLUSTER.fullmatch(master))


def threads(master: str, cores: int) -> int | None:
    """Return how many tasks Spark runs at once, or None where only the cluster knows."""
    if local := LOCAL.fullmatch(master):
        count = local["threads"]
        return cores if count == "*" else int(count or 1)
    if cluster := LOCAL_CLUSTER.fullmatch(master):
        return int(cluster["executors"]) * int(cluster["threads"])
    return None


def standalone_masters(master: str) -> tuple[Address, ...]:
    """Return the masters of spark://HOST:PORT,HOST:PORT; none if it is another kind of URL."""
    if not master.startswith(STANDALONE):
        return ()
    return tuple(_address(host, {}, STANDALONE) for host in master.removeprefix(STANDALONE).split(","))


def addresses(master: str) -> tuple[Address, ...]:
    """Return the servers of sc://HOST:PORT,HOST:PORT/;NAME=VALUE, which all have the same parameters."""
    hosts, _, words = master.removeprefix(CONNECT).partition("/;")
    parameters = dict(word.split("=", 1) for word in words.split(";") if "=" in word)
    return tuple(_address(host, parameters, CONNECT) for host in hosts.rstrip("/").split(","))


def _address(text: str, parameters: dict[str, str], scheme: str) -> Address:
    what, port = SERVERS[scheme]
    match = re.fullmatch(r"(?P<host>\[[^]]+\]|[^:]+)(:(?P<port>\d+))?", text)
    if match is None:
        raise CannotStartError(f"{text!r} is no address of a {what}. Write {scheme}HOST:PORT.")
    return Address(match["host"], int(match["port"] or port), parameters)


def shown(master: str) -> str:
    """Return the URL without its parameters, one of which may be a token."""
    return master.partition("/;")[0]
