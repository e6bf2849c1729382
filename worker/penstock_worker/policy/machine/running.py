"""Runs: which batch goes to the driver next, what each verdict leads to, and when a run takes too long.

    ok          what follows is in settling.py
    data        halves, down to the message (splitting.py)
    code        the worker stops (ending.py)
    transient   again after growing waits, the lease held; after the last attempt halves, down to the message, which
                becomes a dead letter. So a deadline. While the circuit is open nothing becomes one
    engine lost again under the same id, once the driver is ready (losing.py)
    cancelled   given back

Knows verdicts and slots. Does not know how batches come to be.
"""

from penstock_worker.policy.machine import actions
from penstock_worker.policy.machine.actions import Note
from penstock_worker.policy.machine.batch import Batch, Stage
from penstock_worker.policy.machine.books import Books
from penstock_worker.policy.machine.cutting import was_cut_elsewhere
from penstock_worker.policy.machine.delays import growing
from penstock_worker.policy.machine.ending import stop_for_code
from penstock_worker.policy.machine.events import RunEnded
from penstock_worker.policy.machine.leaving import cancel
from penstock_worker.policy.machine.losing import await_driver, lost
from penstock_worker.policy.machine.settling import next_stage, went_well
from penstock_worker.policy.machine.splitting import blame_data, condemn, split
from penstock_worker.policy.outcome import Fault, Outcome, Verdict

DRIVER_DEADLINE_SECONDS = 5.0
"""The driver cancels a run at its deadline; so long after it we do, should it have forgotten."""
CANCELLING_SECONDS = 35.0
"""A cancelled run that goes on for longer never ends: the driver leaves after 30 s, or is left by us."""
LOST = "Spark was lost each time that this message was processed."
LOST_FAULT = Fault("EngineLost", LOST, sentence=LOST)

# To the driver


def hand_over(books: Books, now: float) -> None:
    """Let batches run, the oldest first, as far as there is room."""
    for batch in list(books.batches.values()):
        if batch.stage is Stage.READY:
            if not _may_run(books, batch, now):
                return
            _begin(books, batch, now)


def _may_run(books: Books, batch: Batch, now: float) -> bool:
    running = books.running()
    if not books.driver.is_ready or books.ending or books.is_leaving or len(running) >= books.settings.batch.in_flight:
        return False
    if running and (batch.is_suspect or any(other.is_suspect for other in running)):
        return False
    return not books.circuit.is_open or (not running and now >= books.circuit.probe_at)


def _begin(books: Books, batch: Batch, now: float) -> None:
    batch.stage, batch.began_at = Stage.RUNNING, now
    batch.is_cancelled, batch.warnings = False, 0
    batch.runs += 1
    batch.root.runs += batch.count < batch.root.count
    books.out.append(
        actions.HandOver(
            batch_id=batch.id,
            run=batch.runs,
            pieces=batch.pieces,
            ranges=batch.ranges,
            ancestors=batch.ancestors,
            count=batch.count,
            bytes=batch.bytes,
            attempt=batch.attempts + 1,
            redelivered=batch.redelivered,
            deadline_seconds=books.settings.batch.deadline_seconds,
        )
    )


# From the driver


def run_ended(books: Books, event: RunEnded, now: float, chance: float) -> None:
    batch = books.batches.get(event.batch_id)
    if batch is None or batch.stage is not Stage.RUNNING or batch.runs != event.run:
        return
    outcome = event.outcome
    detail = outcome.fault.told if outcome.fault else ""
    note = actions.Report(
        note=Note.ENDED,
        batch_id=batch.id,
        messages=batch.count,
        verdict=outcome.verdict.value,
        seconds=outcome.seconds,
        detail=detail,
    )
    books.out.append(note)
    _follow(books, batch, outcome, now, chance)


def _follow(books: Books, batch: Batch, outcome: Outcome, now: float, chance: float) -> None:
    verdict = outcome.verdict
    if verdict is Verdict.OK:
        _ok(books, batch, outcome, now)
    elif verdict is Verdict.CODE:
        _code(books, batch, outcome, now)
    elif verdict is Verdict.CUT:
        was_cut_elsewhere(books, batch)
    elif verdict is Verdict.ENGINE_LOST:
        alone = len(books.running()) == 1
        await_driver(books, now)
        _lost(books, batch, alone=alone, now=now)
    elif books.ending or batch.is_cancelled or verdict is Verdict.CANCELLED:
        delay_seconds = 0 if books.ending or books.driver.is_ending else books.settings.retry.max_delay_seconds
        books.give_back_batch(batch, delay_seconds)
    elif books.is_leaving:
        books.give_back_batch(batch)
    elif verdict is Verdict.DATA:
        _passed(books)
        blame_data(books, batch, outcome.fault, now)
    else:
        _may_pass(books, batch, outcome, now, chance)


def _passed(books: Books) -> None:
    if books.circuit.passed():
        books.report(Note.CIRCUIT_CLOSED)


def _ok(books: Books, batch: Batch, outcome: Outcome, now: float) -> None:
    _passed(books)
    books.bad_in_a_row = 0
    books.pace.add(batch.count, now - batch.began_at)
    batch.root.undecided.discard(batch.id)
    went_well(books, batch, outcome, now)


def _code(books: Books, batch: Batch, outcome: Outcome, now: float) -> None:
    told = outcome.fault.told if outcome.fault else "The driver told no error."
    batch.stage = Stage.READY
    stop_for_code(books, f"{told} The code cannot process batch {batch.id}.", now)


def _may_pass(books: Books, batch: Batch, outcome: Outcome, now: float, chance: float) -> None:
    """Run a batch again, until it has failed too often: then a message of it is to blame, unless nothing else works.

    While the circuit is open a failure is no attempt. A batch of several messages may be halved all the same, as parts
    of it may be well; a single message is given back.
    """
    retry = books.settings.retry
    batch.fault = outcome.fault
    if books.circuit.failed_by(batch.id, now, chance):
        books.report(Note.CIRCUIT_OPEN, batch)
    if books.circuit.is_open:
        batch.probes += 1
    else:
        batch.attempts += 1
    failures = batch.attempts + batch.probes
    seconds = outcome.retry_after_seconds
    wait_seconds = growing(retry, failures, chance) if seconds is None else seconds
    is_exhausted = failures >= retry.max_attempts
    if is_exhausted and batch.count > 1:
        split(books, batch, now)
    elif is_exhausted and not books.circuit.is_open and batch.attempts >= retry.max_attempts:
        condemn(books, batch, now)
    elif is_exhausted or wait_seconds > 2 * retry.max_delay_seconds:
        if books.settings.ledger:  # for who gets it next
            books.out.append(actions.WriteLedger(batch.entry(books.settings.worker)))
        books.give_back_batch(batch, max(wait_seconds, retry.max_delay_seconds))
    else:
        batch.stage, batch.due = Stage.RESTING, now + wait_seconds
        books.forget_run(batch)
        books.report(Note.RETRIED, batch, seconds=wait_seconds)


def wake_rested(books: Books, now: float) -> None:
    """Have those run again that rested; the ledger is told first how often they failed."""
    for batch in books.batches.values():
        if batch.stage is Stage.RESTING and batch.due <= now:
            batch.todo = [Stage.OPENING] if books.settings.ledger else []
            next_stage(batch, now)


# Losses


def driver_lost(books: Books, why: str, now: float) -> None:
    """Take it that nothing will come of what the driver had."""
    running = books.running()
    books.report(Note.DRIVER_LOST, detail=why)
    await_driver(books, now)
    for batch in running:
        _lost(books, batch, alone=len(running) == 1, now=now)


def outgoing_gone(books: Books, batch_id: str, run: int) -> None:
    """Run a batch again whose messages to be published went away with the driver: under its id, that does no harm."""
    batch = books.batches.get(batch_id)
    if batch is not None and batch.stage is Stage.PUBLISHING and batch.asked and batch.runs == run:
        batch.todo, batch.dead, batch.outgoing = [], {}, 0
        batch.stage = Stage.READY
        batch.root.undecided.add(batch.id)


def _lost(books: Books, batch: Batch, *, alone: bool, now: float) -> None:
    books.forget_run(batch)
    is_to_blame = lost(books, batch, alone=alone)
    if books.ending or books.is_leaving or not is_to_blame:
        return
    if batch.count > 1:
        split(books, batch, now)
    else:
        batch.fault = LOST_FAULT
        condemn(books, batch, now)


# Time


def overdue_at(books: Books, batch: Batch) -> float:
    """Return when the next thing is to be done about a run that does not end."""
    deadline = batch.began_at + books.settings.batch.deadline_seconds + DRIVER_DEADLINE_SECONDS
    return deadline + batch.warnings * CANCELLING_SECONDS


def look_for_overdue(books: Books, now: float) -> None:
    """Cancel what the driver should have cancelled; leave a driver that does not even do that."""
    for batch in books.running():
        if batch.warnings == 0 and overdue_at(books, batch) <= now:
            batch.warnings = 1
            books.out.append(actions.CancelRun(batch.id, batch.runs))
        elif batch.warnings == 1 and overdue_at(books, batch) <= now:
            batch.warnings = 2
            books.out.append(actions.AbandonDriver(f"The run of batch {batch.id} does not end, though cancelled."))


def cancel_batch(books: Books, batch_id: str) -> None:
    """Give a batch back because somebody wishes so; what went well already is not undone."""
    batch = books.batches.get(batch_id)
    if batch is None:
        return
    if batch.stage is Stage.RUNNING:
        cancel(books, batch)
    elif batch.stage in {Stage.OPENING, Stage.READY, Stage.RESTING}:
        books.give_back_batch(batch, books.settings.retry.max_delay_seconds)
