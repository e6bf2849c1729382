"""Leases: the ack waits of what is held begin anew, all in one go, at a third of their length.

A message that is younger than that is left for the next time, so that in a steady flow hardly any is renewed. If none
could be renewed, because the engine slept, or the link was away or half-open, others may hold the same messages by now:
what has not run is let go then, and comes again. What ran goes on under its id, as it would there.
"""

from penstock_worker.policy.machine import actions
from penstock_worker.policy.machine.actions import Note
from penstock_worker.policy.machine.batch import Batch, Stage
from penstock_worker.policy.machine.books import Books

RENEWALS_PER_ACK_WAIT = 3
LAPSING_RENEWALS = 2
"""Missed for so long, a lease that was about to be renewed is over."""
IDLE_SECONDS = 10.0
"""An engine that holds nothing is called less often, when its consumer was read; not at all for so long, it slept."""
UNHEARD_SECONDS = 4.0
"""The server answers more often than that, as the consumer is read every three seconds."""


class Leases:
    """When to renew, and since when that was not possible."""

    def __init__(self, books: Books) -> None:
        self.renew_at: float | None = None
        self._books = books
        self._seconds = books.ack_wait_seconds / RENEWALS_PER_ACK_WAIT
        self._awake_at: float | None = None
        self._heard_at: float | None = None
        self._lost_at: float | None = None

    def renew(self, now: float) -> None:
        books = self._books
        if not books.blocks.messages:
            self.renew_at = None
        elif self.renew_at is None:
            self.renew_at = now + self._seconds
        elif self.renew_at <= now:
            self.renew_at = now + self._seconds
            oldest = now - self._seconds
            pieces = tuple(piece for piece in books.unsettled_pieces() if books.blocks.arrived_at(piece) <= oldest)
            if pieces and books.link_is_up:
                books.out.append(actions.Renew(pieces))

    def has_slept(self, now: float) -> bool:
        """Tell whether this engine was frozen, and drop what others may hold."""
        seconds = LAPSING_RENEWALS * self._seconds
        if self.renew_at is None:
            seconds = max(seconds, IDLE_SECONDS)
        slept = self._awake_at is not None and now - self._awake_at > seconds
        if slept:
            self._let_go("The engine slept")
        self._awake_at = now
        return slept

    def was_cut_off(self, now: float) -> bool:
        """Take it that the server has answered; if it had not for long, drop what others may hold, and tell so.

        What was sent before the question had arrived before it. A link that is half-open seems to be up all the time.
        """
        seconds = max(LAPSING_RENEWALS * self._seconds, UNHEARD_SECONDS)
        was_cut_off = self._heard_at is not None and now - self._heard_at > seconds
        if was_cut_off:
            self._let_go("The server did not answer")
        self._heard_at = now
        return was_cut_off

    def link_lost(self, now: float) -> None:
        self._lost_at = now if self._lost_at is None else self._lost_at

    def link_back(self, now: float) -> None:
        """Renew at once, unless it is too late."""
        if self._lost_at is not None and now - self._lost_at > self._seconds:
            self._let_go("The link was away")
        self._lost_at = None
        self._renew_at_once(now)

    def server_changed(self, now: float) -> None:
        """Drop what the server may have forgotten; it may have missed the last renewal, too."""
        self._let_go("The server has changed")
        self._renew_at_once(now)

    def _renew_at_once(self, now: float) -> None:
        if self.renew_at is not None:
            self.renew_at = now

    def _let_go(self, why: str) -> None:
        """Drop what has not run, and what nobody else could know by its batch."""
        books = self._books
        before = books.blocks.messages
        for batch in list(books.batches.values()):
            if self._has_not_run(batch):
                books.let_go(batch.pieces)
                books.remove(batch)
        books.let_go((*books.fresh.take_all(), *books.redelivered.take_all(), *books.recall.take_all()))
        if let_go := before - books.blocks.messages:
            books.report(Note.GIVEN_BACK, detail=f"{why}: {let_go} messages may be held by others now.")

    def _has_not_run(self, batch: Batch) -> bool:
        """Tell whether nobody else can know the batch by its id: with a ledger, before it is written down.

        Of one that is being cut, nobody can know the parts.
        """
        is_unknown = batch.stage is Stage.OPENING or (batch.stage is Stage.READY and not self._books.settings.ledger)
        return (is_unknown and not batch.runs) or batch.stage is Stage.CUTTING
