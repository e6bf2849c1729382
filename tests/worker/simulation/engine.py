"""A simulated engine: the machine, and a loop that carries out its actions late, or not at all if it is killed.

Each answer takes its time, and is a failure if the link was down. Checks that each row gets one final answer.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock_worker.policy.ledger import Entry
from penstock_worker.policy.machine import actions as wants
from penstock_worker.policy.machine import events as told
from penstock_worker.policy.machine.actions import Action
from penstock_worker.policy.machine.events import Event
from penstock_worker.policy.machine.machine import Machine
from penstock_worker.policy.machine.pieces import Pieces
from penstock_worker.policy.settings import BatchSettings, EngineSettings, RetrySettings
from tests.jetstream.simulation.violation import Violation
from tests.jetstream.simulation.world import World
from tests.worker.machine.playing import SETTINGS
from tests.worker.simulation.driver import LOOK_SECONDS, Driver, Run
from tests.worker.simulation.options import DEADLINE_SECONDS, GRACE_SECONDS, Options
from tests.worker.simulation.server import MESSAGE_BYTES, Message, Server

COUNT_SECONDS = 3.0
NOTICE_SECONDS = 5.0
"""An engine that is connected notices within this time that the server has changed."""
PULL_SECONDS = 0.5
"""How often a pull looks for messages."""
TIMEOUT_SECONDS = 2.0
CALLS_AT_ONCE_MAX = 400
"""Calls of the machine while no time passes."""


def settings_of(options: Options, worker: str) -> EngineSettings:
    return replace(
        SETTINGS,
        worker=worker,
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

    def __init__(self, world: World, options: Options, server: Server, driver: Driver, *, name: str) -> None:
        self.world, self.options, self.server, self.driver, self.name = world, options, server, driver, name
        self.incarnation = server.incarnation
        """That of the consumer that it knows of."""
        self.machine = Machine(
            settings_of(options, name), ack_wait_seconds=options.ack_wait_seconds, life=self.incarnation
        )
        self.server_life = server.life
        """The life of the server that it knows of."""
        self.unaware: set[int] = set()
        """Messages that arrived, or that it put into a batch, while it had yet to notice that the server changed."""
        self.is_alive = True
        self.ended: wants.Stop | None = None
        self.frozen_until = 0.0
        self.link_is_up = True
        self.stuck_until = 0.0
        """Until then nothing gets through the link, though it seems to be up: it is half-open."""
        self.unwell_at = 0.0
        """When it last could not renew leases: it was frozen, or disconnected."""
        self.pulls = False
        self.has_lost_pull = False
        self.room = 0
        """The room that the machine stated last, minus the messages that arrived since then."""
        self.on_the_way = 0
        """How many messages the server has delivered that have not arrived yet."""
        self.messages: dict[int, list[Message]] = {}
        """By block."""
        self.answered: dict[tuple[int, int], str] = {}
        self.notes: list[wants.Report] = []
        self.knows_rejections_of: set[str] = set()
        """Batches that it read in the ledger with what a run rejected that ended well."""
        self.passed_on: set[str] = set()
        """Former batches of which it gave messages back for another worker to have."""
        self.on_step: Callable[[Engine], None] = lambda _: None
        self._blocks = 0
        self._held_back: deque[Event] = deque()
        self._calls, self._called_at = 0, -1.0
        self._pull_is_due = False
        self.dies_after: type[Action] | None = None
        self._performers = self._perform_by_kind()
        delay_seconds = options.delay_seconds  # of both, so that they keep their order
        driver.on_end.append(lambda: self._later(told.DriverEnding(), delay_seconds))
        driver.on_death.append(lambda: self._later(told.DriverLost("the call broke"), delay_seconds))

    # Events

    def start(self) -> None:
        self.driver.failed.clear()
        self.tell(told.Started())
        if self.world.now - self.server.began_at < NOTICE_SECONDS:
            self.tell(told.ServerChanged())
        self._count_again()

    def notice(self) -> None:
        """Find out whether the server or the consumer is another one, or the server has forgotten what it knew."""
        may_notice = self.is_alive and self._gets_through and self.world.now >= self.frozen_until
        if may_notice and self.incarnation != self.server.incarnation:
            self.tell(told.Reborn("The consumer was created again."))
        elif may_notice and self.server_life != self.server.life:
            self.server_life = self.server.life
            self.tell(told.ServerChanged())

    def _count_again(self) -> None:
        if self.is_alive:
            self._count()
            self.world.after(COUNT_SECONDS, self._count_again)

    def tell(self, event: Event) -> None:
        if not self.is_alive:
            return
        if self.world.now < self.frozen_until:
            self._held_back.append(event)
            return
        self._count_call()
        if self.world.lines is not None and not isinstance(event, told.Tick):
            self.world.say(self.name, f"<- {event}")
        for action in self.machine.handle(event, now=self.world.now, chance=self.world.random.random()):
            self._do(action)
            if type(action) is self.dies_after:
                self.kill()
                return
        self.passed_on |= self.machine.books.recall.passed_on.keys()
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

    def _link_delay(self) -> float:
        return self._delay() + max(0.0, self.stuck_until - self.world.now)

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

    def stick(self, seconds: float) -> None:
        self.stuck_until = max(self.stuck_until, self.world.now + seconds)
        self.world.at(self.stuck_until, self._unstick)

    def _unstick(self) -> None:
        self.unwell_at = self.world.now

    def mend(self) -> None:
        if not self.link_is_up:
            self.link_is_up = True
            self.unwell_at = self.world.now
            self.tell(told.LinkBack())
            self.notice()

    # Actions

    def _do(self, action: Action) -> None:
        if self.world.lines is not None and not isinstance(action, wants.WakeAt):
            self.world.say(self.name, f"   -> {action}")
        self._performers[type(action)](action)

    def _perform_by_kind(self) -> dict[type[Action], Callable[[Any], object]]:
        """Return the function that performs each kind of action."""
        after, server, driver = self._after_a_delay, self.server, self.driver
        return {
            wants.Report: self.notes.append,
            wants.WakeAt: lambda wake: self.world.at(wake.time, self.tell, told.Tick()),
            wants.Stop: self._stop,
            wants.HoldPull: self._hold_pull,
            wants.ReleasePull: self._release_pull,
            wants.RestartPull: lambda _: self._restart_pull(),
            wants.Count: lambda _: after(self._count),
            wants.Settle: self._settle,
            wants.Acknowledge: lambda them: self._send_each(server.ack, self._final(them.pieces, "acknowledge")),
            wants.GiveBack: lambda them: self._send_each(
                server.nak, self._final(them.pieces, "nak"), them.delay_seconds
            ),
            wants.LetGo: lambda them: self._final(them.pieces, "let go"),
            wants.Renew: lambda them: self._send_each(server.renew, self.messages_of(them.pieces)),
            wants.ReadLedger: lambda _: after(self._read_ledger),
            wants.WriteLedger: self._write_ledger,
            wants.DeleteLedger: lambda entries: self._send(server.delete, entries.batch_ids),
            wants.PublishLetters: self._publish_letters,
            wants.PublishOutgoing: self._publish_outgoing,
            wants.AwaitDriver: lambda _: self._await_driver(),
            wants.HandOver: self._hand_over,
            wants.CancelRun: lambda run: after(driver.cancel, (run.batch_id, run.run)),
            wants.ForgetRun: lambda run: after(driver.forget, (run.batch_id, run.run)),
            wants.AbandonDriver: lambda _: driver.kill(),
        }

    def _stop(self, action: wants.Stop) -> None:
        self.ended, self.is_alive = action, False

    def _after_a_delay(self, call: Callable[..., Any], *arguments: Any) -> None:  # noqa: ANN401 - they are the call's
        self.world.after(self._delay(), call, *arguments)

    def _send(self, call: Callable[..., Any], *arguments: Any) -> None:  # noqa: ANN401 - they are the call's
        """Send a message without a reply. It arrives even if its sender dies, unless the server changes meanwhile."""
        if self.link_is_up:
            self.world.after(self._link_delay(), self._arrive_at, self.server.life, call, *arguments)

    def _arrive_at(self, life: int, call: Callable[..., Any], *arguments: Any) -> None:  # noqa: ANN401
        if life == self.server.life or self.world.random.random() < 0.5:
            call(*arguments)

    def _answer_to(self, call: Callable[..., bool], *arguments: Any) -> bool:  # noqa: ANN401 - they are the call's
        """Answer a delivery, unless the consumer is another one: that it takes such answers is not modelled."""
        return self.incarnation == self.server.incarnation and call(*arguments)

    def _send_each(self, call: Callable[..., Any], messages: list[Message], *arguments: Any) -> None:  # noqa: ANN401
        for message in messages:
            self._send(self._answer_to, call, message, *arguments)

    def _ask(self, call: Callable[[], Event | None], bad: Event) -> None:
        """Send a request; without a confirmation, or if the link breaks, the bad event follows late.

        What is not answered in time because the link is stuck arrives all the same.
        """
        delay_seconds = self._link_delay()
        if not self.link_is_up:
            self._later(bad)
        elif delay_seconds > TIMEOUT_SECONDS:
            self._later(bad, TIMEOUT_SECONDS)
            self.world.after(delay_seconds, call)
        else:
            self.world.after(delay_seconds, self._answer, call, bad)

    def _answer(self, call: Callable[[], Event | None], bad: Event) -> None:
        good = call()
        if good is not None and self.link_is_up:
            self._later(good, self._link_delay())
        else:
            self._later(bad, TIMEOUT_SECONDS)

    def messages_of(self, pieces: Pieces) -> list[Message]:
        return [message for piece in pieces for message in self.messages[piece.block][piece.start : piece.stop]]

    def sequences_of(self, pieces: Pieces) -> list[int]:
        return [sequence for sequence, _ in self.messages_of(pieces)]

    def _final(self, pieces: Pieces, answer: str) -> list[Message]:
        rows = [(piece.block, row) for piece in pieces for row in range(piece.start, piece.stop)]
        messages = self.messages_of(pieces)
        for row in rows:
            former = self.answered.get(row)
            if former is not None and (former, answer) != ("settle", "settle"):
                raise Violation(f"{self.name} answers row {row[1]} of block {row[0]} by {answer} after {former}")
            self.answered[row] = answer
        return messages

    # The driver

    def _hand_over(self, action: wants.HandOver) -> None:
        sequences = self.sequences_of(action.pieces)
        if len(set(sequences)) != len(sequences) or len(sequences) != action.count:
            raise Violation(f"batch {action.batch_id} has not {action.count} different messages: {sequences}")
        if action.batch_id in self.knows_rejections_of:
            raise Violation(f"batch {action.batch_id} runs again, though the ledger has what it rejected")
        messages = frozenset(self.messages_of(action.pieces))
        name = action.batch_id, action.run
        self._after_a_delay(
            self._hand,
            Run(name, messages, lambda outcome: self._later(told.RunEnded(*name, outcome)), action.ancestors),
        )

    def _hand(self, run: Run) -> None:
        if self.is_alive:
            self.driver.hand(run)

    def _await_driver(self) -> None:
        if not self.is_alive:
            return
        if self.driver.is_ready:
            self._later(told.DriverReady(str(self.driver.incarnation)))
        elif self.driver.is_ending:
            self.world.after(LOOK_SECONDS, self._await_driver)
        else:
            self.world.at(self.driver.ready_at, self._await_driver)

    # The ledger, what is published, and the final answers

    def _read_ledger(self) -> None:
        if self._gets_through and self.world.now >= self.server.refuses_ledger_until:
            entries = self.server.read(self.incarnation)
            recorded = {entry.batch_id for entry in entries if entry.rejected}
            self.knows_rejections_of |= recorded - self.machine.books.batches.keys()
            self._later(told.LedgerRead(entries))
        else:
            self._later(told.LedgerUnread("no answer"))

    def _write_ledger(self, action: wants.WriteLedger) -> None:
        batch_id = action.entry.batch_id
        if self.server_life != self.server.life:
            self.unaware.update(*(range(first, last + 1) for first, last in action.entry.ranges))
        self._ask(lambda: self._write(action.entry), told.LedgerFailed(batch_id, "no answer"))

    def _write(self, entry: Entry) -> Event | None:
        if self.server.has_cut(entry, self.incarnation):
            return told.LedgerCut(entry.batch_id)
        return told.LedgerWritten(entry.batch_id) if self.server.write(entry, self.incarnation) else None

    def _publish_outgoing(self, action: wants.PublishOutgoing) -> None:
        name = action.batch_id, action.run
        if name in self.driver.runs:
            good, bad = told.OutgoingPublished(*name), told.OutgoingFailed(*name, "no answer", gone=False)
            self._ask(lambda: good, bad)
        else:
            self._later(told.OutgoingFailed(*name, "the driver does not know it", gone=True))

    def _publish_letters(self, action: wants.PublishLetters) -> None:
        messages = self.messages_of(tuple(letter.piece for letter in action.letters))
        if [letter.sequence for letter in action.letters] != [sequence for sequence, _ in messages]:
            raise Violation(f"a letter of batch {action.batch_id} is about another message: {action.letters}")
        sequences = frozenset(sequence for sequence, _ in messages)
        rejected = {letter.sequence for letter in action.letters if letter.fault is None}
        if self.options.ledger and not rejected <= self.server.rejected:
            raise Violation(f"letters of batch {action.batch_id} are published before the ledger has its rejections")
        good, bad = told.LettersPublished(action.batch_id), told.LettersFailed(action.batch_id, "no answer", sequences)
        self._ask(lambda: good if self.server.publish_letters(messages) else None, bad)

    def _settle(self, action: wants.Settle) -> None:
        dead = self._final(action.terminated, "settle")
        acked = self._final(action.acknowledged, "settle")
        good, bad = told.Settled(action.batch_id), told.NotSettled(action.batch_id, "no answer")
        life = self.server.life
        self._ask(lambda: good if self._answer_all(acked, dead, life) else None, bad)

    def _answer_all(self, acked: list[Message], dead: list[Message], life: int) -> bool:
        """Take answers. If their sender died while it wrote them, only the first may arrive.

        If the server changed on their way, some are lost, and the last one may be confirmed all the same.
        """
        answers = [(self.server.term, one) for one in dead] + [(self.server.ack, one) for one in acked]
        chance = self.world.random
        if not self.is_alive or not self.link_is_up:
            answers = answers[: chance.randint(0, len(answers))]
        elif life != self.server.life:
            first, last = sorted(chance.randint(0, len(answers)) for _ in range(2))
            answers = answers[:first] + answers[last:]
        confirmed = [self._answer_to(answer, message) for answer, message in answers]
        return bool(confirmed) and confirmed[-1]

    # The pull

    def _hold_pull(self, _: wants.HoldPull) -> None:
        self.pulls = False

    def _release_pull(self, action: wants.ReleasePull) -> None:
        self.pulls, self.room = True, action.messages
        if not self._pull_is_due:
            self._pull_is_due = True
            self._after_a_delay(self._pull)

    def _restart_pull(self) -> None:
        self.has_lost_pull = False
        self._pull()

    @property
    def _gets_through(self) -> bool:
        return self.link_is_up and self.world.now >= self.stuck_until

    def _count(self) -> None:
        if not self._gets_through:
            self.world.after(TIMEOUT_SECONDS, self._count)
            return
        server = self.server
        self.notice()
        server.lapse()
        pending = server.last - server.next + 1
        unacknowledged = len(server.pending) + len(server.available)
        self._later(told.Counted(pending, unacknowledged, server.floor, is_asked_for=not self.has_lost_pull))

    @property
    def asks_for(self) -> int:
        """Return how many more messages the server may deliver: a lane asks for this many."""
        return max(0, self.room - self.on_the_way) if self.pulls else 0

    def _pull(self) -> None:
        self._pull_is_due = False
        if self.pulls and not self.has_lost_pull:
            self.notice()  # the former leader has ended the pull
        if not self.is_alive or not self.pulls or self.has_lost_pull:
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
        """Redeliveries that the server has forgotten look fresh, as with a real server."""
        for redelivered in (True, False):
            some = [number for number in sequences if (self.server.delivered[number] > 1) is redelivered]
            if some:
                self._blocks += 1
                self.on_the_way += len(some)
                self.server.hold(self, some)
                self.messages[self._blocks] = [(sequence, self.server.stored_at[sequence]) for sequence in some]
                self.world.after(self._link_delay(), self._arrive, self._blocks, redelivered)

    def _arrive(self, block: int, redelivered: bool) -> None:  # noqa: FBT001 - an argument of a call to come
        messages = self.messages[block]
        self.on_the_way -= len(messages)
        if not self.link_is_up:
            return
        self.room = max(0, self.room - len(messages))
        if self.server_life != self.server.life:
            self.unaware.update(sequence for sequence, _ in messages)
        self.tell(
            told.Arrived(
                block=block,
                sequences=[sequence for sequence, _ in messages],
                stored_at=[stored_at for _, stored_at in messages],
                offsets=[MESSAGE_BYTES * row for row in range(len(messages) + 1)],
                redelivered=redelivered,
            )
        )
