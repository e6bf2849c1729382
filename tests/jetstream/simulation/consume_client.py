"""A client whose user consumes, and begins again whenever that ends in an error."""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from typing_extensions import override

from penstock_jetstream.core.actions import Action, End, Pull, Report, Resubscribe, Unsubscribe, Verify
from penstock_jetstream.core.consume import Consume
from penstock_jetstream.core.options import ConsumeOptions
from penstock_jetstream.errors import HeartbeatMissedError
from tests.jetstream.simulation.client import Client
from tests.jetstream.simulation.link import Item
from tests.jetstream.simulation.options import ClientOptions
from tests.jetstream.simulation.server import Server
from tests.jetstream.simulation.world import World

if TYPE_CHECKING:
    from tests.jetstream.simulation.checks import Checks

RESTART_SECONDS = 1.0
"""A user whose consume ended in an error begins again after this time."""

Held = tuple[int, int, bool]
"""Sequence, size, and whether it came late: of a request that had been written off."""

MachineFactory = Callable[[ConsumeOptions], Consume]


class ConsumeClient(Client):
    """A consume, begun again whenever it ends in an error."""

    def __init__(
        self,
        world: World,
        server: Server,
        options: ClientOptions,
        *,
        watcher: "Checks",
        make: MachineFactory,
        name: str,
    ) -> None:
        super().__init__(world, server, options, name)
        self.watcher = watcher
        self.machine_options = ConsumeOptions(**options.machine)
        self.make = make
        self.machine: Consume = make(self.machine_options)
        self.buffer: deque[Held] = deque()
        self.processing: list[Held] = []
        self._life = 0
        self.former_inbox_to = 0
        """Answers to requests up to this one come on a former inbox."""

    # What the machine wants

    @override
    def perform(self, actions: list[Action]) -> None:
        super().perform(actions)
        self.watcher.acted(self)

    @override
    def on_action(self, action: Action) -> None:
        match action:
            case Pull(number):
                self.watcher.pulled(self, number)
            case Report(HeartbeatMissedError()):
                self.watcher.alarmed(self)
            case End(error):
                self._end(error)
            case Resubscribe(seconds):
                self._resubscribe(self.first_number + self.machine.written_off, seconds)
            case Unsubscribe():
                self.world.after(self.options.delay_seconds, self._unsubscribed, self._life)
            case Verify():
                self.world.after(self.options.delay_seconds * 2, self._verify, self._life)
            case _:
                pass

    def _end(self, error: Exception | None) -> None:
        self.rest()
        self.watcher.ended(self, error)
        if error is None:
            return
        self.world.after(RESTART_SECONDS, self._restart, self._life)

    def _restart(self, life: int) -> None:
        """Begin again with a new machine, and throw away what is buffered: it comes again."""
        if life != self._life or self.leaving:
            return
        self._life += 1
        self.first_number += self.machine.requests
        self._resubscribe(self.first_number, 0)
        self.buffer.clear()
        self.processing.clear()
        self.machine = self.make(self.machine_options)
        self.watcher.linked(self)
        self.start()

    def _resubscribe(self, former_to: int, seconds: float) -> None:
        self.former_inbox_to = former_to
        if seconds:
            self.world.after(seconds, self._leave_inbox, former_to)
        else:
            self._leave_inbox(former_to)

    def _leave_inbox(self, to: int) -> None:
        """Leave it; a server that we are not connected to hears of it when we are."""
        self.link.left_inboxes_to = max(self.link.left_inboxes_to, to)

    def _unsubscribed(self, life: int) -> None:
        if life == self._life:
            self.perform(self.machine.unsubscribed(self.world.now))

    def _verify(self, life: int) -> None:
        if life == self._life:
            exists = self.server.exists or not self.link.up
            self.perform(self.machine.verified(self.world.now, exists=exists))

    # What comes

    @override
    def on_items(self, items: list[Item]) -> None:
        self.watcher.took(self, items)
        group: list[Held] = []
        for item in items:
            if len(item) == 4 and item[0] > self.former_inbox_to:
                self.learn_pin(item[3])
                group.append((item[1], item[2], False))
                if self.options.bulk:
                    continue
            self._book(group)
            group = []
            if len(item) == 3:
                self.take_status(item)
            elif item[0] <= self.former_inbox_to:
                self._take_late(item)
        self._book(group)
        self._begin()

    def _take_late(self, item: Item) -> None:
        self.buffer.append((item[1], item[2], True))
        self.perform(self.machine.arrived_late(1, item[2], self.world.now))

    def _book(self, group: list[Held]) -> None:
        if group:
            self.buffer.extend(group)
            self.perform(self.machine.arrived(len(group), sum(size for _, size, _ in group), self.world.now))

    @override
    def reconnect(self) -> None:
        self.watcher.linked(self)
        super().reconnect()

    @override
    def drain(self) -> None:
        self.leaving = True
        self.perform(self.machine.drain(self.world.now))

    # The user

    def _begin(self) -> None:
        if self.processing or not self.buffer:
            return
        count = min(len(self.buffer), self.options.chunk)
        self.processing = [self.buffer.popleft() for _ in range(count)]
        start = max(self.world.now, self.slow_until, self.asleep_until)
        self.world.at(start + self.options.chunk_seconds, self._finish, self._life)

    def _finish(self, life: int) -> None:
        if life != self._life:
            return
        if self.world.now < self.asleep_until:
            self.world.at(self.asleep_until, self._finish, life)
            return
        done, self.processing = self.processing, []
        for sequence, _, _ in done:
            if self.world.random.random() >= self.options.forgets or self.options.forgets == 0:
                self.link.send_to_server(self.server.acknowledge, sequence)
        self.perform(self.machine.processed(len(done), sum(size for _, size, _ in done), self.world.now))
        self.watcher.processed(self, [sequence for sequence, _, _ in done])
        self._begin()
