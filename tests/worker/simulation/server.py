"""A simulated server: a stream, one consumer, the stream of dead letters and the ledger's bucket.

It behaves as nats-server does: an answer to a former delivery counts like one to the newest, a second answer is not
confirmed, a restart may forget deliveries and answers, and a new leader may forget deliveries and miss answers.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from penstock_worker.policy.ledger import Entry, decode, encode
from tests.jetstream.simulation.violation import Violation
from tests.jetstream.simulation.world import World
from tests.worker.simulation.options import Options

MESSAGE_BYTES = 10
FORGETTING_SECONDS = 2.0
"""Younger deliveries and answers may not be on its disk yet, nor may its replicas know of younger deliveries."""

Message = tuple[int, int]
"""A sequence, and when it was given to this message: after a loss another message may get the same sequence."""


@dataclass(slots=True)
class Delivery:
    """A message that waits for its answer."""

    holder: object
    lapses_at: float
    delivered_at: float


class Server:
    """The state that outlives every process."""

    def __init__(self, world: World, options: Options) -> None:
        self.world = world
        self.options = options
        self.last = 0
        self.stored_at: dict[int, int] = {}
        """By sequence; a sequence that is used again is another message."""
        self._clock = 0
        self.delivered: Counter[int] = Counter()
        self.available: dict[int, float] = {}
        """Sequences that may be delivered again, and from when on."""
        self.next = 1
        self.pending: dict[int, Delivery] = {}
        self.acked: set[int] = set()
        self.terminated: set[int] = set()
        self.answered_at: dict[int, float] = {}
        self.life = 1
        """Another number after each restart and each election of a leader."""
        self.began_at = -FORGETTING_SECONDS * 100
        """When that was."""
        self.consumers = 1
        """How often the consumer was created."""
        self.has_lost = False
        self.was_reset = False
        self.letters: Counter[int] = Counter()
        self.ledger: dict[str, bytes] = {}
        self.rejected: set[int] = set()
        """Messages that the ledger ever had as rejected."""
        self.refuses_ledger_until = self.refuses_letters_until = 0.0
        self.idle: list[Callable[[], None]] = []
        """Pulls that wait for the next message; nothing can come before that."""
        self.on_lapse: Callable[[int, Delivery], None] = lambda *_: None
        self.on_ack: Callable[[int], None] = lambda _: None
        self.on_term: Callable[[int], None] = lambda _: None
        self.on_loss: Callable[[Iterable[int]], None] = lambda _: None

    # The stream and its consumer

    def publish(self, count: int) -> None:
        for _ in range(count):
            self.last += 1
            self.stored_at[self.last] = self._clock = self._clock + 1
        self._wake()

    def _wake(self) -> None:
        idle, self.idle = self.idle, []
        for call in idle:
            call()

    @property
    def floor(self) -> int:
        """Return the sequence up to which all messages are answered."""
        first = 1
        while first <= self.last and (first in self.acked or first in self.terminated):
            first += 1
        return first - 1

    @property
    def is_done(self) -> bool:
        return len(self.acked | self.terminated) == self.last and self.next > self.last

    def lapse(self) -> None:
        """Make messages available again whose ack wait is over."""
        now = self.world.now
        for sequence in [sequence for sequence, held in self.pending.items() if held.lapses_at <= now]:
            held = self.pending.pop(sequence)
            self.available[sequence] = now
            self.on_lapse(sequence, held)

    @property
    def is_idle(self) -> bool:
        """Tell whether nothing can be delivered before something is published."""
        return self.next > self.last and not self.pending and not self.available

    def pull(self, most: int) -> tuple[list[int], list[int]]:
        """Return the messages that are delivered now: redelivered ones, and fresh ones."""
        self.lapse()
        now = self.world.now
        again = sorted(sequence for sequence, at in self.available.items() if at <= now and self._is_for_this_one())
        again = again[:most]
        room = min(most - len(again), self.options.max_ack_pending - len(self.pending) - len(self.available))
        fresh = list(range(self.next, min(self.next + max(room, 0), self.last + 1)))
        self.next += len(fresh)
        for sequence in again:
            del self.available[sequence]
        for sequence in (*again, *fresh):
            self.delivered[sequence] += 1
        return again, fresh

    def _is_for_this_one(self) -> bool:
        """Tell whether this pull gets a redelivered message: several workers get some of them each."""
        return self.options.workers == 1 or self.world.random.random() < 1 / self.options.workers

    def hold(self, holder: object, sequences: Iterable[int]) -> None:
        now = self.world.now
        for sequence in sequences:
            self.pending[sequence] = Delivery(holder, now + self.options.ack_wait_seconds, now)

    # Answers

    def has(self, message: Message) -> bool:
        sequence, stored_at = message
        return self.stored_at.get(sequence) == stored_at

    def ack(self, message: Message) -> bool:
        """Take an ack; return whether it is confirmed."""
        return self._answer(message, self.on_ack, self.acked)

    def term(self, message: Message) -> bool:
        return self._answer(message, self.on_term, self.terminated)

    def _answer(self, message: Message, check: Callable[[int], None], answered: set[int]) -> bool:
        if not self.has(message):
            return False
        sequence, _ = message
        check(sequence)
        was_pending = self.pending.pop(sequence, None) is not None
        was_lapsed = self.available.pop(sequence, None) is not None
        if was_pending or was_lapsed:
            answered.add(sequence)
            self.answered_at[sequence] = self.world.now
        return was_pending or was_lapsed

    def nak(self, message: Message, delay_seconds: float) -> None:
        sequence = message[0]
        if self.has(message) and self.pending.pop(sequence, None) is not None:
            self.available[sequence] = self.world.now + delay_seconds

    def renew(self, message: Message) -> None:
        held = self.pending.get(message[0])
        if held is not None and self.has(message):
            held.lapses_at = self.world.now + self.options.ack_wait_seconds

    def forget(self) -> None:
        """Restart after a crash: some of the newest deliveries and answers are lost."""
        for sequence, at in self.answered_at.items():
            if self.world.now - at < FORGETTING_SECONDS and self.world.random.random() < 0.5:
                self.acked.discard(sequence)
                self.terminated.discard(sequence)
                self.available[sequence] = self.world.now
        self.step_down()

    def step_down(self) -> None:
        """Have another leader elected, which does not know of some of the newest deliveries."""
        self.life += 1
        self.began_at = self.world.now
        for sequence, held in list(self.pending.items()):
            if self.world.now - held.delivered_at < FORGETTING_SECONDS and self.world.random.random() < 0.5:
                del self.pending[sequence]
                self.available[sequence] = self.world.now
                self.delivered[sequence] -= 1
        self._wake()

    @property
    def incarnation(self) -> str:
        return f"consumer {self.consumers}"

    def recreate(self) -> None:
        """Replace the consumer by another one of its name."""
        self.consumers += 1
        self.reset()

    def reset(self) -> None:
        """Deliver everything once more, as if for the first time."""
        self.was_reset = True
        self.acked.clear()
        self.terminated.clear()
        self.pending.clear()
        self.available.clear()
        self.delivered.clear()
        self.next = 1
        self._wake()

    def lose_newest(self, most: int) -> int:
        """Lose the newest messages, which were not on the disk yet; return how many."""
        lost = range(max(1, self.last - most + 1), self.last + 1)
        for sequence in lost:
            for known in (self.pending, self.available, self.answered_at, self.stored_at, self.delivered, self.letters):
                known.pop(sequence, None)
            for answered in (self.acked, self.terminated):
                answered.discard(sequence)
        self.last -= len(lost)
        self.next = min(self.next, self.last + 1)
        self.has_lost |= bool(lost)
        self.on_loss(lost)
        return len(lost)

    # Dead letters and the ledger

    def publish_letters(self, messages: list[Message]) -> bool:
        if self.world.now < self.refuses_letters_until:
            return False
        self.letters.update(sequence for sequence, stored_at in messages if self.has((sequence, stored_at)))
        return True

    def has_cut(self, entry: Entry, incarnation: str) -> bool:
        """Tell whether an entry is not written, as another worker has cut its batch."""
        value = self.ledger.get(entry.batch_id)
        held = None if value is None else decode(entry.batch_id, value, incarnation=incarnation)
        return held is not None and not entry.may_replace(held)

    def write(self, entry: Entry, incarnation: str) -> bool:
        if self.world.now < self.refuses_ledger_until:
            return False
        self.rejected.update(*(range(first, last + 1) for first, last in entry.rejected))
        in_parts = Counter(
            each for part in entry.parts for first, last in part.ranges for each in range(first, last + 1)
        )
        if twice := sorted(each for each, parts in in_parts.items() if parts > 1):
            raise Violation(f"messages {twice} are in several parts of batch {entry.batch_id}")
        self.ledger[entry.batch_id] = encode(entry, incarnation=incarnation)
        return True

    def has_rejections(self, batch_id: str) -> bool:
        """Tell whether the ledger has what a run of the batch rejected, or that it is done."""
        return any(
            entry.rejected or entry.committed for entry in self.read(self.incarnation) if entry.batch_id == batch_id
        )

    def read(self, incarnation: str) -> tuple[Entry, ...]:
        found = (decode(name, value, incarnation=incarnation) for name, value in self.ledger.items())
        return tuple(entry for entry in found if entry is not None)

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            self.ledger.pop(name, None)
