"""An engine's process: the machine, and a shell that does what it asks for, late, or not at all if it is killed.

Each answer takes its time, and comes as a failure if the link was away. Checks that the shell's contract is kept: each
row gets one final answer. Does not know what ought to come of it (checks.py).
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from penstock_worker.policy.machine import actions as wants
from penstock_worker.policy.machine import events as told
from penstock_worker.policy.machine.actions import Action
from penstock_worker.policy.machine.events import Event
from penstock_worker.policy.machine.machine import Machine
from penstock_worker.policy.machine.pieces import Pieces
from penstock_worker.policy.outcome import Outcome
from penstock_worker.policy.settings import BatchSettings, EngineSettings, RetrySettings
from tests.jetstream.simulation.violation import Violation
from tests.jetstream.simulation.world import World
from tests.worker.simulation.driver import LOOK_SECONDS, Driver
from tests.worker.simulation.options import ACK_WAIT_SECONDS, DEADLINE_SECONDS, GRACE_SECONDS, Options
from tests.worker.simulation.server import MESSAGE_BYTES, Message, Server

PULL_SECONDS = 0.5
"""How often a pull looks for messages: the server is not told whom to wake."""
TIMEOUT_SECONDS = 2.0
FROZEN_EVENTS_MAX = 10_000
CALLS_AT_ONCE_MAX = 400
"""Of the machine, without any time passing."""

MachineFactory = Callable[[EngineSettings, float], Machine]


def plain(settings: EngineSettings, ack_wait_seconds: float) -> Machine:
    return Machine(settings, ack_wait_seconds=ack_wait_seconds)


def settings_of(options: Options, worker: str) -> EngineSettings:
    return EngineSettings(
        group="g",
        worker=worker,
        stream="S",
        consumer="c",
        dead_letter_stream="D",
        dead_letter_subject="dead",
        ledger=options.ledger,
        batch=BatchSettings(
            max_messages=options.max_messages,
            max_bytes=MESSAGE_BYTES * 50,
            in_flight=options.in_flight,
            deadline_seconds=DEADLINE_SECONDS,
        ),
        retry=RetrySettings(max_attempts=options.max_attempts, max_delay_seconds=5),
        grace_seconds=GRACE_SECONDS,
    )


class Engine:
    """One process, from its start to its end."""

    def __init__(
        self, world: World, options: Options, server: Server, driver: Driver, *, make: MachineFactory, name: str
    ) -> None:
        self.world, self.options, self.server, self.driver, self.name = world, options, server, driver, name
        self.machine = make(settings_of(options, name), ACK_WAIT_SECONDS)
        self.is_alive = True
        self.ended: wants.Stop | None = None
        self.frozen_until = 0.0
        self.link_is_up = True
        self.unwell_at = 0.0
        """When it last could not renew: it was frozen, or without a link."""
        self.pulls = False
        self.room = 0
        """The room that the machine stated last, minus the messages that arrived since then."""
        self.on_the_way = 0
        """How many messages the server has delivered that have not arrived."""
        self.was_full = False
        """Then what is missing of a recalled batch may have had no chance to come in time."""
        self.sequences: dict[int, list[int]] = {}
        self.stored_at: dict[int, list[int]] = {}
        """By block, as the sequences are."""
        self.answered: dict[tuple[int, int], str] = {}
        self.newest: dict[int, tuple[int, int]] = {}
        """Where each message came last."""
        self.notes: list[wants.Report] = []
        self.on_step: Callable[[Engine], None] = lambda _: None
        self._blocks = 0
        self._held_back: deque[Event] = deque(maxlen=FROZEN_EVENTS_MAX)
        self._calls, self._called_at = 0, -1.0
        self._pull_is_due = False
        self.dies_after: type[Action] | None = None
        driver.on_end.append(lambda: self._later(told.DriverEnding()))
        driver.on_death.append(lambda: self._later(told.DriverLost("the call broke")))

    # Events

    def start(self) -> None:
        self.tell(told.Started())

    def tell(self, event: Event) -> None:
        if not self.is_alive:
            return
        if self.world.now < self.frozen_until:
            self._held_back.append(event)
            return
        self._count_call()
        if isinstance(event, told.Arrived):
            self.newest.update((sequence, (event.block, row)) for row, sequence in enumerate(event.sequences))
        if self.world.lines is not None and not isinstance(event, told.Tick):
            self.world.say(self.name, f"<- {event}")
        for action in self.machine.handle(event, now=self.world.now, chance=self.world.random.random()):
            self._do(action)
            if type(action) is self.dies_after:
                self.kill()
                return
        if imbalance := self.machine.books.imbalance():
            raise Violation(f"{self.name}: {imbalance}")
        self.on_step(self)

    def _count_call(self) -> None:
        if self.world.now > self._called_at:
            self._calls, self._called_at = 0, self.world.now
        self._calls += 1
        if self._calls > CALLS_AT_ONCE_MAX:
            raise Violation(f"{self.name} is busy though no time passes")

    def _later(self, event: Event, seconds: float | None = None) -> None:
        self.world.after(self._delay() if seconds is None else seconds, self.tell, event)

    def _delay(self) -> float:
        return self.options.delay_seconds * (1 + self.world.random.random())

    def freeze(self, seconds: float) -> None:
        self.frozen_until = max(self.frozen_until, self.world.now + seconds)
        self.world.at(self.frozen_until, self._thaw)

    def _thaw(self) -> None:
        if self.world.now < self.frozen_until:
            return
        self.unwell_at = self.world.now
        while self._held_back:
            self.tell(self._held_back.popleft())

    def kill(self) -> None:
        self.world.say(self.name, "is killed")
        self.is_alive = False

    def cut(self) -> None:
        if self.link_is_up:
            self.link_is_up = False
            self.tell(told.LinkLost())

    def mend(self) -> None:
        if not self.link_is_up:
            self.link_is_up = True
            self.unwell_at = self.world.now
            self.tell(told.LinkBack())

    # Actions

    def _do(self, action: Action) -> None:
        if self.world.lines is not None and not isinstance(action, wants.WakeAt):
            self.world.say(self.name, f"   -> {action}")
        getattr(self, f"_{type(action).__name__}")(action)

    def _send(self, call: Callable[..., Any], *arguments: Any) -> None:  # noqa: ANN401 - they are the call's
        """Send what needs no answer. What was sent arrives even if its sender dies."""
        if self.link_is_up:
            self.world.after(self._delay(), call, *arguments)

    def _ask(self, call: Callable[[], bool], good: Event, bad: Event) -> None:
        """Send a question; what is not confirmed, or when the link goes meanwhile, is answered late and badly."""
        if not self.link_is_up:
            self._later(bad)
            return
        self.world.after(self._delay(), self._answer, call, good, bad)

    def _answer(self, call: Callable[[], bool], good: Event, bad: Event) -> None:
        if call() and self.link_is_up:
            self._later(good)
        else:
            self._later(bad, TIMEOUT_SECONDS)

    def messages_of(self, pieces: Pieces) -> list[Message]:
        return [
            message
            for piece in pieces
            for message in zip(
                self.sequences[piece.block][piece.start : piece.stop],
                self.stored_at[piece.block][piece.start : piece.stop],
                strict=True,
            )
        ]

    def sequences_of(self, pieces: Pieces) -> list[int]:
        return [sequence for piece in pieces for sequence in self.sequences[piece.block][piece.start : piece.stop]]

    def _final(self, pieces: Pieces, answer: str) -> list[Message]:
        for piece in pieces:
            for row in range(piece.start, piece.stop):
                former = self.answered.get((piece.block, row), "settle")
                if former != "settle" or ((piece.block, row) in self.answered and answer != "settle"):
                    raise Violation(f"{self.name} answers row {row} of block {piece.block} by {answer} after {former}")
                if (piece.block, row) not in self.answered:
                    self._check_newest(piece.block, row, answer)
                self.answered[piece.block, row] = answer
        return self.messages_of(pieces)

    def _check_newest(self, block: int, row: int, answer: str) -> None:
        sequence = self.sequences[block][row]
        if answer != "let go" and self.newest[sequence] != (block, row):
            raise Violation(f"{self.name} answers a former delivery of message {sequence} by {answer}")

    def _Report(self, action: wants.Report) -> None:  # noqa: N802 - named after the action
        self.notes.append(action)

    def _AwaitDriver(self, action: wants.AwaitDriver) -> None:  # noqa: N802
        if not self.is_alive:
            return
        if self.driver.is_ready:
            self._later(told.DriverReady(str(self.driver.incarnation)))
        elif self.driver.is_ending:
            self.world.after(LOOK_SECONDS, self._AwaitDriver, action)
        else:
            self.world.at(self.driver.ready_at, self._AwaitDriver, action)

    def _HandOver(self, action: wants.HandOver) -> None:  # noqa: N802
        sequences = self.sequences_of(action.pieces)
        if sequences != sorted(set(sequences)) or len(sequences) != action.count:
            raise Violation(f"batch {action.batch_id} has its messages in no good order: {sequences}")
        name = action.batch_id, action.run
        self.world.after(self._delay(), self._hand, name, frozenset(self.messages_of(action.pieces)))

    def _hand(self, name: tuple[str, int], messages: frozenset[Message]) -> None:
        if self.is_alive:
            self.driver.hand(*name, messages, lambda outcome: self._outcome(name, outcome))

    def _outcome(self, name: tuple[str, int], outcome: Outcome) -> None:
        self._later(told.RunEnded(*name, outcome))

    def _CancelRun(self, action: wants.CancelRun) -> None:  # noqa: N802
        self.world.after(self._delay(), self.driver.cancel, (action.batch_id, action.run))

    def _ForgetRun(self, action: wants.ForgetRun) -> None:  # noqa: N802
        self.world.after(self._delay(), self.driver.forget, (action.batch_id, action.run))

    def _AbandonDriver(self, action: wants.AbandonDriver) -> None:  # noqa: N802
        del action
        self.driver.kill()

    def _ReadLedger(self, action: wants.ReadLedger) -> None:  # noqa: N802
        del action
        self.world.after(self._delay(), self._read_ledger)

    def _read_ledger(self) -> None:
        if self.link_is_up and self.world.now >= self.server.refuses_ledger_until:
            self._later(told.LedgerRead(self.server.read()))
        else:
            self._later(told.LedgerUnread("no answer"))

    def _WriteLedger(self, action: wants.WriteLedger) -> None:  # noqa: N802
        name = action.entry.batch_id
        good, bad = told.LedgerWritten(name), told.LedgerFailed(name, "no answer")
        self._ask(lambda: self.server.write(action.entry), good, bad)

    def _DeleteLedger(self, action: wants.DeleteLedger) -> None:  # noqa: N802
        self._send(self.server.delete, action.batch_ids)

    def _PublishLetters(self, action: wants.PublishLetters) -> None:  # noqa: N802
        sequences = [letter.sequence for letter in action.letters]
        if sequences != self.sequences_of(tuple(letter.piece for letter in action.letters)):
            raise Violation(f"a letter of batch {action.batch_id} is about another message: {action.letters}")
        good, bad = told.LettersPublished(action.batch_id), told.LettersFailed(action.batch_id, "no answer")
        messages = self.messages_of(tuple(letter.piece for letter in action.letters))
        self._ask(lambda: self.server.publish_letters(messages), good, bad)

    def _PublishOutgoing(self, action: wants.PublishOutgoing) -> None:  # noqa: N802
        name = action.batch_id, action.run
        if name not in self.driver.runs:
            self._later(told.OutgoingFailed(*name, "the driver does not know it", gone=True))
            return
        self._ask(lambda: True, told.OutgoingPublished(*name), told.OutgoingFailed(*name, "no answer", gone=False))

    def _Settle(self, action: wants.Settle) -> None:  # noqa: N802
        dead = [message for part in action.terminated for message in self._final(part.pieces, "settle")]
        acked = self._final(action.acknowledged, "settle")
        good, bad = told.Settled(action.batch_id), told.NotSettled(action.batch_id, "no answer")
        self._ask(lambda: self._settle(acked, dead), good, bad)

    def _settle(self, acked: list[Message], dead: list[Message]) -> bool:
        """Take answers. Of what its sender did not live to write to the end, only the first may come."""
        answers = [(self.server.term, one) for one in dead] + [(self.server.ack, one) for one in acked]
        if not self.is_alive or not self.link_is_up:
            answers = answers[: self.world.random.randint(0, len(answers))]
        confirmed = [answer(message) for answer, message in answers]
        return bool(confirmed) and confirmed[-1]

    def _Acknowledge(self, action: wants.Acknowledge) -> None:  # noqa: N802
        for message in self._final(action.pieces, "acknowledge"):
            self._send(self.server.ack, message)

    def _Discard(self, action: wants.Discard) -> None:  # noqa: N802
        for message in self._final(action.pieces, "discard"):
            self._send(self.server.term, message)

    def _GiveBack(self, action: wants.GiveBack) -> None:  # noqa: N802
        for message in self._final(action.pieces, "nak"):
            self._send(self.server.nak, message, action.delay_seconds)

    def _LetGo(self, action: wants.LetGo) -> None:  # noqa: N802
        self._final(action.pieces, "let go")

    def _Renew(self, action: wants.Renew) -> None:  # noqa: N802
        for message in self.messages_of(action.pieces):
            self._send(self.server.renew, message)

    def _HoldPull(self, action: wants.HoldPull) -> None:  # noqa: N802
        self.pulls = False
        self.was_full |= wants.HoldReason.FULL in action.reasons

    def _ReleasePull(self, action: wants.ReleasePull) -> None:  # noqa: N802
        self.pulls, self.room = True, action.messages
        if not self._pull_is_due:
            self._pull_is_due = True
            self.world.after(self._delay(), self._pull)

    def _Count(self, action: wants.Count) -> None:  # noqa: N802
        self.world.after(self._delay(), self._count, action)

    def _count(self, action: wants.Count) -> None:
        if not self.link_is_up:
            self.world.after(TIMEOUT_SECONDS, self._count, action)
            return
        server = self.server
        server.lapse()
        pending = server.last - server.next + 1
        self._later(told.Counted(pending, len(server.pending) + len(server.available), server.floor))

    def _WakeAt(self, action: wants.WakeAt) -> None:  # noqa: N802
        self.world.at(action.time, self.tell, told.Tick())

    def _Stop(self, action: wants.Stop) -> None:  # noqa: N802
        self.ended, self.is_alive = action, False

    # The pull

    @property
    def asks_for(self) -> int:
        """Return how many more messages the server may deliver: a lane asks for this many."""
        return max(0, self.room - self.on_the_way) if self.pulls else 0

    def _pull(self) -> None:
        self._pull_is_due = False
        if not self.is_alive or not self.pulls:
            return
        if self.link_is_up and self.world.now >= self.frozen_until:
            for sequences in self.server.pull(min(self.options.max_messages * 2, self.asks_for)):
                if sequences:
                    self._deliver(sequences)
        self._pull_is_due = True
        if self.server.is_idle:
            self.server.idle.append(self._pull)
        else:
            self.world.after(PULL_SECONDS, self._pull)

    def _deliver(self, sequences: list[int]) -> None:
        """What was delivered once more only after a restart of the server looks fresh, as it does there."""
        for redelivered in (True, False):
            some = [number for number in sequences if (self.server.delivered[number] > 1) is redelivered]
            if some:
                self._blocks += 1
                self.on_the_way += len(some)
                self.server.hold(self, self._blocks, some)
                self.sequences[self._blocks] = some
                self.stored_at[self._blocks] = [self.server.stored_at[sequence] for sequence in some]
                self.world.after(self._delay(), self._arrive, self._blocks, redelivered)

    def _arrive(self, block: int, redelivered: bool) -> None:  # noqa: FBT001 - an argument of a call to come
        sequences = self.sequences[block]
        self.on_the_way -= len(sequences)
        if not self.link_is_up:
            return
        self.room = max(0, self.room - len(sequences))
        offsets = [MESSAGE_BYTES * row for row in range(len(sequences) + 1)]
        self.tell(
            told.Arrived(
                block=block,
                sequences=sequences,
                stored_at=self.stored_at[block],
                offsets=offsets,
                redelivered=redelivered,
            )
        )
