"""What follows a run that went well: publish, put aside, commit, settle; and asking again for what was not answered.

    ran OK     → (outgoing published) → (ledger: what was rejected) → (rejected messages published as dead letters)
               → (ledger: committed) → settled
    condemned  → published as a dead letter → (ledger: committed) → settled

So the ledger says "committed" when nothing but acknowledgements is missing, and a message is terminated only once its
dead letter has a PubAck. A batch of which the ledger has the rejections is not run again, but goes on from there: sinks
have what that run wrote, and another run might reject other messages. Knows the order. Does not know how a run goes,
nor what any of it looks like on a wire.
"""

from collections.abc import Sequence

from penstock_worker.policy.machine import actions
from penstock_worker.policy.machine.actions import Action, Letter, Note
from penstock_worker.policy.machine.batch import ASKING, Batch, Stage
from penstock_worker.policy.machine.books import Books
from penstock_worker.policy.machine.delays import before_asking_again
from penstock_worker.policy.machine.pieces import Piece, rows_as_pieces, without
from penstock_worker.policy.outcome import Outcome
from penstock_worker.policy.ranges import Range, contains, sequences

SETTLE_TRIES = 3
"""A server that was killed may have forgotten the delivery, and never confirms. It delivers again."""

UNEXPLAINED = "Rejected by the code. The worker that knew why was lost."


def went_well(books: Books, batch: Batch, outcome: Outcome, now: float) -> None:
    """Begin what follows a run that returned."""
    batch.fault = None
    batch.outgoing = outcome.outgoing
    batch.dead = {
        rejection.sequence: rejection.reason
        for rejection in outcome.rejections
        if contains(batch.ranges, rejection.sequence)
    }
    batch.todo = [*([Stage.PUBLISHING] if batch.outgoing else []), *_after_a_run(books, batch)]
    next_stage(batch, now)


def go_on_with_rejected(books: Books, batch: Batch, rejected: Sequence[Range], now: float) -> None:
    """Go on with a former batch whose run ended well, with what that run rejected."""
    batch.root.undecided.discard(batch.id)
    batch.dead = {sequence: UNEXPLAINED for sequence in sequences(rejected) if contains(batch.ranges, sequence)}
    batch.todo = _after_a_run(books, batch)
    next_stage(batch, now)


def _after_a_run(books: Books, batch: Batch) -> list[Stage]:
    uses_ledger = books.settings.ledger
    return [
        *([Stage.RECORDING] if batch.dead and uses_ledger else []),
        *([Stage.BURYING] if batch.dead else []),
        *([Stage.COMMITTING] if uses_ledger else []),
        Stage.SETTLING,
    ]


def next_stage(batch: Batch, now: float) -> None:
    """Go on to what is to be done next; after the opening that is a run."""
    batch.stage = batch.todo.pop(0) if batch.todo else Stage.READY
    batch.asked, batch.failures, batch.due = False, 0, now


def ask(books: Books, now: float) -> None:
    """Ask what is to be asked by now."""
    for batch in list(books.batches.values()):
        if batch.stage in ASKING and not batch.asked and batch.due <= now and books.link_is_up:
            batch.asked = True
            books.out.append(_question(books, batch))


def _question(books: Books, batch: Batch) -> Action:
    worker = books.settings.worker
    if batch.stage is Stage.PUBLISHING:
        return actions.PublishOutgoing(batch.id, batch.runs, batch.outgoing)
    if batch.stage is Stage.BURYING:
        return actions.PublishLetters(batch.id, _letters(books, batch))
    if batch.stage is Stage.SETTLING:
        return _settle(books, batch)
    entry = batch.with_parts or batch.entry(worker, committed=batch.stage is Stage.COMMITTING)
    if batch.stage is Stage.RECORDING:
        entry = entry.with_rejected(sorted(batch.dead), most_bytes=books.entry_bytes)
    return actions.WriteLedger(entry)


def _letters(books: Books, batch: Batch) -> tuple[Letter, ...]:
    return tuple(
        Letter(
            piece=Piece(block, row, row + 1),
            sequence=sequence,
            reason=batch.dead[sequence],
            fault=batch.fault,
            attempts=max(batch.runs, 1),
        )
        for sequence, (block, row) in books.blocks.find(batch.pieces, batch.dead.keys()).items()
    )


def _settle(books: Books, batch: Batch) -> actions.Settle:
    if not batch.dead:
        return actions.Settle(batch.id, batch.pieces)
    dead = set(books.blocks.find(batch.pieces, batch.dead.keys()).values())
    return actions.Settle(batch.id, without(batch.pieces, dead), rows_as_pieces(sorted(dead)))


# Answers


def answered(books: Books, batch_id: str, stages: set[Stage], now: float) -> None:
    batch = books.batches.get(batch_id)
    if batch is not None and batch.stage in stages and batch.asked:
        next_stage(batch, now)


def failed(books: Books, batch_id: str, stages: set[Stage], why: str, *, now: float, chance: float) -> None:
    """Ask again, later. What fails while the link is away does not count."""
    batch = books.batches.get(batch_id)
    if batch is None or batch.stage not in stages or not batch.asked:
        return
    batch.asked = False
    batch.failures += books.link_is_up
    if batch.stage is Stage.SETTLING and batch.failures >= SETTLE_TRIES:
        settled(books, batch_id)
        return
    batch.due = now + before_asking_again(max(batch.failures, 1), chance)
    books.report(Note.FAILED, batch, detail=f"{batch.stage.name.lower()}: {why}")


def settled(books: Books, batch_id: str) -> None:
    """Close the books on a batch. It is remembered, should the server forget or have missed some of its answers."""
    batch = books.batches.get(batch_id)
    if batch is None or batch.stage is not Stage.SETTLING:
        return
    dead = len(batch.dead)
    books.tally.dead_lettered += dead
    books.tally.acked += batch.count - dead
    forgotten = books.recall.settle(batch.entry(books.settings.worker, committed=True))
    if forgotten and books.settings.ledger:
        books.out.append(actions.DeleteLedger((forgotten,)))
    books.forget_run(batch)
    if dead:
        books.report(Note.DEAD_LETTERED, batch, detail=str(dead))
    books.report(Note.SETTLED, batch)
    books.blocks.answered(batch.pieces)
    books.remove(batch)
