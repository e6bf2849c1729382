"""Natural batching: when what waits becomes a batch, and when nothing more is to be pulled.

A driver that is idle gets at once whatever waits. While a batch runs, the next one is collected until it is full, or
its first message waited for `max_wait_seconds`; redelivered messages wait so long in any case, for their like to come.
So a quiet group has the latency of one small job, and a backlog runs in large batches.

While runs are short, two batches are held besides those with the driver, so that it never waits for one. While they
take longer, or nobody knows yet, no more is pulled than there are free places for: the driver hardly notices what it
takes to collect a batch once a place is free, and others can have at once what would lie here. What lies here already
when a run turns out to be long stays: to give it back would cost each message a delivery, and its place in the order.

Knows limits, slots, and how long runs take.
"""

from penstock_worker.policy.machine.actions import HoldReason
from penstock_worker.policy.machine.batch import Batch, Stage
from penstock_worker.policy.machine.books import Books
from penstock_worker.policy.machine.waiting import Waiting

SLOTS = frozenset({Stage.OPENING, Stage.READY, Stage.RUNNING})
"""With the driver, or on the way to it."""
BESIDE = 2
"""Batches that are held besides those with the driver: while one is being settled, the next is collected."""
SHORT_SECONDS = 5.0
"""Of a run. To collect a batch takes a tenth of a second or two, a large one half a second."""


def collect(books: Books, now: float) -> None:
    """Make batches of what waits, as many as there is room for."""
    while _has_room(books, now):
        if _is_due(books, books.redelivered, now):
            _open(books, books.redelivered, now)
        elif _is_due(books, books.fresh, now):
            _open(books, books.fresh, now)
        else:
            return


def _open(books: Books, waiting: Waiting, now: float) -> None:
    taken = waiting.take(books.settings.batch.max_messages, books.settings.batch.max_bytes)
    for pieces, ranges in books.fitting(taken):
        books.open(pieces, now, redelivered=waiting is books.redelivered, ranges=ranges)


def _in_slots(books: Books) -> list[Batch]:
    return [batch for batch in books.batches.values() if batch.stage in SLOTS]


def _taken_slots(books: Books) -> int:
    return len(_in_slots(books))


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


def long_at(batch: Batch) -> float:
    """Return when a run is no short one any more, whatever it was taken for."""
    return batch.began_at + SHORT_SECONDS


def _is_short(books: Books, batch: Batch, now: float) -> bool:
    is_long_already = batch.stage is Stage.RUNNING and now >= long_at(batch)
    return not is_long_already and books.pace.seconds_of(batch.count) <= SHORT_SECONDS


def _collects_ahead(books: Books, now: float) -> bool:
    """Tell whether more is to be held than there are free places for.

    So it is also while a former batch comes together: the rest of it may be behind what others could have.
    """
    if books.recall.is_expecting:
        return True
    running = books.running()
    has_place = len(running) < books.settings.batch.in_flight
    if taken := _in_slots(books) if has_place else running:
        return any(_is_short(books, batch, now) for batch in taken)
    return books.pace.seconds_of(books.settings.batch.max_messages) <= SHORT_SECONDS


def wanted(books: Books, now: float) -> int:
    """Return how many messages are to be pulled at most: as many as there are places for.

    More is never asked for. To withdraw what was asked for has a server deliver to nobody what it is about to.
    """
    in_flight = books.settings.batch.in_flight
    left = _room(books, in_flight + BESIDE, books.blocks.messages, books.blocks.bytes)
    if _collects_ahead(books, now):
        return left
    waiting = _waiting(books)
    messages, size_bytes = sum(each.messages for each in waiting), sum(each.bytes for each in waiting)
    return min(left, _room(books, max(0, in_flight - _taken_slots(books)), messages, size_bytes))


def _room(books: Books, places: int, messages: int, size_bytes: int) -> int:
    """Return how many messages more so many places for batches take, beside those that are there."""
    limits = books.settings.batch
    if size_bytes >= places * limits.max_bytes:
        return 0
    return max(0, places * limits.max_messages - messages)


def hold_reasons(books: Books, now: float, room: int) -> tuple[HoldReason, ...]:
    """Return why nothing is to be pulled; `room` is what is wanted otherwise."""
    needs_message = _wants_probe(books) and not _waiting(books) and now >= books.circuit.probe_at
    reasons = {
        HoldReason.STARTING: not books.recall.has_read,
        HoldReason.DRIVER: not books.driver.is_ready or books.driver.is_ending,
        HoldReason.CIRCUIT: books.circuit.is_open and not needs_message,
        HoldReason.FULL: room == 0,
        HoldReason.PAUSED: books.is_paused,
        HoldReason.RETIRING: books.is_retired,
        HoldReason.ENDING: books.ending is not None,
    }
    return tuple(reason for reason, holds in reasons.items() if holds)
