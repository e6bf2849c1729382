"""What follows a run: messages are published, written to the ledger and settled in order, and asked for again."""

from penstock_worker.policy.machine import actions, events
from penstock_worker.policy.machine.pieces import Piece
from penstock_worker.policy.machine.recall import KEPT_ACK_WAITS
from penstock_worker.policy.machine.settling import SETTLE_TRIES
from penstock_worker.policy.machine.splitting import LETTER_TRIES
from penstock_worker.policy.outcome import Verdict
from tests.worker.machine.playing import ACK_WAIT_SECONDS, TICK_SECONDS, Play


def test_ledger_has_a_batch_before_it_runs_and_until_the_ack_floor_has_been_behind_it_for_a_while() -> None:
    play = Play.ready()
    play.arrive(1, 2)
    assert not play.take(actions.HandOver)
    assert not play.one(actions.WriteLedger).entry.committed
    name = next(iter(play.machine.books.batches))
    play.handle(events.LedgerWritten(name))
    play.end(play.one(actions.HandOver), Verdict.OK)
    assert play.one(actions.WriteLedger).entry.committed
    assert not play.take(actions.Settle)
    play.handle(events.LedgerWritten(name))
    assert play.one(actions.Settle).acknowledged == (Piece(1, 0, 2),)
    assert not play.take(actions.DeleteLedger)
    play.handle(events.Settled(name))
    for floor in (1, 2, 1, 2):
        play.handle(events.Counted(pending=0, ack_pending=0, ack_floor=floor, is_asked_for=True))
        play.wait(KEPT_ACK_WAITS * ACK_WAIT_SECONDS / 2)
        assert not play.take(actions.DeleteLedger), "the server may have forgotten answers"
    play.wait(KEPT_ACK_WAITS * ACK_WAIT_SECONDS / 2)
    assert play.one(actions.DeleteLedger).batch_ids == (name,)


def test_a_message_is_terminated_only_once_its_dead_letter_is_published() -> None:
    play, run = Play.running(1, 2, 3)
    play.end(run, Verdict.OK, rejected=(2, 99))
    letters = play.one(actions.PublishLetters)
    assert [(letter.sequence, letter.reason, letter.fault) for letter in letters.letters] == [(2, "no", None)]
    assert not play.take(actions.Settle)
    play.handle(events.LettersFailed(letters.batch_id, "no answer", frozenset({2})))
    assert not play.take(actions.Settle)
    play.wait(1)
    assert play.one(actions.PublishLetters) == letters
    play.handle(events.LettersPublished(letters.batch_id))
    settle = play.one(actions.Settle)
    assert settle.acknowledged == (Piece(1, 0, 1), Piece(1, 2, 3))
    assert settle.terminated == (Piece(1, 1, 2),)


def test_ledger_has_what_a_run_rejected_before_its_dead_letters_are_published() -> None:
    play, run = Play.running(*range(1, 9), ledger=True)
    play.end(run, Verdict.OK, rejected=(2, 3, 7))
    assert not play.take(actions.PublishLetters)
    entry = play.one(actions.WriteLedger).entry
    assert (entry.committed, entry.rejected) == (False, ((2, 3), (7, 7)))
    play.handle(events.LedgerWritten(run.batch_id))
    assert len(play.one(actions.PublishLetters).letters) == 3


def test_a_letter_that_is_never_stored_holds_its_own_message_alone() -> None:
    play, run = Play.running(*range(1, 6), ledger=True)
    play.end(run, Verdict.OK, rejected=(2, 4))
    play.write_ledger()
    for _ in range(LETTER_TRIES):
        play.handle(events.LettersFailed(run.batch_id, "too large", frozenset({4})))
        play.wait(TICK_SECONDS)
        assert not play.take(actions.Settle)
    alone = play.take(actions.PublishLetters)[-1]
    assert [letter.sequence for letter in alone.letters] == [4]
    entry = play.one(actions.WriteLedger).entry
    assert (entry.batch_id, entry.committed, entry.ranges) == (run.batch_id, True, ((1, 3), (5, 5)))
    play.handle(events.LedgerWritten(run.batch_id), events.Settled(run.batch_id))
    tally = play.machine.books.tally
    assert (tally.acked, tally.dead_lettered, play.held) == (3, 1, 1)
    play.handle(events.LettersPublished(alone.batch_id), events.LedgerWritten(alone.batch_id))
    play.handle(events.Settled(alone.batch_id))
    assert (tally.acked, tally.dead_lettered, play.held) == (3, 2, 0)


def test_outgoing_messages_are_published_before_any_settle_and_if_they_are_lost_the_batch_runs_again() -> None:
    play, first = Play.running(1)
    play.end(first, Verdict.OK, outgoing=7)
    assert play.one(actions.PublishOutgoing).count == 7
    assert not play.take(actions.Settle)
    play.handle(events.DriverLost("killed"), events.OutgoingFailed(first.batch_id, 1, "killed", gone=True))
    play.handle(events.DriverReady("two"))
    again = play.run()
    assert (again.batch_id, again.run, again.attempt) == (first.batch_id, 2, 1)
    play.end(again, Verdict.OK, outgoing=7)
    publish = play.one(actions.PublishOutgoing)
    assert (publish.run, publish.count) == (2, 7)
    assert not play.take(actions.Settle)
    play.handle(events.OutgoingPublished(publish.batch_id, 2))
    play.one(actions.Settle)


def test_an_unconfirmed_settle_is_repeated_a_few_times() -> None:
    play, run = Play.running(1, 2)
    play.end(run, Verdict.OK)
    for _ in range(SETTLE_TRIES):
        play.handle(events.NotSettled(play.one(actions.Settle).batch_id, "no answer"))
        play.wait(5)
    assert not play.take(actions.Settle)
    assert not play.machine.books.batches
    play.wait(10 * ACK_WAIT_SECONDS)
    block = play.arrive(1, redelivered=True)
    assert play.one(actions.Acknowledge).pieces == (Piece(block, 0, 1),)


def test_nothing_is_settled_without_a_link_and_everything_once_it_is_back() -> None:
    play, run = Play.running(1)
    play.end(run, Verdict.OK)
    for _ in range(3 * SETTLE_TRIES):
        play.handle(events.LinkLost(), events.NotSettled(play.one(actions.Settle).batch_id, "the link is away"))
        play.wait(60)
        assert not play.take(actions.Settle)
        play.handle(events.LinkBack())
    assert len(play.settle()) == 1


def test_messages_that_come_again_after_their_batch_was_settled_are_acknowledged() -> None:
    play, run = Play.running(1, 2, 3)
    play.end(run, Verdict.OK, rejected=(2,))
    play.settle()
    block = play.arrive(2, 3, redelivered=True)
    assert play.one(actions.Acknowledge).pieces == (Piece(block, 0, 2),)
    assert not play.held


def test_message_delivered_again_while_it_runs_or_waits_is_held_once() -> None:
    play, run = Play.running(1, 2, 3, in_flight=1)
    block = play.arrive(2, redelivered=True)
    assert play.one(actions.LetGo).pieces == (Piece(block, 0, 1),)
    play.arrive(4, 5)
    block = play.arrive(5, redelivered=True)
    assert play.one(actions.LetGo).pieces == (Piece(block, 0, 1),)
    play.end(run, Verdict.OK)
    assert play.one(actions.Settle).acknowledged == (Piece(1, 0, 3),)
    assert play.run().ranges == ((4, 5),)


def test_leases_are_renewed_before_two_thirds_of_the_ack_wait_until_the_settle() -> None:
    play, run = Play.running(1)
    for _ in range(9):
        play.wait(ACK_WAIT_SECONDS / 3)
    assert len(play.take(actions.Renew)) == 9
    play.end(run, Verdict.OK)
    play.wait(ACK_WAIT_SECONDS / 3)
    assert not play.take(actions.Renew)


def test_a_recreated_stream_receives_no_answers_for_the_former_one() -> None:
    play, _ = Play.running(1, 2)
    play.asked.clear()
    play.handle(events.Reborn("The stream is another one."))
    assert [type(action) for action in play.asked] == [actions.CancelRun, actions.LetGo, actions.Stop]
    assert play.one(actions.Stop).code
