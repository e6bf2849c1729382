"""A client with its user: the shell that carries out what a machine decides, and tells it what happens.

Knows a buffer, a user who takes his time, and a machine that may be a broken one (test_mutants.py). Does not
know what is right: it tells checks.py what happened.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Protocol

from typing_extensions import override

from penstock_jetstream.core.actions import Action, End, Pull, Resubscribe, Unsubscribe, Verify, WakeAt
from penstock_jetstream.core.consume import Consume
from penstock_jetstream.core.options import ConsumeOptions
from penstock_jetstream.core.statuses import Status, kind_of
from tests.jetstream.simulation.link import Item, Link
from tests.jetstream.simulation.options import ClientOptions
from tests.jetstream.simulation.server import Server
from tests.jetstream.simulation.world import World

RESTART_SECONDS = 1.0
"""A user whose consume ended in an error begins again after this time."""

Held = tuple[int, int, bool]
"""Sequence, size, and whether it came late: of a request that had been written off."""

MachineFactory = Callable[[ConsumeOptions], Consume]


class Watcher(Protocol):
    """Who checks that all is right."""

    def pulled(self, client: "ConsumeClient", number: int) -> None: ...

    def took(self, client: "ConsumeClient", items: list[Item]) -> None: ...

    def acted(self, client: "ConsumeClient") -> None: ...

    def processed(self, client: "ConsumeClient", sequences: list[int]) -> None: ...

    def linked(self, client: "ConsumeClient") -> None: ...

    def ended(self, client: "ConsumeClient", error: Exception | None) -> None: ...


def read_item(item: Item) -> Status:
    number, text, left = item
    code, _, description = text.partition(" ")
    left_messages, left_bytes = left or (None, None)
    return Status(kind_of(int(code), description), int(code), description, number, left_messages, left_bytes)


class Client(ABC):
    """What all clients have: a link, and times at which nobody is at home."""

    def __init__(self, world: World, server: Server, options: ClientOptions, name: str) -> None:
        self.world = world
        self.server = server
        self.options = options
        self.name = name
        self.link = Link(world, server, name=name, delay_seconds=options.delay_seconds)
        self.link.on_items = self.take
        self.unread: list[Item] = []
        """What came while it slept."""
        self.asleep_until = 0.0
        self.slow_until = 0.0
        self.leaving = False
        self._wake = 0

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def perform(self, actions: list[Action]) -> None: ...

    @abstractmethod
    def on_items(self, items: list[Item]) -> None: ...

    @abstractmethod
    def on_tick(self) -> None: ...

    @abstractmethod
    def disconnect(self) -> None: ...

    @abstractmethod
    def reconnect(self) -> None: ...

    @abstractmethod
    def drain(self) -> None: ...

    def note(self, actions: list[Action]) -> None:
        if self.world.lines is not None:
            for action in actions:
                if not isinstance(action, WakeAt):
                    self.world.say(self.name, f"does {action}")

    def wake_at(self, time: float) -> None:
        self._wake += 1
        self.world.at(time, self._tick, self._wake)

    def _tick(self, wake: int) -> None:
        if wake != self._wake:
            return
        if self.world.now < self.asleep_until:
            self.world.at(self.asleep_until, self._tick, wake)
        else:
            self.on_tick()

    def take(self, items: list[Item]) -> None:
        if self.world.now < self.asleep_until:
            if not self.unread:
                self.world.at(self.asleep_until, self._take_unread)
            self.unread += items
            return
        items = [item for item in items if item[0] > self.link.left_inboxes_to]
        if self.world.lines is not None:
            for item in items:
                self.world.say(self.name, f"gets {item}")
        self.on_items(items)

    def _take_unread(self) -> None:
        items, self.unread = self.unread, []
        self.take(items)


class ConsumeClient(Client):
    """A consume, begun again whenever it ends in an error."""

    def __init__(
        self, world: World, server: Server, options: ClientOptions, *, watcher: Watcher, make: MachineFactory, name: str
    ) -> None:
        super().__init__(world, server, options, name)
        self.watcher = watcher
        self.machine_options = ConsumeOptions(**options.machine)
        self.make = make
        self.machine = make(self.machine_options)
        self.buffer: deque[Held] = deque()
        self.processing: list[Held] = []
        self._life = 0
        self.first_number = 0
        """Numbers of earlier lives: every consume has an inbox of its own."""
        self.former_inbox_to = 0
        """Answers to requests up to this one come on a former inbox."""

    @override
    def start(self) -> None:
        self.perform(self.machine.start(self.world.now, connected=self.link.up))

    # What the machine wants

    @override
    def perform(self, actions: list[Action]) -> None:
        self.note(actions)
        for action in actions:
            match action:
                case Pull(number, body):
                    self.watcher.pulled(self, number)
                    self.link.send_to_server(self.server.pull, self.link, self.first_number + number, body)
                case WakeAt(time):
                    self.wake_at(time)
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
        self.watcher.acted(self)

    def _end(self, error: Exception | None) -> None:
        self._wake += 1
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

    @override
    def on_tick(self) -> None:
        self.perform(self.machine.tick(self.world.now))

    # What comes

    @override
    def on_items(self, items: list[Item]) -> None:
        self.watcher.took(self, items)
        group: list[Held] = []
        for item in items:
            if len(item) == 4 and item[0] > self.former_inbox_to:
                group.append((item[1], item[2], False))
                self._learn_pin(item[3])
                if self.options.bulk:
                    continue
            self._book(group)
            group = []
            if item[0] <= self.former_inbox_to:
                self._take_late(item)
            elif len(item) == 3:
                number, text, left = item
                self.perform(self.machine.status(read_item((number - self.first_number, text, left)), self.world.now))
        self._book(group)
        self._begin()

    def _learn_pin(self, pin: str) -> None:
        if pin and pin != self.machine.pin_id:
            self.perform(self.machine.pinned(pin, self.world.now))

    def _take_late(self, item: Item) -> None:
        if len(item) == 4:
            self.buffer.append((item[1], item[2], True))
            self.perform(self.machine.arrived_late(1, item[2], self.world.now))

    def _book(self, group: list[Held]) -> None:
        if group:
            self.buffer.extend(group)
            self.perform(self.machine.arrived(len(group), sum(size for _, size, _ in group), self.world.now))

    @override
    def disconnect(self) -> None:
        self.link.break_off()
        self.world.say(self.name, "is disconnected")
        self.perform(self.machine.disconnected(self.world.now))

    @override
    def reconnect(self) -> None:
        self.link.connect()
        self.world.say(self.name, "is reconnected")
        self.watcher.linked(self)
        self.perform(self.machine.reconnected(self.world.now))

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
