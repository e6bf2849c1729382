"""Spark is lost: its JVM, server or session, or the driver's whole process. Batches run again under their ids.

That is not counted as an attempt, since a batch is seldom to blame. One that was there each of three times is
suspected: it runs alone, and if Spark is lost again it is cut in halves, down to the single message that does it.
"""

from penstock_worker.policy.machine import actions
from penstock_worker.policy.machine.actions import Note
from penstock_worker.policy.machine.batch import Batch, Stage
from penstock_worker.policy.machine.books import Books

SUSPECTED_FROM = 3
"""Losses; also those of a single message alone before it is condemned: chance may kill Spark twice."""


AWAY_SECONDS_MAX = 60.0
"""A driver that is away for longer may never come back: what waits for it is given back, to workers that have one."""


def await_driver(books: Books, now: float) -> None:
    """Have a driver waited for that is not there, or is there without Spark."""
    driver = books.driver
    if not driver.is_awaited:
        driver.is_ready, driver.is_awaited, driver.away_since = False, True, now
        books.out.append(actions.AwaitDriver())
    driver.is_ready = False


def away_until(books: Books) -> float:
    """Return how long what waits is kept for the driver."""
    return books.driver.away_since + AWAY_SECONDS_MAX


def give_back_what_waits(books: Books, now: float) -> None:
    """Give back what a driver that is away for too long should have run; it comes again to somebody who pulls.

    But a batch over which Spark was lost stays: it may be to blame, and would take the others' Spark as well.
    """
    if books.driver.is_ready or now < away_until(books):
        return
    books.give_back((*books.fresh.take_all(), *books.redelivered.take_all()))
    for batch in list(books.batches.values()):
        if batch.stage in {Stage.READY, Stage.RESTING} and not (batch.losses or batch.is_suspect):
            books.give_back_batch(batch)


def suspect_if_lost_often(books: Books, batch: Batch) -> None:
    if not batch.is_suspect and batch.losses >= SUSPECTED_FROM:
        batch.is_suspect = True
        books.report(Note.SUSPECTED, batch)


def lost(books: Books, batch: Batch, *, alone: bool) -> bool:
    """Book that Spark was lost in a run; return whether the batch is to blame."""
    batch.losses += 1
    batch.stage = Stage.READY
    if batch.is_suspect and alone:
        batch.losses_alone += 1
        return batch.count > 1 or batch.losses_alone >= SUSPECTED_FROM
    suspect_if_lost_often(books, batch)
    return False
