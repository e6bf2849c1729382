"""A small world for an ordered consumer: a stream that grows, servers that forget, a link that loses, a slow user.

All chance comes from one seed. A run first draws which faults it has, then lives through them, and at last they stop.
"""

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from penstock_jetstream.core.actions import End, Report, WakeAt
from penstock_jetstream.core.ordered import Action, Create, Drop, LookAtStream, Ordered, Read, Seen
from penstock_jetstream.core.ordered_options import OrderedOptions
from penstock_jetstream.core.times import nanoseconds
from penstock_jetstream.errors import (
    ConsumerDeletedError,
    HeartbeatMissedError,
    JetStreamError,
    LinkError,
    NoLeaderOrMissingError,
)
from tests.jetstream.simulation.violation import Violation

TROUBLED_STEPS = 120
CALM_SECONDS = 60.0
BUFFER_MAX = 8
HEARTBEAT_SECONDS, ALARM_SECONDS = 5.0, 10.0
STEP_SECONDS = 0.5
CREATES_PER_SECOND_MAX = 2
CREATES_PER_FAULT_MAX = 3
FAULTS = (
    *("lost_messages", "lost_links", "deleted_consumers", "reset_consumers", "restarted_servers", "refused_requests"),
    *("recreated_streams", "emptied_streams"),
)


@dataclass(frozen=True, slots=True)
class Stored:
    """A message in the stream. `written` counts all that were ever written, over all lives of the stream."""

    sequence: int
    written: int

    @property
    def timestamp_ns(self) -> int:
        return self.written * 1_000


@dataclass(frozen=True, slots=True)
class OnItsWay:
    """What happens when it arrives, and what if the link is lost before."""

    arrive: Callable[[], None]
    get_lost: Callable[[], None] | None = None


@dataclass(slots=True)
class Served:
    """A consumer, as its server has it."""

    start_sequence: int
    next_sequence: int
    delivered: int = 0


@dataclass(slots=True)
class StreamServer:
    """The stream and its consumers."""

    stream: list[Stored] = field(default_factory=list)
    created: int = 1
    last_sequence: int = 0
    written: int = 0
    consumers: dict[str, Served] = field(default_factory=dict)

    def write(self) -> None:
        self.written += 1
        self.last_sequence += 1
        self.stream.append(Stored(self.last_sequence, self.written))

    def create(self, config: dict[str, object]) -> int:
        """Make a consumer; return what its info says of the last sequence before its start."""
        start = config.get("opt_start_seq")
        if "opt_start_time" in config:
            since = nanoseconds(str(config["opt_start_time"]), "the start")
            start = next((each.sequence for each in self.stream if each.timestamp_ns >= since), self.last_sequence + 1)
        first = int(str(start)) if start is not None else 1
        self.consumers[str(config["name"])] = Served(first, first)
        return first - 1

    def serve(self, name: str) -> tuple[int, Stored] | None:
        """Return the next delivery of a consumer, if there is one, and count it."""
        served = self.consumers[name]
        message = next((each for each in self.stream if each.sequence >= served.next_sequence), None)
        if message is None:
            return None
        served.next_sequence = message.sequence + 1
        served.delivered += 1
        return served.delivered, message

    def empty(self) -> None:
        """Restart with the stream in memory: it has lost its messages, and not the time of its creation."""
        self.stream, self.last_sequence = [], 0
        self.consumers.clear()

    def look(self) -> Seen:
        first = self.stream[0] if self.stream else Stored(0, 0)
        return Seen(f"{self.created}", first.sequence, first.timestamp_ns, self.last_sequence)


class OrderedWorld:
    """One run."""

    def __init__(self, seed: int, machine: Callable[[OrderedOptions], Ordered] = Ordered) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - no secret
        self.faults = [name for name in FAULTS if self.chance.random() < 0.5]
        self.calm = False
        self.now = 0.0
        self.server = StreamServer()
        self.machine = machine(OrderedOptions(stream="S", name_prefix="o"))
        self.linked = True
        self.wire: deque[OnItsWay] = deque()
        """To the client, in order."""
        self.reading: tuple[int, str] | None = None
        self.heard_at = 0.0
        self.wake_at: float | None = None
        self.buffer: deque[Stored] = deque()
        self.handed: list[int] = []
        self.creates: list[float] = []
        self.failed_at: list[float] = []
        self.trace: list[str] = [f"seed {seed}", f"{self.faults}"]

    def run(self) -> None:
        """Live through it; raise a Violation with the whole story if a promise is broken."""
        self.note("start")
        self.carry_out(self.machine.start())
        for _ in range(TROUBLED_STEPS):
            self.step()
        self.calm = True
        self.note("calm")
        if not self.linked:
            self.relink()
        until = self.now + CALM_SECONDS
        while self.now < until:
            self.step()
        self.check_complete()

    # One step: something happens, then half a second passes.

    def step(self) -> None:
        if not self.calm:
            if self.chance.random() < 0.4:
                self.server.write()
            self.fail()
        self.pump()
        for _ in range(self.chance.randrange(4) if not self.calm else len(self.wire)):
            self.receive()
        for _ in range(self.chance.randrange(4) if not self.calm else len(self.buffer)):
            self.hand_over()
        self.pass_time(STEP_SECONDS)

    def fail(self) -> None:
        happens = self.chance.random() < 0.15
        if not self.linked:
            if happens or self.chance.random() < 0.3:
                self.relink()
            return
        if not happens or not self.faults:
            return
        kind = self.chance.choice(self.faults)
        self.note(f"fault: {kind}")
        if kind != "refused_requests":  # which create() lets happen
            self.failed_at.append(self.now)
            self.strike(kind)

    def strike(self, kind: str) -> None:
        match kind:
            case "lost_messages":
                if self.wire and self.wire[0].get_lost is None:
                    self.wire.popleft()
            case "lost_links":
                self.unlink()
            case "deleted_consumers":
                self.server.consumers.clear()
            case "reset_consumers":
                for served in self.server.consumers.values():
                    served.next_sequence, served.delivered = served.start_sequence, 0
            case "restarted_servers":
                self.unlink()
                self.server.consumers.clear()
            case "recreated_streams":
                self.server.created += 1
                self.server.empty()
            case _:  # emptied_streams
                self.unlink()
                self.server.empty()
                self.relink()

    def unlink(self) -> None:
        self.linked = False
        lost, self.wire = self.wire, deque()
        self.carry_out(self.machine.disconnected())
        for each in lost:
            if each.get_lost is not None:
                each.get_lost()

    def relink(self) -> None:
        self.note("link back")
        self.linked = True
        self.carry_out(self.machine.reconnected(self.now))

    def pump(self) -> None:
        """Let the server send what a pull would get."""
        if self.reading is None or not self.linked:
            return
        number, name = self.reading
        while name in self.server.consumers and len(self.wire) + len(self.buffer) < BUFFER_MAX:
            served = self.server.serve(name)
            if served is None:
                return
            self.wire.append(OnItsWay(partial(self.arrive, number, *served)))

    def receive(self) -> None:
        if self.wire and self.linked:
            self.wire.popleft().arrive()

    def arrive(self, number: int, delivery: int, message: Stored) -> None:
        self.heard_at = self.now
        if self.machine.is_next(number, delivery, message.sequence):
            self.buffer.append(message)
        else:
            self.carry_out(self.machine.out_of_order(number, delivery, self.now))

    def hand_over(self) -> None:
        if not self.buffer:
            return
        message = self.buffer.popleft()
        if self.handed and message.written <= self.handed[-1]:
            raise self.broken(f"{message} was handed over after number {self.handed[-1]}")
        self.handed.append(message.written)
        self.machine.handed(message.sequence, message.timestamp_ns)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        if self.wake_at is not None and self.now >= self.wake_at:
            self.wake_at = None
            self.carry_out(self.machine.tick(self.now))
        if self.reading is None or not self.linked:
            return
        number, name = self.reading
        served = self.server.consumers.get(name)
        if served is not None and self.now - self.heard_at >= HEARTBEAT_SECONDS and not self.wire:
            self.heard_at = self.now
            self.carry_out(self.machine.heartbeat(number, served.delivered, self.now))
        elif served is None and self.chance.random() < 0.5:
            where = {"stream": "S", "consumer": name}
            late = self.now - self.heard_at >= ALARM_SECONDS
            missed = HeartbeatMissedError(**where, silent_seconds=ALARM_SECONDS)
            gone = self.chance.choice([ConsumerDeletedError, NoLeaderOrMissingError])(**where)
            self.carry_out(self.machine.troubled(number, missed if late else gone, self.now))

    # What the machine wants

    def carry_out(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case LookAtStream(number):
                    not_seen = partial(self.tell, self.machine.stream_not_seen, number)
                    self.wire.append(OnItsWay(partial(self.look, number), not_seen))
                case Create(number, config):
                    self.creates.append(self.now)
                    self.check_pace()
                    self.note(f"create {config['name']} {config.get('opt_start_seq', config['deliver_policy'])}")
                    self.create(number, config)
                case Read(number, name):
                    self.reading, self.heard_at = (number, name), self.now
                case Drop(name):
                    self.note(f"drop {name}")
                    self.server.consumers.pop(name, None)
                    self.reading = None
                    self.buffer.clear()
                case Report(error):
                    self.note(f"report {error.sentence}")
                case WakeAt(time):
                    self.wake_at = time
                case End():
                    raise self.broken("it ended")

    def look(self, number: int) -> None:
        self.carry_out(self.machine.stream_seen(number, self.server.look(), self.now))

    def tell(self, event: Callable[..., list[Action]], *facts: object) -> None:
        """Give an event to the machine at the time when it is called, and carry out what the machine decides."""
        self.carry_out(event(*facts, self.now))

    def create(self, number: int, config: dict[str, object]) -> None:
        may_refuse = "refused_requests" in self.faults and self.heard_at > 0 and not self.calm
        if not self.linked or (may_refuse and self.chance.random() < 0.3):
            self.tell(self.machine.refused, number, JetStreamError("refused") if self.linked else LinkError("lost"))
            return
        created = partial(self.tell, self.machine.created, number, self.server.create(config))
        self.wire.append(OnItsWay(created, partial(self.tell, self.machine.refused, number, LinkError("lost"))))

    # Promises

    def check_pace(self) -> None:
        """Each fault may cost a few consumers; without one, a failing request is not repeated at once."""
        recent = sum(time > self.now - 1 for time in self.creates)
        causes = sum(time > self.now - 3 for time in self.failed_at)
        if recent > CREATES_PER_SECOND_MAX + CREATES_PER_FAULT_MAX * causes:
            raise self.broken(f"{recent} consumers were made within a second, after {causes} faults")

    def check_complete(self) -> None:
        """All that is in the stream at the end has been handed over."""
        missing = [each for each in self.server.stream if each.written not in set(self.handed)]
        if missing:
            raise self.broken(f"{missing[0]} was never handed over, {len(missing)} in all")

    def broken(self, sentence: str) -> Violation:
        return Violation("\n".join([sentence, *self.trace]))

    def note(self, text: str) -> None:
        self.trace.append(f"{self.now:6.1f}  {text}")
