"""Cutting a batch: parts of it are made, each of which has it as an ancestor, and it does not run as a whole any more.

    whole        two halves, in search of the message that cannot be processed (splitting.py)
    not whole    one part: what came again of it, as the rest did not (recall.py)

Two workers can hold the same batch: a server that was killed forgets deliveries, and a worker that was disconnected
still has messages that were redelivered to others. If both cut the batch, their parts could overlap, and no sink could
detect that. So the batch's ledger entry names the parts before the parts get entries of their own, and a worker may
write that entry only if it knows all parts in it. The other worker finds out when it writes the entry, or when a sink
refuses the batch because it has a part of it (api/staging.py, api/jdbc.py). It then lets go of all messages of the
batch. They are redelivered and looked up.
"""

from penstock_worker.policy.ledger import Part
from penstock_worker.policy.machine.batch import Batch, Stage
from penstock_worker.policy.machine.books import Books
from penstock_worker.policy.machine.losing import suspect_if_lost_often
from penstock_worker.policy.machine.pieces import Pieces
from penstock_worker.policy.machine.settling import go_on_with_rejected, next_stage
from penstock_worker.policy.ranges import Range


def begin_to_cut(books: Books, batch: Batch, now: float) -> None:
    """Have the ledger name the parts, and then make them.

    An entry that would be too large with parts, as they are scattered over a million messages, does without.
    """
    if not books.settings.ledger:
        cut(books, batch, now)
        return
    parts = [
        Part(books.name_of(ranges, books.blocks.newest(pieces)), ranges) for pieces, ranges in _parts(books, batch)
    ]
    batch.with_parts = batch.entry(books.settings.worker).with_parts(parts, most_bytes=books.entry_bytes)
    batch.todo = [Stage.CUTTING]
    next_stage(batch, now)


def cut(books: Books, batch: Batch, now: float) -> None:
    """Make the parts."""
    parts = [
        books.open(pieces, now, redelivered=batch.redelivered, root=batch.root, ranges=ranges)
        for pieces, ranges in _parts(books, batch)
    ]
    books.remove(batch)
    for part in parts:
        part.ancestors = batch.lineage
        part.is_suspect, part.fault = batch.is_suspect, batch.fault
        part.attempts, part.losses = batch.attempts, batch.losses
        suspect_if_lost_often(books, part)
        if batch.former is not None and batch.former.rejected:
            go_on_with_rejected(books, part, batch.former.rejected, now)


def _parts(books: Books, batch: Batch) -> list[tuple[Pieces, tuple[Range, ...]]]:
    parts = books.blocks.halves(batch.pieces) if batch.is_whole else (batch.pieces,)
    return [fitting for part in parts for fitting in books.fitting(part, batch.lineage)]


def was_cut_elsewhere(books: Books, batch: Batch) -> None:
    """Let go of a batch that another worker has cut. If all of it is redelivered to this worker, it is cut here."""
    books.forget_run(batch)
    books.let_go(batch.pieces)
    books.remove(batch)
    books.recall.remember(batch.entry(books.settings.worker), batch.runs)
    books.recall.refused.add(batch.id)
