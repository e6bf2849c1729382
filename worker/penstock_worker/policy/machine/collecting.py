"""Natural batching: when what waits becomes a batch, and when nothing more is to be pulled.

A driver that is idle gets at once whatever waits. While a batch runs, the next one is collected until it is full, or
its first message waited for `max_wait_seconds`; redelivered messages wait so long in any case, for their like to come.
So a quiet group has the latency of one small job, and a backlog runs in large batches. Knows limits and slots.
"""

from penstock_worker.policy.machine.actions import HoldReason
from penstock_worker.policy.machine.batch import Stage
from penstock_worker.policy.machine.books import Books
from penstock_worker.policy.machine.pieces import Pieces
from penstock_worker.policy.machine.waiting import Waiting

SLOTS = frozenset({Stage.OPENING, Stage.READY, Stage.RUNNING})
"""With the driver, or on the way to it."""
BESIDE = 2
"""Batches that are held besides those with the driver: while one is being settled, the next is collected."""


def collect(books: Books, now: float) -> None:
    """Make batches of what waits, as many as there is room for."""
    while _has_room(books, now):
        if _is_due(books, books.redelivered, now):
            rows = books.blocks.rows(_take(books, books.redelivered))
            books.open(books.rising(rows), now, redelivered=True)
        elif _is_due(books, books.fresh, now):
            books.open(_take(books, books.fresh), now, redelivered=False)
        else:
            return


def _take(books: Books, waiting: Waiting) -> Pieces:
    return waiting.take(books.settings.batch.max_messages, books.settings.batch.max_bytes)


def _taken_slots(books: Books) -> int:
    return sum(batch.stage in SLOTS for batch in books.batches.values())


def _has_room(books: Books, now: float) -> bool:
    if books.ending or books.is_leaving or not books.driver.is_ready:
        return False
    if books.circuit.is_open:
        return _wants_probe(books) and now >= books.circuit.probe_at
    return _taken_slots(books) < books.settings.batch.in_flight


def _wants_probe(books: Books) -> bool:
    """Tell whether the circuit is open, and there is no batch that could try whether it may be closed."""
    return books.circuit.is_open and not any(
        batch.stage in SLOTS or batch.stage is Stage.RESTING for batch in books.batches.values()
    )


def _is_due(books: Books, waiting: Waiting, now: float) -> bool:
    limits = books.settings.batch
    if not waiting:
        return False
    is_full = waiting.messages >= limits.max_messages or waiting.bytes >= limits.max_bytes
    is_idle = waiting is books.fresh and not _taken_slots(books)
    return is_full or is_idle or now >= waiting.since + limits.max_wait_seconds


def due(books: Books, now: float) -> list[float]:
    """Return when something that waits is due, if there is room for it."""
    if not (_has_room(books, now) or _wants_probe(books)):
        return []
    waits = [waiting.since + books.settings.batch.max_wait_seconds for waiting in _waiting(books)]
    return [*waits, books.circuit.probe_at] if books.circuit.is_open else waits


def _waiting(books: Books) -> list[Waiting]:
    return [waiting for waiting in (books.fresh, books.redelivered) if waiting]


def hold_reasons(books: Books, now: float) -> tuple[HoldReason, ...]:
    limits = books.settings.batch
    places = limits.in_flight + BESIDE
    messages, size_bytes = places * limits.max_messages, places * limits.max_bytes
    needs_message = _wants_probe(books) and not _waiting(books) and now >= books.circuit.probe_at
    reasons = {
        HoldReason.STARTING: not books.recall.has_read,
        HoldReason.DRIVER: not books.driver.is_ready or books.driver.is_ending,
        HoldReason.CIRCUIT: books.circuit.is_open and not needs_message,
        HoldReason.FULL: books.blocks.messages >= messages or books.blocks.bytes >= size_bytes,
        HoldReason.PAUSED: books.is_paused,
        HoldReason.RETIRING: books.is_retired,
        HoldReason.ENDING: books.ending is not None,
    }
    return tuple(reason for reason, holds in reasons.items() if holds)
