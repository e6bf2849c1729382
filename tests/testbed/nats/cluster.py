"""A JetStream cluster on loopback, its leaders, and how they are made to step down.

Knows how servers are told of each other, and who leads what. Each node is a NatsServer and is broken as such.
"""

import contextlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nats.errors import Error as NatsError

from tests.testbed import ports
from tests.testbed.nats.administration import RefusedError, request
from tests.testbed.nats.authentication import anonymous
from tests.testbed.nats.config import Fragment
from tests.testbed.nats.server import NatsServer, Options
from tests.testbed.waiting import wait_until

FORMING_SECONDS = 60
ELECTION_SECONDS = 30
LOOK_SECONDS = 1
"""In which an answer comes, or never: what is asked during an election is lost."""
ROUTES_PER_NEIGHBOUR = 4
"""The server's default: a pool of three, and one for the system account. Requests get lost while some are missing."""

PROBE = "penstock-testbed-probe"
NO_SUITABLE_PEERS = "'err_code': 10005"

LeaderName = Callable[[], str | None]
"""Asks once who leads something; None while no one does."""


class NatsCluster:
    """Several servers that are one JetStream. Nodes are called n1, n2, …

    A node tells clients where the others are, as real ones do. A client that is to reach a node through a relay only
    needs servers with the option extra={"cluster": {"no_advertise": True}}.
    """

    def __init__(self, size: int = 3, options: Options | None = None) -> None:
        options = options or Options()
        options = replace(options, access=options.access or anonymous())
        client_ports = [options.port and ports.particular_port(options.port + index) for index in range(size)]
        self._route_ports = [ports.free_port() for _ in range(size)]
        self.nodes: list[NatsServer] = []
        for number, (port, route_port) in enumerate(zip(client_ports, self._route_ports, strict=True), start=1):
            fragment = _routes(route_port, self._route_ports)
            self.nodes.append(NatsServer(replace(options, port=port), name=f"n{number}", fragments=(fragment,)))

    def start(self) -> None:
        """Start all nodes, and wait until they have a leader and agree."""
        for node in self.nodes:
            node.launch()
        self.wait_current()

    def close(self) -> None:
        for node in self.nodes:
            node.close()
        for port in self._route_ports:
            ports.release(port)

    def wait_current(self, seconds: float = FORMING_SECONDS) -> None:
        """Wait until every node serves, and is up to date with the leader of the meta group."""
        for node in self.nodes:
            node.wait_ready(seconds)
        wait_until(self._is_meshed, "routes between all nodes", seconds)
        wait_until(self._is_current, "all nodes current with the meta leader", seconds)
        wait_until(self._can_place, "a leader that knows what each node can hold", seconds)

    def node(self, name: str) -> NatsServer:
        return next(node for node in self.nodes if node.name == name)

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    def connect_arguments(self) -> dict[str, Any]:
        """Return what `nats.connect` needs to reach any node, as keyword arguments."""
        return {**self.nodes[0].connect_arguments(), "servers": self.urls}

    def meta_leader(self, *, other_than: NatsServer | None = None) -> NatsServer:
        """Return the node that leads the meta group, once there is one; where one was lost, once another does."""
        return self._wait_leader(self._meta, "the meta group", other_than)

    def stream_leader(self, stream: str, *, other_than: NatsServer | None = None) -> NatsServer:
        return self._wait_leader(self._asset(f"STREAM.INFO.{stream}"), f"stream {stream}", other_than)

    def consumer_leader(self, stream: str, consumer: str, *, other_than: NatsServer | None = None) -> NatsServer:
        return self._wait_leader(self._asset(f"CONSUMER.INFO.{stream}.{consumer}"), f"consumer {consumer}", other_than)

    def step_down_meta(self) -> NatsServer:
        """Have the meta group elect another leader, and return that."""
        before = self.meta_leader()
        request(before.system_arguments(), "$JS.API.META.LEADER.STEPDOWN")
        return self.meta_leader(other_than=before)

    def step_down_stream(self, stream: str) -> NatsServer:
        """Have a stream's replicas elect another leader, and return that."""
        before = self.stream_leader(stream)
        request(before.connect_arguments(), f"$JS.API.STREAM.LEADER.STEPDOWN.{stream}")
        return self.stream_leader(stream, other_than=before)

    def step_down_consumer(self, stream: str, consumer: str) -> NatsServer:
        """Have a consumer's replicas elect another leader, and return that."""
        before = self.consumer_leader(stream, consumer)
        request(before.connect_arguments(), f"$JS.API.CONSUMER.LEADER.STEPDOWN.{stream}.{consumer}")
        return self.consumer_leader(stream, consumer, other_than=before)

    def _wait_leader(self, leader: LeaderName, of: str, other_than: NatsServer | None) -> NatsServer:
        found: list[str] = []
        former = other_than and other_than.name

        def is_known() -> bool:
            name = leader()
            found[:] = [name] if name and name != former else []
            return bool(found)

        wait_until(is_known, f"a leader of {of}{f' other than {former}' if former else ''}", ELECTION_SECONDS)
        return self.node(found[0])

    def _meta(self) -> str | None:
        return _meta_group(self._answering_node()).get("leader") or None

    def _asset(self, subject: str) -> LeaderName:
        def ask() -> str | None:
            node = self._answering_node()
            with contextlib.suppress(NatsError, RefusedError):  # no one answers while there is no leader
                info = request(node.connect_arguments(), f"$JS.API.{subject}", seconds=LOOK_SECONDS)
                leader: str | None = info["cluster"].get("leader")
                return leader
            return None

        return ask

    def _answering_node(self) -> NatsServer:
        answering = next((node for node in self.nodes if node.is_running and node.greets()), None)
        if answering is None:
            raise RuntimeError(f"None of the nodes {', '.join(node.name for node in self.nodes)} answers")
        return answering

    def _is_meshed(self) -> bool:
        complete = {node.name: ROUTES_PER_NEIGHBOUR for node in self.nodes}
        return all({**_routes_to(node), node.name: ROUTES_PER_NEIGHBOUR} == complete for node in self.nodes)

    def _is_current(self) -> bool:
        leader = _meta_group(self.nodes[0]).get("leader")
        if not leader:
            return False
        followers = _meta_group(self.node(leader)).get("replicas") or []
        return len(followers) == len(self.nodes) - 1 and all(follower["current"] for follower in followers)

    def _can_place(self) -> bool:
        """Tell whether a stream can have a replica on every node: the leader must have heard of what each has free.

        Nodes say so when they meet, and every ten seconds. What was said before the leader listened is missed.
        """
        arguments = self._answering_node().connect_arguments()
        config = {"name": PROBE, "num_replicas": len(self.nodes), "storage": "memory"}
        try:
            request(arguments, f"$JS.API.STREAM.CREATE.{PROBE}", json.dumps(config).encode())
        except NatsError:  # no one answers while there is no leader
            return False
        except RefusedError as refusal:
            if NO_SUITABLE_PEERS in str(refusal):
                return False
            raise
        request(arguments, f"$JS.API.STREAM.DELETE.{PROBE}")
        return True


def _meta_group(node: NatsServer) -> dict[str, Any]:
    """Return what a node says of the group that decides where streams and consumers live."""
    group: dict[str, Any] = node.monitored("jsz").get("meta_cluster") or {}
    return group


def _routes_to(node: NatsServer) -> Counter[str]:
    """Count a node's routes to each of the others."""
    return Counter(route.get("remote_name", "not known yet") for route in node.monitored("routez")["routes"])


def _routes(own_port: int, all_ports: list[int]) -> Fragment:
    routes = [f"nats://{ports.LOOPBACK}:{port}" for port in all_ports]
    return {"cluster": {"name": "testbed", "listen": f"{ports.LOOPBACK}:{own_port}", "routes": routes}}
