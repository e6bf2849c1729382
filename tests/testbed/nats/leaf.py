"""A JetStream domain behind a leaf node: a hub, and a leaf that connects to it and has streams of its own.

Each is a NatsServer and is broken as such.
"""

from dataclasses import replace

from tests.testbed import ports
from tests.testbed.nats.administration import UNANSWERED, request
from tests.testbed.nats.server import READY_SECONDS, NatsServer, Options
from tests.testbed.waiting import eventually

HUB_DOMAIN, LEAF_DOMAIN = "hub", "leaf"


class HubAndLeaf:
    """Two servers without logins, with a JetStream domain each. A client of the hub reaches the leaf's as "leaf"."""

    def __init__(self, options: Options | None = None) -> None:
        options = options or Options()
        self.leaf_port = ports.free_port()
        listen = {"leafnodes": {"listen": f"{ports.LOOPBACK}:{self.leaf_port}"}}
        self.hub = NatsServer(replace(options, domain=HUB_DOMAIN), name="hub", fragments=(listen,))
        remote = {"leafnodes": {"remotes": [{"url": f"nats-leaf://{ports.LOOPBACK}:{self.leaf_port}"}]}}
        self.leaf = NatsServer(replace(options, domain=LEAF_DOMAIN), name="leaf", fragments=(remote,))

    def start(self) -> None:
        self.hub.start()
        self.leaf.start()
        eventually(self._is_reachable, "the leaf's JetStream reached through the hub", READY_SECONDS)

    def _is_reachable(self) -> bool:
        """Return whether the hub already knows the subscriptions behind the leaf."""
        try:
            request(self.hub.connect_arguments(), f"$JS.{LEAF_DOMAIN}.API.INFO")
        except UNANSWERED:
            return False
        return True

    def close(self) -> None:
        self.leaf.close()
        self.hub.close()
        ports.release(self.leaf_port)
