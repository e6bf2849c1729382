"""Cutting a batch: parts of it are made, each of which has it as an ancestor, and it does not run as a whole any more.

    whole        two halves, in search of the message that cannot be processed (splitting.py)
    not whole    one part: what came again of it, as the rest did not (recall.py)

Two workers may have the same batch: a server that was killed forgets what it has delivered, and who was cut off goes on
with what others have meanwhile. Parts that both of them made would overlap, and no sink could tell. So the ledger's
entry of a batch names its parts, before these are written down themselves, and only who knows all of them may write it.
The other worker learns that when it writes the entry, or from a sink that refuses the batch because it has a part of it
(api/staging.py, api/jdbc.py). Then it lets go of all messages; they come again, and are looked up.
"""

from penstock_worker.policy.ledger import Part
from penstock_worker.policy.machine.batch import Batch, Stage
from penstock_worker.policy.machine.books import Books
from penstock_worker.policy.machine.losing import suspect_if_lost_often
from penstock_worker.policy.machine.pieces import Pieces
from penstock_worker.policy.machine.settling import go_on_with_rejected, next_stage


def begin_to_cut(books: Books, batch: Batch, now: float) -> None:
    """Have the ledger name the parts, and then make them.

    An entry that would be too large with parts, as they are scattered over a million messages, does without.
    """
    if not books.settings.ledger:
        cut(books, batch, now)
        return
    ranges = [(pieces, books.blocks.ranges(pieces)) for pieces in _parts(books, batch)]
    parts = [Part(books.name_of(pieces, of_part), of_part) for pieces, of_part in ranges]
    batch.with_parts = batch.entry(books.settings.worker).with_parts(parts, most_bytes=books.entry_bytes)
    batch.todo = [Stage.CUTTING]
    next_stage(batch, now)


def cut(books: Books, batch: Batch, now: float) -> None:
    """Make the parts."""
    parts = [books.open(pieces, now, redelivered=batch.redelivered, root=batch.root) for pieces in _parts(books, batch)]
    books.remove(batch)
    for part in parts:
        part.ancestors = batch.lineage
        part.is_suspect, part.fault = batch.is_suspect, batch.fault
        part.attempts, part.losses = batch.attempts, batch.losses
        suspect_if_lost_often(books, part)
        if batch.former is not None and batch.former.rejected:
            go_on_with_rejected(books, part, batch.former.rejected, now)


def _parts(books: Books, batch: Batch) -> tuple[Pieces, ...]:
    parts = books.blocks.halves(batch.pieces) if batch.is_whole else (batch.pieces,)
    return tuple(pieces for part in parts for pieces in books.fitting(part, batch.lineage))


def was_cut_elsewhere(books: Books, batch: Batch) -> None:
    """Let go of a batch that another worker has cut. Should all of it come again here, it is cut here."""
    books.forget_run(batch)
    books.let_go(batch.pieces)
    books.remove(batch)
    books.recall.remember(batch.entry(books.settings.worker), batch.runs)
    books.recall.refused.add(batch.id)
