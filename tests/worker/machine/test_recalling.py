"""Batches of former times: redelivered messages find their batch again, in memory or in the ledger."""

from penstock_worker.policy.identity import batch_id
from penstock_worker.policy.ledger import Entry
from penstock_worker.policy.machine import actions as wants
from penstock_worker.policy.machine import events as told
from penstock_worker.policy.machine.actions import Note
from penstock_worker.policy.machine.losing import SUSPECTED_FROM
from penstock_worker.policy.machine.pieces import Piece
from penstock_worker.policy.machine.recall import FIRST_PASSING_SECONDS
from penstock_worker.policy.outcome import Verdict
from penstock_worker.policy.ranges import Range
from tests.worker.machine.playing import ACK_WAIT_SECONDS, SETTINGS, TICK_SECONDS, Play


def entry(*ranges: Range, committed: bool = False, losses: int = 0, attempts: int = 0) -> Entry:
    newest = ranges[-1][1]
    return Entry(
        batch_id=batch_id("S", "c", ranges, newest=newest),
        ranges=ranges,
        newest=newest,
        worker="gone",
        committed=committed,
        losses=losses,
        attempts=attempts,
    )


def found(*entries: Entry) -> Play:
    """Return a machine that reads these in its ledger."""
    play = Play(SETTINGS)
    play.tell(told.Started(), told.DriverReady("one"), told.LedgerRead(entries))
    play.asked.clear()
    return play


def came_again(play: Play, *sequences: int, says: tuple[Entry, ...] = ()) -> int:
    """Have messages come again; the ledger, asked about them, says so much."""
    block = play.arrive(*sequences, redelivered=True)
    play.one(wants.ReadLedger)
    play.tell(told.LedgerRead(says))
    return block


def notes(play: Play) -> list[Note]:
    return [report.note for report in play.take(wants.Report)]


def test_a_batch_whose_engine_died_runs_again_under_its_id_once_all_its_messages_came_again() -> None:
    open_entry = entry((3, 4), (7, 7), attempts=2)
    play = found(open_entry)
    came_again(play, 4, 7, says=(open_entry,))
    play.wait(SETTINGS.batch.max_wait_seconds)
    assert not play.runs()
    came_again(play, 3, says=(open_entry,))
    run = play.run()
    assert (run.batch_id, run.ranges, run.attempt) == (open_entry.batch_id, open_entry.ranges, 3)
    assert Note.ADOPTED in notes(play)


def test_the_messages_of_a_committed_batch_are_only_acknowledged() -> None:
    committed = entry((1, 10), committed=True)
    play = found(committed)
    block = came_again(play, 2, 9, says=(committed,))
    assert play.one(wants.Acknowledge).pieces == (Piece(block, 0, 2),)
    play.wait(SETTINGS.batch.max_wait_seconds)
    assert not play.runs()


def test_if_some_do_not_come_again_the_others_go_on_under_a_new_id_and_the_entry_is_deleted() -> None:
    open_entry = entry((1, 3))
    play = found(open_entry)
    came_again(play, 1, 3, says=(open_entry,))
    play.wait(2 * ACK_WAIT_SECONDS)
    assert not play.runs()
    play.wait(2 * ACK_WAIT_SECONDS)
    assert play.one(wants.DeleteLedger).batch_ids == (open_entry.batch_id,)
    run = play.run()
    assert run.ranges == ((1, 1), (3, 3))
    assert Note.REPLACED in notes(play)


def test_messages_whose_batch_begins_elsewhere_are_given_back_for_who_has_the_first_of_them() -> None:
    """So a batch of a worker that was killed comes together again with one of the others, under its id."""
    open_entry = entry((1, 3))
    play = found(open_entry)
    block = came_again(play, 2, 3, says=(open_entry,))
    play.wait(FIRST_PASSING_SECONDS + TICK_SECONDS)
    assert play.one(wants.GiveBack).pieces == (Piece(block, 0, 2),)
    came_again(play, 1, 2, 3, says=(open_entry,))
    assert play.run().batch_id == open_entry.batch_id


def test_what_is_passed_on_and_comes_back_each_time_goes_on_at_last() -> None:
    open_entry = entry((1, 3))
    play = found(open_entry)
    for _ in range(100):
        came_again(play, 3, says=(open_entry,))
        play.wait(TICK_SECONDS)
        if not play.take(wants.GiveBack):
            break
    play.wait(2 * ACK_WAIT_SECONDS)
    assert play.run().ranges == ((3, 3),)


def test_where_the_server_counts_deliveries_nothing_is_passed_on() -> None:
    """It would give up a message that was delivered too often."""
    open_entry = entry((1, 3))
    play = Play(SETTINGS, passes_on=False)
    play.tell(told.Started(), told.DriverReady("one"), told.LedgerRead((open_entry,)))
    play.asked.clear()
    came_again(play, 2, says=(open_entry,))
    play.wait(2 * ACK_WAIT_SECONDS)
    assert not play.take(wants.GiveBack)
    assert play.run().ranges == ((2, 2),)


def test_the_ledger_is_read_anew_for_messages_of_batches_that_were_opened_since() -> None:
    play = found()
    since = entry((5, 6))
    came_again(play, 5, 6, says=(since,))
    assert play.run().batch_id == since.batch_id


def test_while_the_ledger_cannot_be_read_redelivered_messages_wait() -> None:
    play = found()
    play.arrive(5, redelivered=True)
    play.one(wants.ReadLedger)
    play.tell(told.LedgerUnread("no answer"))
    play.wait(5)
    assert not play.runs()
    play.one(wants.ReadLedger)
    play.tell(told.LedgerRead(()))
    assert play.run().ranges == ((5, 5),)


def test_a_message_that_comes_once_more_while_its_batch_is_recalled_is_held_once() -> None:
    open_entry = entry((1, 3))
    play = found(open_entry)
    first = came_again(play, 1, 2, says=(open_entry,))
    came_again(play, 2)
    assert play.one(wants.LetGo).pieces == (Piece(first, 1, 2),)
    play.wait(4 * ACK_WAIT_SECONDS)
    assert sorted(run.ranges for run in play.runs()) == [((1, 1),), ((2, 2),)]


def test_a_batch_that_was_open_each_time_its_worker_died_is_suspected() -> None:
    open_entry = entry((1, 2), losses=SUSPECTED_FROM - 1)
    play = found(open_entry)
    came_again(play, 1, 2, says=(open_entry,))
    assert Note.SUSPECTED in notes(play)
    play.arrive(3)
    alone = play.run()
    assert alone.ranges == ((1, 2),)
    play.end(alone, Verdict.ENGINE_LOST)
    play.tell(told.DriverReady("two"))
    assert play.run().count == 1


def test_an_entry_all_of_whose_messages_are_acknowledged_is_deleted() -> None:
    old, young = entry((1, 3)), entry((5, 9))
    play = found(old, young)
    play.tell(told.Counted(pending=0, ack_pending=5, ack_floor=4))
    assert play.one(wants.DeleteLedger).batch_ids == (old.batch_id,)


def test_after_a_long_sleep_what_has_not_run_is_let_go_and_what_runs_goes_on() -> None:
    play = Play.ready(ledger=False, in_flight=1)
    play.arrive(1, 2)
    run = play.run()
    play.arrive(3, 4)
    play.sleep(ACK_WAIT_SECONDS * 2)
    assert play.one(wants.LetGo).pieces == (Piece(2, 0, 2),)
    play.end(run, Verdict.OK)
    assert len(play.settle()) == 1


def test_a_drain_ends_once_nothing_is_pending_and_nothing_is_held() -> None:
    play = Play.ready(ledger=False)
    play.arrive(1)
    run = play.run()
    play.tell(told.Drain(), told.Counted(pending=0, ack_pending=1, ack_floor=0))
    play.end(run, Verdict.OK)
    play.settle()
    play.take(wants.Count)
    play.wait(1)
    play.one(wants.Count)
    play.tell(told.Counted(pending=0, ack_pending=0, ack_floor=1))
    assert play.one(wants.Stop).code == 0


def test_termination_gives_back_what_waits_finishes_what_runs_and_cancels_it_when_the_grace_is_nearly_over() -> None:
    play = Play.ready(ledger=False)
    play.arrive(*range(1, 301))
    first, second = play.runs()
    play.tell(told.Terminate(25))
    assert play.one(wants.GiveBack).pieces == (Piece(1, 200, 300),)
    play.end(first, Verdict.OK)
    play.settle()
    play.wait(20)
    assert play.one(wants.CancelRun).batch_id == second.batch_id
    play.end(second, Verdict.CANCELLED)
    assert play.one(wants.GiveBack).pieces == (Piece(1, 100, 200),)
    assert play.one(wants.Stop).code == 0


def test_termination_does_not_wait_longer_than_its_grace() -> None:
    play = Play.ready(ledger=False)
    play.arrive(1)
    play.run()
    play.tell(told.Terminate(25))
    play.wait(20)
    play.wait(5)
    assert play.one(wants.GiveBack).pieces == (Piece(1, 0, 1),)
    assert play.one(wants.Stop).code == 0


def test_nothing_is_pulled_before_the_ledger_could_be_read() -> None:
    play = Play(SETTINGS)
    play.tell(told.Started(), told.DriverReady("one"))
    play.take(wants.ReadLedger)
    play.tell(told.LedgerUnread("no answer"))
    play.wait(5)
    assert not play.take(wants.ReleasePull)
    play.one(wants.ReadLedger)
    play.tell(told.LedgerRead(()))
    play.one(wants.ReleasePull)


def test_messages_of_a_former_batch_find_it_though_the_server_forgot_that_it_delivered_them() -> None:
    open_entry = entry((1, 3))
    play = found(open_entry)
    play.arrive(1, 2, 3, 4)
    play.tell(told.LedgerRead((open_entry,)))
    assert play.run().batch_id == open_entry.batch_id


def test_what_a_server_stored_later_under_a_finished_sequence_is_processed() -> None:
    """A server that crashed has forgotten its newest messages, and gives their sequences to others."""
    play = Play.ready()
    play.arrive(1, 2, 3)
    play.end(play.run(), Verdict.OK)
    play.settle()
    play.arrive(3, later=100)
    play.tell(told.LedgerRead(()))
    play.wait(SETTINGS.batch.max_wait_seconds)
    assert play.run().ranges == ((3, 3),)


def test_what_a_server_stored_later_under_a_committed_sequence_is_processed_under_another_id() -> None:
    committed = entry((1, 3), committed=True)
    play = found(committed)
    play.arrive(1, 2, 3, later=100)
    play.tell(told.LedgerRead((committed,)))
    play.wait(SETTINGS.batch.max_wait_seconds)
    run = play.run()
    assert run.ranges == committed.ranges
    assert run.batch_id != committed.batch_id


def test_an_engine_ends_that_holds_what_the_stream_has_lost() -> None:
    """To answer it would answer the message that has its sequence now."""
    play = Play.ready()
    play.arrive(1, 2, 3)
    play.run()
    play.arrive(3, later=100)
    assert play.one(wants.Stop).code == 1
    assert not play.take(wants.Settle)


def test_an_engine_ends_that_holds_what_came_again_and_was_lost_since() -> None:
    """It got the first of these as redelivered, and the second one as fresh: to the server it is."""
    play = found()
    came_again(play, 3)
    play.wait(SETTINGS.batch.max_wait_seconds)
    play.run()
    play.arrive(3, later=100)
    assert play.one(wants.Stop).code == 1
