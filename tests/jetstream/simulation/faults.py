"""Faults of the simulation: one after another, each of which ends by itself; and then none any more."""

from collections.abc import Callable

from tests.jetstream.simulation.client import Client
from tests.jetstream.simulation.server import Server
from tests.jetstream.simulation.world import World


class Faults:
    """Makes the world suffer."""

    def __init__(self, world: World, server: Server, clients: list[Client]) -> None:
        self.world = world
        self.server = server
        self.clients = clients
        self.over = False

    def happen(self, name: str) -> None:
        self.world.say("fault", name)
        fault: Callable[[], None] = getattr(self, f"_{name}")
        fault()

    def heal(self) -> None:
        """End whatever is still wrong."""
        self.world.say("faults", "are over")
        self.over = True
        server = self.server
        self._unlimit()
        self._widen()
        server.paused_until = 0.0
        server.led, server.deaf = True, False
        if not server.exists or server.push_based:
            server.create()
        for client in self.clients:
            self._reconnect(client)
        server.deliver()

    def _duration(self) -> float:
        return self.world.random.choice([0.05, 1.0, 4.0, 12.0])

    def _client(self) -> Client:
        return self.world.random.choice(self.clients)

    def _later(self, call: Callable[[], None]) -> None:
        self.world.after(self._duration(), lambda: None if self.over else call())

    # The link

    def _cut(self) -> None:
        client = self._client()
        if client.link.up:
            self._disconnect(client)
            self._server_notices(client)
            self._later(lambda: self._reconnect(client))

    def _half_open(self) -> None:
        """The client's ping finds out, or the server's; until then each believes that all is well."""
        client = self._client()
        client.link.vanish()
        self._later(lambda: self._server_notices(client))
        self._later(lambda: self._disconnect(client))
        self.world.after(13, lambda: None if self.over else self._reconnect(client))

    def _stall(self) -> None:
        """Nothing is lost, but it comes late, and all at once."""
        link = self._client().link
        link.held_until = max(link.held_until, self.world.now + self._duration())

    def _disconnect(self, client: Client) -> None:
        if client.link.up:
            client.disconnect()

    def _server_notices(self, client: Client) -> None:
        """Without interest the server drops requests when it comes upon them: one who is back soon still has them."""
        if not client.link.passes:
            client.link.interested = False
            if self.world.random.random() < 0.5:
                self.server.forget(client.link)

    def _reconnect(self, client: Client) -> None:
        if client.link.up and client.link.passes:
            client.link.held_until = 0.0
            return
        self._disconnect(client)
        client.reconnect()

    # The client

    def _sleep(self) -> None:
        client = self._client()
        client.asleep_until = max(client.asleep_until, self.world.now + self._duration() * 3)

    def _slow_user(self) -> None:
        self._client().slow_until = self.world.now + self._duration()

    # The server

    def _leader_moves(self) -> None:
        self.server.lose_leader("409 Leadership Change")
        self._leaderless(self.world.random.choice([0.0, 0.5]))

    def _leader_moves_unheard(self) -> None:
        self.server.lose_leader("")
        self.server.deaf = self.world.random.random() < 0.5
        self._leaderless(self.world.random.choice([0.0, 0.5]))

    def _leader_away(self) -> None:
        self.server.lose_leader(self.world.random.choice(["", "409 Leadership Change"]))
        self._leaderless(self._duration())

    def _leaderless(self, seconds: float) -> None:
        self.server.led = False
        self.world.after(seconds, self._lead)

    def _lead(self) -> None:
        if not self.over:
            self.server.led, self.server.deaf = True, False
            self.server.deliver()

    def _server_stops(self) -> None:
        self.server.lose_requests("409 Server Shutdown", with_left=True)
        self._leader_away()

    def _pause(self) -> None:
        self.server.pause(self._duration())

    def _reset(self) -> None:
        self.server.reset()

    def _delete(self) -> None:
        self.server.delete()
        self._later(self.server.create)

    def _delete_and_recreate(self) -> None:
        self.server.delete()
        self.server.create()

    def _push_based(self) -> None:
        self.server.lose_requests("409 Consumer Deleted")
        self.server.push_based = True
        self._later(self.server.create)

    def _queue_full(self) -> None:
        self.server.max_waiting = 0
        self._later(self._widen)

    def _widen(self) -> None:
        self.server.max_waiting = self.server.options.max_waiting

    def _limits(self) -> None:
        self.server.max_batch = self.world.random.choice([0, 1, 5])
        self.server.max_expires_seconds = self.world.random.choice([0, 1, 5])
        self.server.max_request_bytes = self.world.random.choice([0, 500])
        self._later(self._unlimit)

    def _unlimit(self) -> None:
        self.server.max_batch = self.server.max_expires_seconds = self.server.max_request_bytes = 0

    def _interest_expires(self) -> None:
        self.server.lose_requests("408 Interest Expired", with_left=True)

    def _unpin(self) -> None:
        self.server.unpin()
