"""Messages that arrive: fresh ones wait for a batch; what was delivered before is looked up first.

    held in a batch               the newer delivery takes the place of the former, in the same batch; if it is another
                                  message of that sequence, the stream is not what it was, and the engine ends
    held otherwise                the former is let go, the newer goes on
    finished a short while ago    answered once more as it was then
    of a batch of former times    recalled (recall.py)
    none of these                 waits for a batch of redelivered messages

Fresh messages are not looked into, one by one: they rise, so that those above all before them cannot be known. Nor can
those above all that the ledger had at the start; below it a server may have forgotten that it delivered them before, or
may have lost what had their sequences.
"""

from penstock_worker.policy.machine import actions
from penstock_worker.policy.machine.actions import Note
from penstock_worker.policy.machine.batch import Batch, Stage
from penstock_worker.policy.machine.blocks import Block, Row
from penstock_worker.policy.machine.books import Books
from penstock_worker.policy.machine.delays import before_asking_again
from penstock_worker.policy.machine.ending import reborn
from penstock_worker.policy.machine.events import Arrived, LedgerRead, LedgerUnread
from penstock_worker.policy.machine.losing import suspect_if_lost_often
from penstock_worker.policy.machine.pieces import Piece, rows_as_pieces
from penstock_worker.policy.machine.recall import Recalled


def arrived(books: Books, event: Arrived, now: float) -> None:
    messages = len(event.sequences)
    if not messages:
        return
    books.tally.arrived += messages
    books.blocks.add(
        event.block, Block(event.sequences, event.stored_at, event.offsets, event.redelivered, now, messages)
    )
    piece = Piece(event.block, 0, messages)
    is_new = not event.redelivered and event.sequences[0] > books.highest
    if books.ending:
        books.give_back((piece,))
    elif is_new:
        books.highest = event.sequences[-1]
        books.fresh.add((piece,))
    else:
        rows = {event.sequences[row]: (event.block, row) for row in range(messages)}
        books.highest = max(books.highest, *rows)
        _came_again(books, rows, now)


def _came_again(books: Books, rows: dict[int, Row], now: float) -> None:
    if _others_in_their_place(books, rows):
        books.redelivered.add(books.rising(rows.values()))
        reborn(books, "The stream has lost messages that are held here, and has given their sequences to others.")
        return
    for batch in list(books.batches.values()):
        if batch.covers(min(rows, default=0), max(rows, default=-1)):
            _replace_in(books, batch, rows)
    _replace_waiting(books, rows)
    _answer_finished(books, rows)
    if not rows:
        return
    if books.settings.ledger:
        books.recall.unsorted += rows_as_pieces(rows.values())
        read_ledger(books)
    else:
        _sort(books, rows, now)


def _others_in_their_place(books: Books, rows: dict[int, Row]) -> bool:
    """Tell whether a batch holds messages that the stream has not any more: to answer them would answer others."""
    for batch in books.batches.values():
        if batch.covers(min(rows), max(rows)):
            held = ((books.blocks.find(batch.pieces, sequence), row) for sequence, row in rows.items())
            if any(former and books.blocks.stored_at(former) != books.blocks.stored_at(row) for former, row in held):
                return True
    return False


def _replace_in(books: Books, batch: Batch, rows: dict[int, Row]) -> None:
    """Let a batch have the newer deliveries of its messages, and take those off `rows`."""
    found = {former: sequence for sequence in rows if (former := books.blocks.find(batch.pieces, sequence))}
    if not found:
        return
    newer = {former: rows.pop(sequence) for former, sequence in found.items()}
    if batch.stage is Stage.SETTLING:
        books.discard(rows_as_pieces(newer[former] for former in newer if found[former] in batch.dead))
        books.acknowledge(rows_as_pieces(newer[former] for former in newer if found[former] not in batch.dead))
        return
    everything = list(books.blocks.rows(batch.pieces))
    batch.pieces = rows_as_pieces(newer.get(row, row) for row in everything)
    books.let_go(rows_as_pieces(row for row in everything if row in newer))


def _replace_waiting(books: Books, rows: dict[int, Row]) -> None:
    for waiting in (books.fresh, books.redelivered):
        books.let_go(waiting.drop(rows))
    books.let_go(rows_as_pieces(books.recall.drop(rows)))
    unsorted = list(books.blocks.rows(books.recall.unsorted))
    if any(books.blocks.sequence(row) in rows for row in unsorted):
        books.recall.unsorted = rows_as_pieces(row for row in unsorted if books.blocks.sequence(row) not in rows)
        books.let_go(rows_as_pieces(row for row in unsorted if books.blocks.sequence(row) in rows))


def _answer_finished(books: Books, rows: dict[int, Row]) -> None:
    known = {
        sequence: dead
        for sequence, row in rows.items()
        if (dead := books.finished.is_dead(sequence, books.blocks.stored_at(row))) is not None
    }
    books.discard(rows_as_pieces(rows.pop(sequence) for sequence, is_dead in known.items() if is_dead))
    books.acknowledge(rows_as_pieces(rows.pop(sequence) for sequence, is_dead in known.items() if not is_dead))


# Looking up in the ledger


def read_ledger(books: Books) -> None:
    recall = books.recall
    if recall.uses_ledger and not recall.is_asked and books.link_is_up:
        recall.is_asked = True
        books.out.append(actions.ReadLedger())


def ledger_read(books: Books, event: LedgerRead, now: float) -> None:
    recall = books.recall
    recall.is_asked, recall.failures = False, 0
    recall.learn(event.entries, set(books.batches))
    if not recall.has_read:
        recall.has_read = True
        books.highest = max((entry.ranges[-1][1] for entry in event.entries), default=0)
    unsorted, recall.unsorted = recall.unsorted, ()
    _sort(books, {books.blocks.sequence(row): row for row in books.blocks.rows(unsorted)}, now)


def ledger_unread(books: Books, event: LedgerUnread, now: float, chance: float) -> None:
    recall = books.recall
    recall.is_asked = False
    recall.failures += books.link_is_up
    recall.ask_at = now + before_asking_again(max(recall.failures, 1), chance)
    books.report(Note.FAILED, detail=f"The ledger could not be read: {event.why}")


def ask_again(books: Books, now: float) -> None:
    wants_to_know = books.recall.unsorted or not books.recall.has_read
    if wants_to_know and books.recall.ask_at <= now:
        read_ledger(books)


def _sort(books: Books, rows: dict[int, Row], now: float) -> None:
    committed: list[Row] = []
    unknown: list[Row] = []
    for sequence, row in rows.items():
        found = books.recall.find(sequence, books.blocks.stored_at(row))
        if found is None:
            unknown.append(row)
        elif found[0].committed:
            committed.append(row)
        else:
            books.recall.add(*found, sequence, row, now)
    books.acknowledge(rows_as_pieces(committed))
    books.redelivered.add(books.rising(unknown))


# Batches of former times


def recall_batches(books: Books, now: float) -> None:
    for pieces in books.recall.pass_on(now):
        books.give_back(pieces)
    for recalled in books.recall.take(now):
        _reopen(books, recalled, now)


def _reopen(books: Books, recalled: Recalled, now: float) -> None:
    batch = books.open(books.rising(recalled.rows.values()), now, redelivered=True)
    batch.attempts, batch.losses = recalled.entry.attempts, recalled.entry.losses
    if recalled.is_whole:
        batch.runs = recalled.runs
        books.report(Note.ADOPTED, batch)
    else:
        books.report(Note.REPLACED, batch, detail=f"{recalled.entry.count} were in {recalled.entry.batch_id}")
        if books.settings.ledger:
            books.out.append(actions.DeleteLedger((recalled.entry.batch_id,)))
    suspect_if_lost_often(books, batch)


def forget_over(books: Books, ack_floor: int) -> None:
    """Forget former batches of which every message is acknowledged."""
    over = books.recall.over(ack_floor)
    for name in over:
        books.recall.forget(name)
    if over and books.settings.ledger:
        books.out.append(actions.DeleteLedger(over))
