"""A client: the shell that carries out what a machine decides, and reports to it what happens."""

from abc import ABC, abstractmethod

from penstock_jetstream.core.actions import Action, Pull, WakeAt
from penstock_jetstream.core.consume import Consume
from penstock_jetstream.core.fetch import Fetch
from penstock_jetstream.core.statuses import Status, kind_of
from tests.jetstream.simulation.link import Item, Link
from tests.jetstream.simulation.options import ClientOptions
from tests.jetstream.simulation.server import Server
from tests.jetstream.simulation.world import World


class Client(ABC):
    """What all clients have."""

    machine: Consume | Fetch

    def __init__(self, world: World, server: Server, options: ClientOptions, name: str) -> None:
        self.world = world
        self.server = server
        self.options = options
        self.name = name
        self.link = Link(world, server, name=name, delay_seconds=options.delay_seconds)
        self.link.on_items = self.take
        self.first_number = 0
        """The last request of earlier machines: each has an inbox of its own, which numbers stand for here."""
        self.unread: list[Item] = []
        """What came while it slept."""
        self.asleep_until = 0.0
        self.slow_until = 0.0
        self.leaving = False
        self._wake = 0

    @abstractmethod
    def on_action(self, action: Action) -> None: ...

    @abstractmethod
    def on_items(self, items: list[Item]) -> None: ...

    @abstractmethod
    def drain(self) -> None: ...

    # What the machine wants

    def perform(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, WakeAt):
                self._wake += 1
                self.world.at(action.time, self._tick, self._wake)
                continue
            if self.world.lines is not None:
                self.world.say(self.name, f"does {action}")
            self.on_action(action)
            if isinstance(action, Pull):
                self.link.send_to_server(self.server.pull, self.link, self.first_number + action.number, action.body)

    def rest(self) -> None:
        """Let the timer not ring any more."""
        self._wake += 1

    # What happens to it

    def start(self) -> None:
        self.perform(self.machine.start(self.world.now, connected=self.link.up))

    def disconnect(self) -> None:
        self.link.break_off()
        self.world.say(self.name, "is disconnected")
        self.perform(self.machine.disconnected(self.world.now))

    def reconnect(self) -> None:
        self.link.connect()
        self.world.say(self.name, "is reconnected")
        self.perform(self.machine.reconnected(self.world.now))

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

    def take_status(self, item: Item) -> None:
        number, text, left = item
        code, _, description = text.partition(" ")
        left_messages, left_bytes = left or (None, None)
        kind, number = kind_of(int(code), description), number - self.first_number
        status = Status(kind, int(code), description, number, left_messages, left_bytes)
        self.perform(self.machine.status(status, self.world.now))

    def learn_pin(self, pin: str) -> None:
        if pin and pin != self.machine.pin_id:
            self.perform(self.machine.pinned(pin, self.world.now))

    def _take_unread(self) -> None:
        items, self.unread = self.unread, []
        self.take(items)

    def _tick(self, wake: int) -> None:
        if wake != self._wake:
            return
        if self.world.now < self.asleep_until:
            self.world.at(self.asleep_until, self._tick, wake)
        else:
            self.perform(self.machine.tick(self.world.now))
