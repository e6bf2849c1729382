"""How it ends: what runs may finish, all else is given back, and then the process stops.

    terminated    runs go on until the grace is nearly over, and are cancelled then
    code          runs are cancelled at once: they are of the same code
    reborn        nothing is answered: it is not known what these messages' numbers stand for now

Knows what is given back when. Does not know why it ends.
"""

from penstock_worker.policy.machine import actions
from penstock_worker.policy.machine.batch import Stage
from penstock_worker.policy.machine.books import Books, Ending
from penstock_worker.policy.machine.leaving import CANCEL_SECONDS, cancel, cancel_at, give_back_collected
from penstock_worker.policy.trouble import Trouble

EXIT_DONE, EXIT_FAILED, EXIT_CODE_STOPPED = 0, 1, 3
"""2 is for settings that cannot be. To start again is of use after a failure alone: code has to be changed first."""


def end(books: Books, code: int, sentence: str, *, grace_seconds: float, now: float) -> None:
    """Begin to end. Asked twice, the sooner end and the first failure are what counts."""
    until = now + grace_seconds
    cancelled_at = cancel_at(until, grace_seconds)
    former = books.ending
    if former is None:
        books.ending = Ending(code, sentence, cancelled_at, until)
        return
    former.cancel_at, former.until = min(former.cancel_at, cancelled_at), min(former.until, until)
    if not former.code:
        former.code, former.sentence = code, sentence


def stop_for_code(books: Books, sentence: str, now: float, trouble: Trouble = Trouble.CODE) -> None:
    end(books, EXIT_CODE_STOPPED, sentence, grace_seconds=min(CANCEL_SECONDS, books.settings.grace_seconds), now=now)
    if books.ending is not None:
        books.ending.cancel_at, books.ending.trouble = now, trouble


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
    give_back_collected(books)
    for batch in list(books.batches.values()):
        if ending.until <= now and batch.stage is not Stage.SETTLING:
            books.give_back_batch(batch)
        elif batch.stage is Stage.RUNNING and ending.cancel_at <= now:
            cancel(books, batch)
    if not books.batches or ending.until <= now:
        _stop(books, ending.code, ending.sentence, ending.trouble)


def _stop(books: Books, code: int, sentence: str, trouble: Trouble = Trouble.NONE) -> None:
    books.has_ended = True
    books.out.append(actions.Stop(code, sentence, trouble))
