"""A JetStream domain behind a leaf node: a hub, and a leaf that connects to it and has streams of its own.

Each is a NatsServer and is broken as such.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from tests.testbed import ports
from tests.testbed.nats.administration import UNANSWERED, request
from tests.testbed.nats.authentication import Access, anonymous
from tests.testbed.nats.server import READY_SECONDS, NatsServer, Options
from tests.testbed.waiting import eventually

HUB_DOMAIN, LEAF_DOMAIN = "hub", "leaf"


class HubAndLeaf:
    """Two servers with a JetStream domain each. A client of the hub reaches the leaf's as domain "leaf"."""

    def __init__(self, options: Options | None = None) -> None:
        options = options or Options()
        options = replace(options, access=options.access or anonymous())
        self.leaf_port = ports.free_port()
        listen = {"leafnodes": {"listen": f"{ports.LOOPBACK}:{self.leaf_port}"}}
        self.hub = NatsServer(replace(options, domain=HUB_DOMAIN), name="hub", fragments=(listen,))
        remote = _remote(self.hub.access, f"{ports.LOOPBACK}:{self.leaf_port}")
        own = replace(options, port=None, domain=LEAF_DOMAIN)
        self.leaf = NatsServer(own, name="leaf", fragments=({"leafnodes": {"remotes": [remote]}},))

    def start(self) -> None:
        self.hub.start()
        self.leaf.start()
        eventually(self._is_reachable, "the leaf's JetStream reached through the hub", READY_SECONDS)

    def _is_reachable(self) -> bool:
        """Tell whether the hub knows already that someone behind the leaf listens."""
        try:
            request(self.hub.connect_arguments(), f"$JS.{LEAF_DOMAIN}.API.INFO")
        except UNANSWERED:
            return False
        return True

    def close(self) -> None:
        self.leaf.close()
        self.hub.close()
        ports.release(self.leaf_port)


def _remote(access: Access, address: str) -> Mapping[str, Any]:
    login = access.client.arguments
    user = ""
    if "user" in login:
        user = f"{quote(login['user'])}:{quote(login['password'])}@"
    elif "token" in login:
        user = f"{quote(login['token'])}@"
    return {"url": f"nats-leaf://{user}{address}", **access.leaf}
