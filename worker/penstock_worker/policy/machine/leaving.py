"""Leaving the work to others, without an end: what is not with the driver goes back at once, and nothing more is begun.

    retired        somebody wants this worker to hold nothing; what runs is finished. Until it is taken back
    driver ends    the same, but what runs is cancelled when its time is nearly over. Until another driver is ready

So a worker that is about to be deleted holds nothing for nothing, and one that is not works on. Knows what may go back.
Does not know why anybody wants it.
"""

from penstock_worker.policy.machine import actions
from penstock_worker.policy.machine.batch import BEFORE_A_RUN, Batch
from penstock_worker.policy.machine.books import Books

CANCEL_SECONDS = 5.0
"""What is left of the grace for runs to be cancelled, and for what they had to be given back."""
CANCEL_SHARE = 0.2
"""The same where the grace is short."""


def cancel_at(until: float, grace_seconds: float) -> float:
    """Return when runs are to be cancelled, for all to be over in time."""
    return until - min(CANCEL_SECONDS, grace_seconds * CANCEL_SHARE)


def driver_ends(books: Books, now: float) -> None:
    """Take it that the driver begins nothing more, and is gone once its runs are over, or the grace is."""
    driver, grace_seconds = books.driver, books.settings.grace_seconds
    if not driver.is_ending:
        driver.is_ending, driver.cancel_at = True, cancel_at(now + grace_seconds, grace_seconds)


def go_on(books: Books, now: float) -> None:
    """Hold nothing but what is with the driver, or being settled."""
    if not books.is_leaving:
        return
    give_back_collected(books)
    if books.driver.is_ending and books.driver.cancel_at <= now:
        for batch in books.running():
            cancel(books, batch)


def give_back_collected(books: Books) -> None:
    """Give back all that did not get as far as a run. That is no attempt, and needs no delay."""
    books.give_back((*books.fresh.take_all(), *books.redelivered.take_all(), *books.recall.take_all()))
    for batch in list(books.batches.values()):
        if batch.stage in BEFORE_A_RUN:
            books.give_back_batch(batch)


def cancel(books: Books, batch: Batch) -> None:
    """Have a run cancelled, once."""
    if not batch.is_cancelled:
        batch.is_cancelled = True
        books.out.append(actions.CancelRun(batch.id, batch.runs))
