"""A client whose user fetches and processes again and again; no fetch brings too much or ends too late."""

from typing_extensions import override

from penstock_jetstream.core.actions import Action, End, Resubscribe
from penstock_jetstream.core.fetch import NO_WAIT_ANSWER_SECONDS, Fetch
from penstock_jetstream.core.options import FetchOptions, Wait
from penstock_jetstream.core.timing import ANSWER_GRACE_SECONDS
from tests.jetstream.simulation.client import Client
from tests.jetstream.simulation.link import Item
from tests.jetstream.simulation.options import ClientOptions
from tests.jetstream.simulation.server import Server
from tests.jetstream.simulation.violation import Violation
from tests.jetstream.simulation.world import World

PAUSE_SECONDS = 0.3
LATE_SECONDS = 2 * ANSWER_GRACE_SECONDS + 0.01
"""The grace after an expiry, and that of somebody who slept."""


class FetchClient(Client):
    """One fetch after another."""

    def __init__(self, world: World, server: Server, options: ClientOptions, *, name: str) -> None:
        super().__init__(world, server, options, name)
        self.fetch_options = FetchOptions(**{**options.machine, "wait": Wait(options.machine["wait"])})
        self.machine: Fetch = self._fresh("")
        self.got: list[tuple[int, int]] = []
        self.processed: set[int] = set()
        self._started_at = 0.0

    def _fresh(self, pin_id: str) -> Fetch:
        return Fetch(self.fetch_options, stream="S", consumer="c", pin_id=pin_id)

    @override
    def start(self) -> None:
        self._started_at = self.world.now
        super().start()

    @override
    def on_action(self, action: Action) -> None:
        if isinstance(action, End):
            self._end()
        elif isinstance(action, Resubscribe):
            self.link.left_inboxes_to = self.first_number + self.machine.requests

    def _end(self) -> None:
        self.rest()
        self.first_number += self.machine.requests
        self.link.left_inboxes_to = self.first_number
        self._check()
        if not self.leaving:
            start = max(self.world.now, self.slow_until, self.asleep_until)
            self.world.at(start + PAUSE_SECONDS, self._again)

    def _check(self) -> None:
        options = self.fetch_options
        size_bytes = sum(size for _, size in self.got)
        if len(self.got) > options.batch or (options.max_bytes and size_bytes > options.max_bytes):
            raise Violation(f"{self.name}: a fetch brought {len(self.got)} messages of {size_bytes} bytes: too many")
        longest = NO_WAIT_ANSWER_SECONDS if options.wait is Wait.NOTHING else options.expires_seconds
        end_by = max(self._started_at + longest, self.asleep_until) + LATE_SECONDS
        if self.world.now > end_by:
            raise Violation(f"{self.name}: a fetch ended at {self.world.now:.3f}, and ought to by {end_by:.3f}")

    def _again(self) -> None:
        if self.world.now < self.asleep_until:
            self.world.at(self.asleep_until, self._again)
            return
        for sequence, _ in self.got:
            self.processed.add(sequence)
            if not self.options.forgets or self.world.random.random() >= self.options.forgets:
                self.link.send_to_server(self.server.acknowledge, sequence)
        self.got.clear()
        self.machine = self._fresh(self.machine.pin_id)
        self.start()

    @override
    def on_items(self, items: list[Item]) -> None:
        for item in items:
            if item[0] <= self.link.left_inboxes_to:
                continue
            if len(item) == 4:
                self.got.append((item[1], item[2]))
                self.learn_pin(item[3])
                self.perform(self.machine.arrived(1, item[2], self.world.now))
            else:
                self.take_status(item)

    @override
    def drain(self) -> None:
        self.leaving = True
        self.perform(self.machine.stop(self.world.now))
