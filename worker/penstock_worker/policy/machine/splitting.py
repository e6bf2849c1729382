"""What cannot be processed is found by halves: a batch that fails for its data, or each time that it is tried, is cut
in two, down to single messages. A sink may have taken the batch before it failed, under its id: its parts name it as an
ancestor, so that the sink does not take their messages once more.

A single message that fails is condemned, and becomes a dead letter once all of the batch that it was cut from is
decided; so a batch that turns out to be bad as a whole leaves no dead letters behind. That is when too many runs were
needed, or too many messages, or more than half of them, cannot be processed: then it is not the messages, but the code
or a schema that changed, and the worker stops. So it does after too many bad messages in a row, batch after batch.
"""

from collections.abc import Collection

from penstock_worker.policy.machine.actions import Note
from penstock_worker.policy.machine.batch import Batch, Root, Stage
from penstock_worker.policy.machine.books import Books
from penstock_worker.policy.machine.cutting import begin_to_cut
from penstock_worker.policy.machine.ending import stop_for_code
from penstock_worker.policy.machine.pieces import rows_as_pieces, without
from penstock_worker.policy.machine.settling import next_stage
from penstock_worker.policy.outcome import Fault

RUNS_MAX = 64
CONDEMNED_MAX = 20
SHARE_COUNTS_FROM = 10
"""Of fewer messages more than half may be bad by chance."""
LETTER_TRIES = 3
"""So often the letters of a batch are published before those that fail are left to be published alone."""


def blame_data(books: Books, batch: Batch, fault: Fault | None, now: float) -> None:
    """Go on with a batch of which some message cannot be processed."""
    batch.fault, batch.stage = fault, Stage.READY
    if batch.count == 1:
        condemn(books, batch, now)
    elif batch.root.runs >= RUNS_MAX:
        _give_up(books, batch, f"{batch.root.runs} runs did not find out which of its messages", now)
    else:
        split(books, batch, now)


def split(books: Books, batch: Batch, now: float) -> None:
    books.report(Note.SPLIT, batch)
    books.forget_run(batch)
    begin_to_cut(books, batch, now)


def condemn(books: Books, batch: Batch, now: float) -> None:
    root = batch.root
    batch.stage = Stage.CONDEMNED
    batch.dead = {batch.ranges[0][0]: batch.fault.message if batch.fault else "It cannot be processed."}
    books.forget_run(batch)
    root.condemned.append(batch)
    root.undecided.discard(batch.id)
    books.bad_in_a_row += 1
    if why := _too_many(books, root):
        _give_up(books, batch, why, now)


def decide(books: Books, now: float) -> None:
    """Put the condemned aside, where nothing else of the batch that they were cut from is open."""
    for batch in list(books.batches.values()):
        if batch.stage is Stage.CONDEMNED and not batch.root.undecided and not books.ending:
            batch.root.condemned.remove(batch)
            _bury(books, batch, now)


def set_letters_apart(books: Books, batch_id: str, sequences: Collection[int], now: float) -> None:
    """Let a batch go on without those of its messages whose dead letters nobody stores; they are a batch of their own.

    The ledger then has that batch as committed without them, and no entry for them until their letters are stored:
    whoever gets them before that runs them again.
    """
    batch = books.batches.get(batch_id)
    if batch is None or batch.stage is not Stage.BURYING or batch.failures < LETTER_TRIES:
        return
    rows = books.blocks.find(batch.pieces, sequences)
    if not rows or len(rows) == batch.count:
        return
    others = without(batch.pieces, set(rows.values()))
    apart = books.open(rows_as_pieces(rows[each] for each in sorted(rows)), now, redelivered=batch.redelivered)
    apart.root.undecided.clear()
    apart.runs, apart.fault = batch.runs, batch.fault
    apart.dead = {sequence: batch.dead.pop(sequence) for sequence in rows}
    _bury(books, apart, now)
    books.shrink(batch, others)
    next_stage(batch, now)


def _bury(books: Books, batch: Batch, now: float) -> None:
    batch.todo = [Stage.BURYING, *([Stage.COMMITTING] if books.settings.ledger else []), Stage.SETTLING]
    next_stage(batch, now)


def _too_many(books: Books, root: Root) -> str:
    bad = len(root.condemned)
    if bad > CONDEMNED_MAX:
        return f"more than {CONDEMNED_MAX} of its messages"
    if root.count >= SHARE_COUNTS_FROM and bad > root.count / 2:
        return f"more than half of its {root.count} messages"
    if books.bad_in_a_row > CONDEMNED_MAX:
        return f"{books.bad_in_a_row} messages in a row, it the last of them,"
    return ""


def _give_up(books: Books, batch: Batch, why: str, now: float) -> None:
    told = batch.fault.told if batch.fault else "no error was told"
    stop_for_code(books, f"Batch {batch.id}: {why} cannot be processed, so it is not the messages. Last: {told}", now)
