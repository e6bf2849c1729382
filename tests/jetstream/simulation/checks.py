"""What must hold in every run: each check says what it saw when it does not.

room        buffered + in flight ≤ maximum: in the machine's books at every moment, and in truth; not counting
            messages that came late, of requests that had been written off. No pull promises more with them either
books       what is buffered is what the shell holds; no counter is negative
no stall    messages there, link up, user idle  ⇒  a message at once; or after the longest wait, which is within two
            heartbeats, if a request failed that is not to be repeated at once; or after two heartbeats more if one
            was lost without a word
no end      but by its user, or over an error that is final
no rush     a request that comes to nothing is not repeated more than a few times in ten seconds
all done    once nothing goes wrong any more, every message is processed and acknowledged, and a drain ends
"""

import math
from collections import deque
from dataclasses import dataclass

from penstock_jetstream.core.consume import LONGEST_WAIT_SECONDS, State
from penstock_jetstream.core.options import ConsumeOptions
from penstock_jetstream.errors import ConsumerDeletedError, PushBasedError
from tests.jetstream.simulation.consume_client import ConsumeClient
from tests.jetstream.simulation.link import Item
from tests.jetstream.simulation.options import Options
from tests.jetstream.simulation.server import Server
from tests.jetstream.simulation.violation import Violation
from tests.jetstream.simulation.world import World

FINAL = (ConsumerDeletedError, PushBasedError)
"""The only errors of this world that may end a consume."""
HARMLESS = ("100", "408 Request Timeout", "409 Batch Completed", "423")
"""Statuses that no request has to wait for."""
AT_ONCE = ("404", "408", "409 Leadership Change")
"""Those that no request has to wait for the first time."""
RUSH_WINDOW_SECONDS = 10.0
RUSH_REQUESTS_MAX = 12
"""Each of a few troubles in a row may end several requests, which are repeated at once."""
SLACK_SECONDS = 3.5
"""Two rounds on the slowest link, the grace after an expiry, and the second between looks."""
LOOK_SECONDS = 1.0


@dataclass(slots=True)
class Watched:
    """What is known of one client."""

    fruitless: deque[float]
    """When it pulled since something came of it."""
    able_since: float = 0.0
    troubles: int = 0
    """How often it had to do without since its last message: the second time it may wait before the next request."""
    ignorant: bool = False
    """It does not know yet that a request was lost."""
    progress: int = 0


class Checks:
    """Looks on."""

    def __init__(self, world: World, server: Server, options: Options) -> None:
        self.world = world
        self.server = server
        self.options = options
        self.clients: list[ConsumeClient] = []
        self.processed_sequences: set[int] = set()
        self._watched: dict[str, Watched] = {}

    def watch(self, client: ConsumeClient) -> None:
        self.clients.append(client)
        self._watched[client.name] = Watched(deque())

    # Told by the clients

    def pulled(self, client: ConsumeClient, number: int) -> None:
        machine, watched = client.machine, self._watched[client.name]
        if not client.link.up:
            self._violated(client, f"request {number} is made without a link")
        if machine.pending > machine.options.maximum:
            self._violated(client, f"request {number} promises {machine.pending} of {machine.options.maximum}")
        fruitless, now = watched.fruitless, self.world.now
        fruitless.append(now)
        while fruitless[0] < now - RUSH_WINDOW_SECONDS:
            fruitless.popleft()
        if len(fruitless) > RUSH_REQUESTS_MAX + self._expiring_in_window(machine.options):
            self._violated(client, f"{len(fruitless)} requests in {RUSH_WINDOW_SECONDS:g} s came to nothing")

    def took(self, client: ConsumeClient, items: list[Item]) -> None:
        watched = self._watched[client.name]
        for item in items:
            if len(item) == 4:
                watched.fruitless.clear()
                watched.troubles = 0
            elif not item[1].startswith(HARMLESS):
                watched.troubles += 1 if item[1].startswith(AT_ONCE) else 2
        self._check_room_in_truth(client)

    def acted(self, client: ConsumeClient) -> None:
        machine = client.machine
        if machine.state is State.ENDED:
            return
        if machine.in_flight < 0 or machine.buffered_bytes < 0:
            self._violated(client, f"a counter is negative: {machine.in_flight}, {machine.buffered_bytes}")
        if machine.in_flight and machine.pending - self._late(client) > machine.options.maximum:
            self._violated(client, f"{machine.pending} are pending of {machine.options.maximum}")
        held = len(client.buffer) + len(client.processing)
        if machine.buffered_messages != held:
            self._violated(client, f"it books {machine.buffered_messages} messages, and holds {held}")

    def processed(self, client: ConsumeClient, sequences: list[int]) -> None:
        self.processed_sequences.update(sequences)
        self._check_room_in_truth(client)

    def linked(self, client: ConsumeClient) -> None:
        """Take note of a new link or a new machine: what was tried before does not count."""
        self._watched[client.name].fruitless.clear()

    def alarmed(self, client: ConsumeClient) -> None:
        """Take note that a machine found out about a silence."""
        self._watched[client.name].troubles += 1

    def ended(self, client: ConsumeClient, error: Exception | None) -> None:
        if error is None and not client.leaving:
            self._violated(client, "it ended without an error and without being told to")
        if error is not None and not isinstance(error, FINAL):
            self._violated(client, f"it ended over what passes: {error}")

    # Looked for

    def look(self) -> None:
        """Look whether anybody is stalled; and again a little later."""
        now = self.world.now
        work = self.server.has_work()
        for client in self.clients:
            watched = self._watched[client.name]
            ignorant = client.link.lost_silently > client.first_number + client.machine.written_off
            learnt, watched.ignorant = watched.ignorant and not ignorant, ignorant
            if learnt or not work or self.server.progress != watched.progress or not self._able(client):
                watched.able_since, watched.progress = now, self.server.progress
            watched.able_since = max(watched.able_since, self.server.disturbed_at)
            seconds = now - watched.able_since
            if seconds > self._patience_seconds(client):
                self._violated(client, f"messages are there and nothing hinders, but for {seconds:.1f} s none came")
        self.world.after(LOOK_SECONDS, self.look)

    def _able(self, client: ConsumeClient) -> bool:
        """Tell whether nothing but the machine itself keeps a client from getting a message."""
        link, machine, server, now = client.link, client.machine, self.server, self.world.now
        if not (link.up and link.passes and link.interested) or now < max(link.held_until, client.asleep_until):
            return False
        if machine.state is not State.PULLING or client.buffer or client.processing:
            return False
        if server.max_batch or server.max_expires_seconds or server.max_request_bytes or not server.max_waiting:
            return False
        if server.pin not in {"", machine.pin_id}:
            return False
        return machine.options.min_pending <= server.pending

    def _patience_seconds(self, client: ConsumeClient) -> float:
        """Return how long it may take to find out: only a loss without a word needs the heartbeats for that."""
        ignorant = self._watched[client.name].ignorant
        silence_seconds = 2 * client.machine.options.heartbeat_seconds
        waits = ignorant or self._watched[client.name].troubles > 1
        wait_seconds = min(LONGEST_WAIT_SECONDS, silence_seconds) if waits else 0
        return (silence_seconds if ignorant else 0) + wait_seconds + SLACK_SECONDS

    def _expiring_in_window(self, options: ConsumeOptions) -> float:
        """Return how many requests expire unused in the window: none asks for less than was free at the threshold."""
        open_together = math.ceil(options.maximum / max(1, options.maximum - options.threshold))
        return open_together * RUSH_WINDOW_SECONDS / options.expires_seconds

    def _check_room_in_truth(self, client: ConsumeClient) -> None:
        """Count what is buffered, on the wire, and promised by the server for requests that were not written off."""
        machine = client.machine
        if machine.state is State.ENDED:
            return
        by_bytes = machine.options.by_bytes
        buffered = machine.buffered_bytes if by_bytes else machine.buffered_messages
        known = client.first_number + machine.written_off
        coming = [item for items in (client.link.wire, client.unread) for item in items]
        truth = buffered + sum(item[2] if by_bytes else 1 for item in coming if len(item) == 4 and item[0] > known)
        for request in self.server.waiting:
            if request.peer is client.link and request.number > known:
                truth += request.left_bytes if by_bytes else request.left_messages
        truth -= self._late(client)
        if truth > machine.options.maximum:
            self._violated(client, f"in truth {truth} are buffered and in flight of {machine.options.maximum}")

    def _late(self, client: ConsumeClient) -> int:
        """Return how much of what a client holds came of requests that had been written off."""
        by_bytes = client.machine.options.by_bytes
        return sum(
            size if by_bytes else 1 for held in (client.buffer, client.processing) for _, size, late in held if late
        )

    # At the end

    def finished(self) -> bool:
        return len(self.server.acknowledged) == len(self.server.sizes) - 1

    def check_all_done(self, *also_processed: set[int]) -> None:
        missing = set(range(1, len(self.server.sizes))) - self.server.acknowledged
        if missing:
            raise Violation(f"messages {sorted(missing)[:10]} were never processed")
        if missing := self.server.acknowledged.difference(self.processed_sequences, *also_processed):
            raise Violation(f"messages {sorted(missing)[:10]} are acknowledged, but no client processed them")

    def all_ended(self) -> bool:
        return all(client.machine.state is State.ENDED for client in self.clients)

    def check_drained(self) -> None:
        for client in self.clients:
            if client.machine.state is not State.ENDED:
                self._violated(client, f"it was told to drain and is {client.machine.state}")

    def _violated(self, client: ConsumeClient, what: str) -> None:
        raise Violation(f"at {self.world.now:.3f} s, {client.name}: {what}")
