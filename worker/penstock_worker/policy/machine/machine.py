"""The machine of the engine: each event changes the books, and then all is done that has become possible.

Knows the order in which things are looked at, and when to look again. What is decided is in the modules beside it:

    arriving   what a message is that came, and whether it belongs to a batch of former times
    collecting when messages become a batch, and when to pull
    running    which batch runs, and what each verdict leads to (losing, splitting, circuit)
    settling   what follows a run that went well
    leaving    when others are to have what is held here
    ending     how it stops

Sequences are not looked into for fresh messages: per message nothing is done (blocks.py). Called by the engine's shell.
"""

import math

from penstock_worker.policy.machine import (
    actions,
    arriving,
    collecting,
    cutting,
    ending,
    leaving,
    losing,
    running,
    settling,
    splitting,
)
from penstock_worker.policy.machine import events as told
from penstock_worker.policy.machine.actions import Action, HoldReason, Note
from penstock_worker.policy.machine.batch import ASKING, Stage
from penstock_worker.policy.machine.books import Books
from penstock_worker.policy.machine.events import Event
from penstock_worker.policy.machine.leases import Leases
from penstock_worker.policy.machine.watchdog import Watchdog
from penstock_worker.policy.settings import EngineSettings

DRAIN_COUNT_SECONDS = 0.5
USUAL_ENTRY_BYTES = 1 << 20
"""What servers take at most, unless their max_payload says otherwise."""
LEDGER_STAGES = {Stage.OPENING, Stage.RECORDING, Stage.COMMITTING, Stage.CUTTING}


class Machine:
    """All decisions of one engine. `handle` is its only entrance."""

    def __init__(
        self,
        settings: EngineSettings,
        *,
        ack_wait_seconds: float,
        life: str = "",
        entry_bytes: int = USUAL_ENTRY_BYTES,
    ) -> None:
        """Make one, for a stream and consumer of that `life`: when they were created."""
        self.settings = settings
        self.books = Books(settings, ack_wait_seconds, life=life, entry_bytes=entry_bytes)
        self._leases = Leases(self.books)
        self._watchdog = Watchdog()
        self._count_at = 0.0
        self._wake_at: float | None = None

    def handle(self, event: Event, *, now: float, chance: float) -> list[Action]:
        """Take what happened, and return what is to be done. After `Stop` nothing is, whatever happens."""
        books = self.books
        if books.has_ended:
            return []
        books.out = []
        if isinstance(event, told.Tick):
            self._wake_at = None
        if self._leases.has_slept(now) or (isinstance(event, told.ANSWERS) and self._leases.was_cut_off(now)):
            arriving.look_up_everything(books, now)
        self._take(event, now, chance)
        if not books.has_ended:
            self._go_on(now)
        return books.out

    def _take(self, event: Event, now: float, chance: float) -> None:
        books = self.books
        match event:
            case told.Arrived():
                arriving.arrived(books, event, now)
            case told.RunEnded():
                running.run_ended(books, event, now, chance)
            case told.Started():
                losing.await_driver(books, now)
            case told.DriverReady() | told.DriverEnding() | told.DriverLost() | told.DriverUnusable():
                self._take_driver(event, now)
            case told.LinkLost() | told.LinkBack() | told.ServerChanged() | told.Reborn() | told.Counted():
                self._take_server(event, now)
            case told.LedgerRead():
                arriving.ledger_read(books, event, now)
            case told.LedgerUnread():
                arriving.ledger_unread(books, event, now, chance)
            case told.Pause() | told.Resume() | told.Retire() | told.Reinstate():
                self._take_wish(event)
            case told.CancelBatch() | told.Drain() | told.Terminate():
                self._take_order(event, now)
            case _:
                self._take_answer(event, now, chance)

    def _take_answer(self, event: Event, now: float, chance: float) -> None:
        books = self.books
        match event:
            case told.LedgerWritten() | told.LedgerCut() | told.LedgerFailed():
                self._take_ledger_answer(event, now, chance)
            case told.LettersPublished(batch_id):
                settling.answered(books, batch_id, {Stage.BURYING}, now)
            case told.OutgoingPublished(batch_id):
                settling.answered(books, batch_id, {Stage.PUBLISHING}, now)
            case told.Settled(batch_id):
                settling.settled(books, batch_id)
            case told.LettersFailed(batch_id, why, sequences):
                settling.failed(books, batch_id, {Stage.BURYING}, why, now=now, chance=chance)
                splitting.set_letters_apart(books, batch_id, sequences, now)
            case told.OutgoingFailed(batch_id, run, _, gone) if gone:
                running.outgoing_gone(books, batch_id, run)
            case told.OutgoingFailed(batch_id, _, why):
                settling.failed(books, batch_id, {Stage.PUBLISHING}, why, now=now, chance=chance)
            case told.NotSettled(batch_id, why):
                settling.failed(books, batch_id, {Stage.SETTLING}, why, now=now, chance=chance)
            case _:
                pass

    def _take_ledger_answer(
        self, event: told.LedgerWritten | told.LedgerCut | told.LedgerFailed, now: float, chance: float
    ) -> None:
        books = self.books
        batch = books.batches.get(event.batch_id)
        if batch is None or batch.stage not in LEDGER_STAGES or not batch.asked:
            return
        match event:
            case told.LedgerFailed(batch_id, why):
                settling.failed(books, batch_id, LEDGER_STAGES, why, now=now, chance=chance)
            case told.LedgerCut():
                cutting.was_cut_elsewhere(books, batch)
            case told.LedgerWritten() if batch.stage is Stage.CUTTING:
                cutting.cut(books, batch, now)
            case told.LedgerWritten():
                settling.next_stage(batch, now)

    def _take_driver(
        self, event: told.DriverReady | told.DriverEnding | told.DriverLost | told.DriverUnusable, now: float
    ) -> None:
        books = self.books
        match event:
            case told.DriverReady(incarnation):
                books.driver.is_ready, books.driver.is_awaited, books.driver.is_ending = True, False, False
                books.report(Note.DRIVER_READY, detail=incarnation)
            case told.DriverLost(why):
                running.driver_lost(books, why, now)
            case told.DriverEnding():
                leaving.driver_ends(books, now)
            case told.DriverUnusable(why, trouble):
                ending.stop_for_code(books, why, now, trouble)

    def _take_server(
        self, event: told.LinkLost | told.LinkBack | told.ServerChanged | told.Reborn | told.Counted, now: float
    ) -> None:
        books = self.books
        match event:
            case told.LinkLost():
                books.link_is_up = False
                self._leases.link_lost(now)
            case told.LinkBack():
                books.link_is_up = True
                self._leases.link_back(now)
                self._ask_all(now)
            case told.ServerChanged():
                self._leases.server_changed(now)
                arriving.look_up_everything(books, now)
            case told.Reborn(why):
                ending.reborn(books, why)
            case told.Counted():
                self._take_count(event, now)

    def _take_count(self, event: told.Counted, now: float) -> None:
        books = self.books
        arriving.forget_over(books, event.ack_floor, now)
        if books.is_draining and not (event.pending or event.ack_pending or books.blocks.messages):
            ending.end(books, ending.EXIT_DONE, "Everything is processed.", grace_seconds=0, now=now)
        may_pull = not collecting.hold_reasons(books, now, collecting.wanted(books, now))
        may_come = event.pending or event.ack_pending
        is_idle = bool(may_come) and may_pull and not books.blocks.messages and not event.is_asked_for
        if self._watchdog.look(is_idle=is_idle, arrived=books.tally.arrived, now=now):
            books.report(Note.STALLED, detail=f"No pull request was open, with {may_come} messages to deliver.")
            books.out.append(actions.RestartPull())

    def _take_wish(self, event: told.Pause | told.Resume | told.Retire | told.Reinstate) -> None:
        books = self.books
        match event:
            case told.Pause():
                books.is_paused = True
            case told.Resume():
                books.is_paused = False
            case told.Retire():
                books.is_retired = True
            case told.Reinstate():
                books.is_retired = False

    def _take_order(self, event: told.CancelBatch | told.Drain | told.Terminate, now: float) -> None:
        books = self.books
        match event:
            case told.CancelBatch(batch_id):
                running.cancel_batch(books, batch_id)
            case told.Drain():
                books.is_draining, self._count_at = True, now
            case told.Terminate(grace_seconds):
                ending.end(books, ending.EXIT_DONE, "Asked to end.", grace_seconds=grace_seconds, now=now)

    def _ask_all(self, now: float) -> None:
        self.books.recall.ask_at = now
        for batch in self.books.batches.values():
            if batch.stage in ASKING and not batch.asked:
                batch.due = now

    # What has become possible

    def _go_on(self, now: float) -> None:
        books = self.books
        if books.ending or books.is_leaving:  # first: what is given back must not be sent here again
            self._hold_or_pull(now)
        ending.go_on(books, now)
        if not books.has_ended:
            leaving.go_on(books, now)
            arriving.look_up(books, now)
            arriving.recall_batches(books, now)
            running.wake_rested(books, now)
            splitting.decide(books, now)
            running.look_for_overdue(books, now)
            losing.give_back_what_waits(books, now)
            collecting.collect(books, now)
            settling.ask(books, now)
            running.hand_over(books, now)
            self._leases.renew(now)
            self._count(now)
            self._hold_or_pull(now)
            self._wake(now)

    def _count(self, now: float) -> None:
        if self.books.is_draining and self._count_at <= now:
            self._count_at = now + DRAIN_COUNT_SECONDS
            self.books.out.append(actions.Count())

    def _hold_or_pull(self, now: float) -> None:
        """State the room, even if it has not changed: the lane has counted what arrived against the last statement."""
        room = collecting.wanted(self.books, now)
        reasons = collecting.hold_reasons(self.books, now, room)
        self.books.out.append(actions.HoldPull(reasons) if reasons else actions.ReleasePull(room))
        self._book_pulling(reasons, now)

    def _book_pulling(self, reasons: tuple[HoldReason, ...], now: float) -> None:
        """Note whether more of recalled batches may come. What is full of them alone has to do without the rest."""
        books, recall = self.books, self.books.recall
        has_work = bool(books.batches or books.fresh or books.redelivered)
        if reasons and (has_work or reasons != (HoldReason.FULL,)):
            recall.pulls_since = math.inf
        elif recall.pulls_since == math.inf:
            recall.pulls_since = now

    def _wake(self, now: float) -> None:
        """Ask to be woken when the next thing is due, if that is sooner than last asked for."""
        wake_at = min((time for time in self._dues(now) if now < time < math.inf), default=None)
        if wake_at is not None and (self._wake_at is None or wake_at < self._wake_at):
            self._wake_at = wake_at
            self.books.out.append(actions.WakeAt(wake_at))

    def _dues(self, now: float) -> list[float]:
        books = self.books
        dues = [*books.recall.due(), *collecting.due(books, now)]
        for batch in books.batches.values():
            if batch.stage is Stage.RUNNING:
                dues += [running.overdue_at(books, batch), collecting.long_at(batch)]
            elif batch.stage is Stage.RESTING or (batch.stage in ASKING and not batch.asked):
                dues.append(batch.due)
        if not books.driver.is_ready:
            dues.append(losing.away_until(books))
        if books.driver.is_ending:
            dues.append(books.driver.cancel_at)
        if books.circuit.is_open:
            dues.append(books.circuit.probe_at)
        if self._leases.renew_at is not None:
            dues.append(self._leases.renew_at)
        if books.is_draining:
            dues.append(self._count_at)
        if books.ending:
            dues += [books.ending.cancel_at, books.ending.until]
        return dues
