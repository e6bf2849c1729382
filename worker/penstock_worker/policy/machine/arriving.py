"""Messages that arrive: fresh ones wait for a batch; what was delivered before is looked up first.

    held                          the newer delivery is let go; if it is another message of that sequence, the stream is
                                  not what it was, and the engine ends
    held, and being settled       acknowledged, as the settlement may come too late
    settled here                  acknowledged once more
    of a former batch             recalled (recall.py)
    none of these                 waits for a batch of redelivered messages

The server takes the answer to any delivery of a message for the answer to its last one: it looks a message up by its
sequence in the stream, and keeps the consumer's sequence of its first delivery (processAckMsg, processNak,
progressUpdate and trackPending in nats-server's consumer.go). So what is held stays as it is, however often it comes.

Fresh messages are not looked up one by one: they rise, so those above all earlier ones and above all batches of the
ledger belong to no batch. Below that, a server may have forgotten that it delivered them, or may have lost what had
their sequences. When the server has changed, it may have forgotten deliveries to other workers, too: until the ledger
has been read again, after the time in which they notice the change, all messages are looked up. So they are when this
engine has slept: what was on its way to it then may have been delivered to others since.
"""

from penstock_worker.policy.machine import actions
from penstock_worker.policy.machine.actions import Note
from penstock_worker.policy.machine.batch import Stage
from penstock_worker.policy.machine.blocks import Block
from penstock_worker.policy.machine.books import Books
from penstock_worker.policy.machine.cutting import begin_to_cut
from penstock_worker.policy.machine.ending import reborn
from penstock_worker.policy.machine.events import Arrived, LedgerRead, LedgerUnread
from penstock_worker.policy.machine.losing import suspect_if_lost_often
from penstock_worker.policy.machine.pieces import Piece, Row, count, pieces_of
from penstock_worker.policy.machine.recall import Recalled
from penstock_worker.policy.machine.settling import go_on_with_rejected
from penstock_worker.policy.ranges import contains

WORK_PER_STEP = 50_000
"""Messages looked for in an entry of the ledger, or put into a batch again: about 50 ms. The rest is done in further
steps, so that the event loop can do other things in between."""
STEP_PAUSE_SECONDS = 0.001

NOTICE_SECONDS = 5.0
"""A worker that is connected notices within this time that the server has changed: it reads its consumer that often."""


def arrived(books: Books, event: Arrived, now: float) -> None:
    messages = len(event.sequences)
    if not messages:
        return
    books.tally.arrived += messages
    is_new = not event.redelivered and books.recall.has_read and event.sequences[0] > books.highest
    held = {} if is_new else books.blocks.held(set(event.sequences))
    books.blocks.add(event.block, Block(event.sequences, event.stored_at, event.offsets, now))
    piece = Piece(event.block, 0, messages)
    if now < books.recall.quiet_until and not held:  # sent before the server changed: others may get them as well
        books.let_go((piece,))
    elif is_new and books.ending:
        books.give_back((piece,))
    elif is_new:
        books.highest = event.sequences[-1]
        books.fresh.add((piece,))
    else:
        books.highest = max(books.highest, event.sequences[-1])
        _came_again(books, event, held)


def _came_again(books: Books, event: Arrived, held: dict[int, Row]) -> None:
    rows = {sequence: row for row, sequence in enumerate(event.sequences)}
    if _others_in_their_place(books, {row: event.stored_at[rows[sequence]] for sequence, row in held.items()}):
        books.redelivered.add((Piece(event.block, 0, len(rows)),))
        reborn(books, "The stream has lost messages that are held here, and has given their sequences to others.")
        return
    again = {sequence: rows.pop(sequence) for sequence in sorted(held)}
    settling = [batch.ranges for batch in books.batches.values() if batch.stage is Stage.SETTLING]
    _acknowledge(
        books, event, again, [sequence for sequence in again if any(contains(each, sequence) for each in settling)]
    )
    books.let_go(pieces_of(event.block, again.values()))
    settled = books.recall.settled_among(event.sequences[0], event.sequences[-1])
    known = [
        sequence for sequence, row in rows.items() if any(one.holds(sequence, event.stored_at[row]) for one in settled)
    ]
    _acknowledge(books, event, rows, known)
    if books.ending:
        books.give_back(pieces_of(event.block, rows.values()))
    else:
        books.recall.add_unread(pieces_of(event.block, rows.values()))


def _others_in_their_place(books: Books, times: dict[Row, int]) -> bool:
    """Tell whether messages are held that the stream has not any more: to answer them would answer others."""
    return any(books.blocks.stored_at(row) != stored_at for row, stored_at in times.items())


def _acknowledge(books: Books, event: Arrived, rows: dict[int, int], known: list[int]) -> None:
    """Acknowledge messages that need nothing more, and take them off `rows`."""
    books.acknowledge(pieces_of(event.block, [rows.pop(sequence) for sequence in known]))


# Looking up in the ledger


def look_up(books: Books, now: float) -> None:
    """Read the ledger where that is needed, and sort by it what came before it was read."""
    recall = books.recall
    if books.link_is_up and recall.should_ask(now):
        recall.ask(now)
        books.out.append(actions.ReadLedger())
    lookups = 0
    while recall.unsorted and recall.step_at <= now:
        lookups += _sort(books, recall.unsorted.popleft(), now)
        if lookups >= WORK_PER_STEP:
            recall.step_at = now + STEP_PAUSE_SECONDS


def look_up_everything(books: Books, now: float) -> None:
    """Pull nothing, and look up what arrives, until other workers must have noticed a change of the server as well."""
    recall = books.recall
    if recall.uses_ledger:
        recall.has_read = False
        recall.quiet_until = now + NOTICE_SECONDS


def ledger_read(books: Books, event: LedgerRead, now: float) -> None:
    recall = books.recall
    recall.learn(event.entries, set(books.batches))
    books.acknowledge(recall.take_committed())
    if recall.asked_at < recall.quiet_until:  # before the server changed
        recall.failed(now, 0, counts=False)
        return
    if not recall.has_read:
        books.highest = max([books.highest, *(entry.ranges[-1][1] for entry in event.entries)])
    recall.has_been_read(now)


def ledger_unread(books: Books, event: LedgerUnread, now: float, chance: float) -> None:
    books.recall.failed(now, chance, counts=books.link_is_up)
    books.report(Note.FAILED, detail=f"The ledger could not be read: {event.why}")


def _sort(books: Books, piece: Piece, now: float) -> int:
    """Find the batches that messages belonged to, and return how many lookups that took."""
    recall = books.recall
    sequences, times = books.blocks.sequences(piece), books.blocks.times(piece)
    rest = list(range(len(sequences)))
    lookups = recall.size
    for entry, runs in recall.find(sequences[0], sequences[-1]):
        lookups += len(rest)
        found = [row for row in rest if entry.holds(sequences[row], times[row])]
        if not found:
            continue
        pieces = pieces_of(piece.block, (piece.start + row for row in found))
        if entry.committed:
            books.acknowledge(pieces)
        else:
            recall.add(entry, runs, pieces, sequences[found[0]], now)
        rest = sorted(set(rest).difference(found))
    books.redelivered.add(pieces_of(piece.block, (piece.start + row for row in rest)))
    return lookups


# Batches of former times


def recall_batches(books: Books, now: float) -> None:
    for pieces in books.recall.pass_on(now):
        books.give_back(pieces)
    reopened = 0
    for recalled in books.recall.take(now):
        _reopen(books, recalled, now)
        reopened += count(recalled.pieces)
        if reopened >= WORK_PER_STEP:
            books.recall.step_at = now + STEP_PAUSE_SECONDS
            return


def _reopen(books: Books, recalled: Recalled, now: float) -> None:
    pieces = tuple(recalled.pieces)
    entry = recalled.entry
    batch = books.open(pieces, now, redelivered=True, name=entry.batch_id)
    batch.runs, batch.ancestors = recalled.runs, entry.ancestors
    batch.attempts, batch.losses = entry.attempts, entry.losses
    if recalled.is_whole and not recalled.is_to_be_cut:
        books.report(Note.ADOPTED, batch)
        suspect_if_lost_often(books, batch)
        if entry.rejected:
            go_on_with_rejected(books, batch, entry.rejected, now)
    else:
        books.report(Note.REPLACED, batch, detail=f"{entry.count} were in {entry.batch_id}")
        batch.former = entry
        begin_to_cut(books, batch, now)


def forget_over(books: Books, ack_floor: int, now: float) -> None:
    """Forget former batches of which the server has had every message as acknowledged for long enough.

    What came again of such a batch has been acknowledged by another worker.
    """
    books.let_go(books.recall.take_settled(ack_floor))
    over = books.recall.over(ack_floor, now)
    for name in over:
        books.recall.forget(name)
    if over and books.settings.ledger:
        books.out.append(actions.DeleteLedger(over))
