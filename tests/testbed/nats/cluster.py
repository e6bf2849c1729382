"""A JetStream cluster on loopback, its leaders, and how they are made to step down.

Each node is a NatsServer and is broken as such.
"""

import contextlib
import json
import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.testbed import ports
from tests.testbed.nats.administration import UNANSWERED, RefusedError, all_hear_all, request
from tests.testbed.nats.authentication import anonymous
from tests.testbed.nats.config import Fragment
from tests.testbed.nats.server import NatsServer, Options
from tests.testbed.waiting import eventually

FORMING_SECONDS = 120
ELECTION_SECONDS = 90
LOOK_SECONDS = 3
"""In which an answer comes, or never: what is asked during an election is lost."""
ASK_AGAIN_SECONDS = 10
"""After which who was asked to step down, and still leads, is asked once more."""
ROUTES_PER_NEIGHBOUR = 4
"""The server's default: a pool of three, and one for the system account. Requests get lost while some are missing."""

PROBE = "penstock-testbed-probe"
NOT_YET = ("'err_code': 10005", "'err_code': 10008")
"""No suitable peers, and not available: what a cluster says that is still forming."""

LeaderName = Callable[[], str | None]
"""Asks once who leads something; None while no one does."""
Login = Callable[[NatsServer], dict[str, Any]]
"""Returns with what a node is reached by those who may ask it for something."""


class NatsCluster:
    """Several servers that are one JetStream. Nodes are called n1, n2, …

    A node tells clients where the others are, as real ones do. A client that is to reach a node through a relay only
    needs servers with the option extra={"cluster": {"no_advertise": True}}.
    """

    def __init__(self, size: int = 3, options: Options | None = None) -> None:
        options = options or Options()
        options = replace(options, access=options.access or anonymous())
        self._route_ports = [ports.free_port() for _ in range(size)]
        self.nodes = [
            NatsServer(options, name=f"n{number}", fragments=(_routes(route_port, self._route_ports),))
            for number, route_port in enumerate(self._route_ports, start=1)
        ]

    def start(self) -> None:
        """Start all nodes, and wait until they have a leader and agree."""
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.wait_serving(FORMING_SECONDS)
        eventually(self._is_meshed, "routes between all nodes", FORMING_SECONDS)
        eventually(self._is_current, "all nodes current with the meta leader", FORMING_SECONDS)
        eventually(self._can_place, "a leader that knows what each node can hold", FORMING_SECONDS)
        eventually(self._all_hear_all, "nodes that know who listens at the others", FORMING_SECONDS)

    def close(self) -> None:
        for node in self.nodes:
            node.close()
        for port in self._route_ports:
            ports.release(port)

    def node(self, name: str) -> NatsServer:
        return next(node for node in self.nodes if node.name == name)

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    def connect_arguments(self) -> dict[str, Any]:
        """Return what `nats.connect` needs to reach any node, as keyword arguments."""
        return {**self.nodes[0].connect_arguments(), "servers": self.urls}

    def stream_leader(self, stream: str) -> NatsServer:
        return self._wait_leader(self._asset("STREAM", stream), f"stream {stream}")

    def consumer_leader(self, stream: str, consumer: str) -> NatsServer:
        return self._wait_leader(self._asset("CONSUMER", f"{stream}.{consumer}"), f"consumer {consumer}")

    def step_down_meta(self) -> NatsServer:
        """Have the meta group elect another leader, and return that."""
        return self._step_down(self._meta, "the meta group", NatsServer.system_arguments, "META.LEADER.STEPDOWN")

    def step_down_stream(self, stream: str) -> NatsServer:
        """Have a stream's replicas elect another leader, and return that."""
        return self._step_down_asset("STREAM", stream)

    def step_down_consumer(self, stream: str, consumer: str) -> NatsServer:
        """Have a consumer's replicas elect another leader, and return that."""
        return self._step_down_asset("CONSUMER", f"{stream}.{consumer}")

    def _step_down_asset(self, kind: str, name: str) -> NatsServer:
        subject = f"{kind}.LEADER.STEPDOWN.{name}"
        return self._step_down(self._asset(kind, name), f"{kind} {name}", NatsServer.connect_arguments, subject)

    def _step_down(self, leader: LeaderName, of: str, login: Login, subject: str) -> NatsServer:
        """Ask who leads to step down until another does: a request may be lost, and the same be elected again."""
        before = self._wait_leader(leader, of)
        asked_at = -math.inf

        def led_by_another() -> str | None:
            nonlocal asked_at
            name = leader()
            if name == before.name and time.monotonic() - asked_at > ASK_AGAIN_SECONDS:
                asked_at = time.monotonic()
                with contextlib.suppress(*UNANSWERED, RefusedError):
                    request(login(before), f"$JS.API.{subject}")
            return name if name != before.name else None

        return self._wait_leader(led_by_another, f"{of} other than {before.name}")

    def _wait_leader(self, leader: LeaderName, of: str) -> NatsServer:
        return self.node(eventually(leader, f"a leader of {of}", ELECTION_SECONDS))

    def _meta(self) -> str | None:
        node = self._answering_node()
        return _meta_group(node).get("leader") or None if node else None

    def _asset(self, kind: str, name: str) -> LeaderName:
        def ask() -> str | None:
            node = self._answering_node()
            if node is None:
                return None
            with contextlib.suppress(*UNANSWERED, RefusedError):  # no one answers while there is no leader
                info = request(node.connect_arguments(), f"$JS.API.{kind}.INFO.{name}", seconds=LOOK_SECONDS)
                leader: str | None = info.get("cluster", {}).get("leader")  # none of it during some elections
                return leader
            return None

        return ask

    def _answering_node(self) -> NatsServer | None:
        return next((node for node in self.nodes if node.is_running and node.greets()), None)

    def _is_meshed(self) -> bool:
        complete = {node.name: ROUTES_PER_NEIGHBOUR for node in self.nodes}
        return all({**_routes_to(node), node.name: ROUTES_PER_NEIGHBOUR} == complete for node in self.nodes)

    def _is_current(self) -> bool:
        """Tell whether all name the same leader, and that one all others: who was away may not know of an election."""
        leader, *others = {_meta_group(node).get("leader") for node in self.nodes}
        if others or not leader:
            return False
        followers = _meta_group(self.node(leader)).get("replicas") or []
        return len(followers) == len(self.nodes) - 1 and all(follower["current"] for follower in followers)

    def _can_place(self) -> bool:
        """Tell whether a stream can have a replica on every node: the leader must have heard of what each has free.

        Nodes say so when they meet, and every ten seconds. What was said before the leader listened is missed.
        """
        arguments = self.nodes[0].connect_arguments()
        config = {"name": PROBE, "num_replicas": len(self.nodes), "storage": "memory"}
        try:
            request(arguments, f"$JS.API.STREAM.CREATE.{PROBE}", json.dumps(config).encode())
            request(arguments, f"$JS.API.STREAM.DELETE.{PROBE}")
        except UNANSWERED:  # no one answers while there is no leader
            return False
        except RefusedError as refusal:
            if any(code in str(refusal) for code in NOT_YET):
                return False
            raise
        return True

    def _all_hear_all(self) -> bool:
        try:
            return all_hear_all([node.connect_arguments() for node in self.nodes])
        except UNANSWERED:
            return False


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
