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


def await_driver(books: Books) -> None:
    if not books.driver.is_awaited:
        books.driver.is_awaited = True
        books.out.append(actions.AwaitDriver())


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
