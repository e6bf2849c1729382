"""How it ends: what runs may finish, all else is given back, and then the process stops.

    terminated    runs go on until the grace is nearly over, and are cancelled then
    code          runs are cancelled at once: they are of the same code
    reborn        nothing is answered: it is not known what these messages' numbers stand for now

Knows what is given back when. Does not know why it ends.
"""

from penstock_worker.policy.machine import actions
from penstock_worker.policy.machine.batch import BEFORE_A_RUN, Batch, Stage
from penstock_worker.policy.machine.books import Books, Ending

EXIT_DONE, EXIT_FAILED, EXIT_CODE_STOPPED = 0, 1, 3
"""2 is for settings that cannot be. To start again is of use after a failure alone: code has to be changed first."""
CANCEL_SECONDS = 5.0
"""What is left of the grace for runs to be cancelled, and for what they had to be given back."""
CANCEL_SHARE = 0.2
"""The same where the grace is short."""


def end(books: Books, code: int, sentence: str, *, grace_seconds: float, now: float) -> None:
    """Begin to end. Asked twice, the sooner end and the first failure are what counts."""
    until = now + grace_seconds
    cancel_at = until - min(CANCEL_SECONDS, grace_seconds * CANCEL_SHARE)
    former = books.ending
    if former is None:
        books.ending = Ending(code, sentence, cancel_at, until)
        return
    former.cancel_at, former.until = min(former.cancel_at, cancel_at), min(former.until, until)
    if not former.code:
        former.code, former.sentence = code, sentence


def stop_for_code(books: Books, sentence: str, now: float) -> None:
    end(books, EXIT_CODE_STOPPED, sentence, grace_seconds=min(CANCEL_SECONDS, books.settings.grace_seconds), now=now)
    if books.ending is not None:
        books.ending.cancel_at = now


def reborn(books: Books, why: str) -> None:
    for batch in books.running():
        books.out.append(actions.CancelRun(batch.id, batch.runs))
    for batch in list(books.batches.values()):
        if batch.stage is Stage.SETTLING:
            books.give_up_asking(batch)
    books.let_go(tuple(books.held_pieces()))
    books.fresh.take_all()
    books.redelivered.take_all()
    books.recall.take_all()
    books.batches.clear()
    _stop(books, EXIT_FAILED, f"{why} What was held of it is let go; start again.")


def go_on(books: Books, now: float) -> None:
    """Give back what is not needed for the end any more; stop once nothing is held."""
    ending = books.ending
    if ending is None or books.has_ended:
        return
    books.give_back((*books.fresh.take_all(), *books.redelivered.take_all(), *books.recall.take_all()))
    for batch in list(books.batches.values()):
        if batch.stage in BEFORE_A_RUN or (ending.until <= now and batch.stage is not Stage.SETTLING):
            books.give_back_batch(batch)
        elif batch.stage is Stage.RUNNING and ending.cancel_at <= now:
            cancel(books, batch)
    if not books.batches or ending.until <= now:
        _stop(books, ending.code, ending.sentence)


def cancel(books: Books, batch: Batch) -> None:
    """Have a run cancelled, once."""
    if not batch.is_cancelled:
        batch.is_cancelled = True
        books.out.append(actions.CancelRun(batch.id, batch.runs))


def _stop(books: Books, code: int, sentence: str) -> None:
    books.has_ended = True
    books.out.append(actions.Stop(code, sentence))
