"""What follows a run: the order in which things are published, written down and settled, and asking again."""

from penstock_worker.policy.machine import actions as wants
from penstock_worker.policy.machine import events as told
from penstock_worker.policy.machine.pieces import Piece
from penstock_worker.policy.machine.settling import SETTLE_TRIES
from penstock_worker.policy.outcome import Verdict
from tests.worker.machine.playing import ACK_WAIT_SECONDS, Play


def test_the_ledger_hears_of_a_batch_before_it_runs_and_before_it_is_settled_and_after() -> None:
    play = Play.ready()
    play.arrive(1, 2)
    assert not play.take(wants.HandOver)
    assert not play.one(wants.WriteLedger).entry.committed
    name = next(iter(play.machine.books.batches))
    play.tell(told.LedgerWritten(name))
    play.end(play.one(wants.HandOver), Verdict.OK)
    assert play.one(wants.WriteLedger).entry.committed
    assert not play.take(wants.Settle)
    play.tell(told.LedgerWritten(name))
    assert play.one(wants.Settle).acknowledged == (Piece(1, 0, 2),)
    assert not play.take(wants.DeleteLedger)
    play.tell(told.Settled(name))
    assert play.one(wants.DeleteLedger).batch_ids == (name,)


def test_a_message_is_terminated_only_once_its_dead_letter_is_published() -> None:
    play = Play.ready(ledger=False)
    play.arrive(1, 2, 3)
    play.end(play.run(), Verdict.OK, rejected=(2, 99))
    letters = play.one(wants.PublishLetters)
    assert [(letter.sequence, letter.reason, letter.fault) for letter in letters.letters] == [(2, "no", None)]
    assert not play.take(wants.Settle)
    play.tell(told.LettersFailed(letters.batch_id, "no answer"))
    assert not play.take(wants.Settle)
    play.wait(1)
    assert play.one(wants.PublishLetters) == letters
    play.tell(told.LettersPublished(letters.batch_id))
    settle = play.one(wants.Settle)
    assert settle.acknowledged == (Piece(1, 0, 1), Piece(1, 2, 3))
    assert settle.terminated == (wants.Terminated((Piece(1, 1, 2),), "no"),)


def test_what_a_run_wants_published_is_published_before_anything_is_settled() -> None:
    play = Play.ready(ledger=False)
    play.arrive(1)
    play.end(play.run(), Verdict.OK, outgoing=7)
    publish = play.one(wants.PublishOutgoing)
    assert (publish.run, publish.count) == (1, 7)
    assert not play.take(wants.Settle)
    play.tell(told.OutgoingPublished(publish.batch_id, 1))
    play.one(wants.Settle)


def test_a_batch_whose_outgoing_messages_went_with_the_driver_runs_again_under_its_id() -> None:
    play = Play.ready(ledger=False)
    play.arrive(1)
    first = play.run()
    play.end(first, Verdict.OK, outgoing=7)
    play.tell(told.DriverLost("killed"), told.OutgoingFailed(first.batch_id, 1, "killed", gone=True))
    play.tell(told.DriverReady("two"))
    again = play.run()
    assert (again.batch_id, again.run, again.attempt) == (first.batch_id, 2, 1)


def test_a_settle_that_is_not_confirmed_is_repeated_and_then_let_be() -> None:
    play = Play.ready(ledger=False)
    play.arrive(1, 2)
    play.end(play.run(), Verdict.OK)
    for _ in range(SETTLE_TRIES):
        play.tell(told.NotSettled(play.one(wants.Settle).batch_id, "no answer"))
        play.wait(5)
    assert not play.take(wants.Settle)
    assert not play.machine.books.batches
    play.wait(10 * ACK_WAIT_SECONDS)
    block = play.arrive(1, redelivered=True)
    assert play.one(wants.Acknowledge).pieces == (Piece(block, 0, 1),)


def test_while_the_link_is_away_nothing_is_asked_and_then_all_at_once() -> None:
    play = Play.ready(ledger=False)
    play.arrive(1)
    play.end(play.run(), Verdict.OK)
    for _ in range(3 * SETTLE_TRIES):
        play.tell(told.LinkLost(), told.NotSettled(play.one(wants.Settle).batch_id, "the link is away"))
        play.wait(60)
        assert not play.take(wants.Settle)
        play.tell(told.LinkBack())
    assert len(play.settle()) == 1


def test_a_copy_of_what_was_settled_a_moment_ago_is_answered_as_that_was() -> None:
    play = Play.ready(ledger=False)
    play.arrive(1, 2, 3)
    play.end(play.run(), Verdict.OK, rejected=(2,))
    play.settle()
    block = play.arrive(3, 2, redelivered=True)
    assert play.one(wants.Acknowledge).pieces == (Piece(block, 0, 1),)
    assert play.one(wants.Discard).pieces == (Piece(block, 1, 2),)
    assert not play.machine.books.blocks.messages


def test_a_newer_delivery_of_what_is_held_takes_the_place_of_the_former() -> None:
    play = Play.ready(ledger=False)
    play.arrive(1, 2, 3)
    run = play.run()
    play.arrive(2, redelivered=True)
    assert play.one(wants.LetGo).pieces == (Piece(1, 1, 2),)
    play.end(run, Verdict.OK)
    assert play.one(wants.Settle).acknowledged == (Piece(1, 0, 1), Piece(2, 0, 1), Piece(1, 2, 3))


def test_a_newer_delivery_of_what_waits_is_in_no_two_batches() -> None:
    play = Play.ready(ledger=False, in_flight=1)
    play.arrive(1)
    first = play.run()
    play.arrive(2, 3)
    play.arrive(3, redelivered=True)
    assert play.one(wants.LetGo).pieces == (Piece(2, 1, 2),)
    play.end(first, Verdict.OK)
    second = play.run()
    play.end(second, Verdict.OK)
    play.wait(1)
    assert (second.ranges, play.run().ranges) == (((2, 2),), ((3, 3),))


def test_leases_are_renewed_before_two_thirds_of_the_ack_wait_are_over_until_the_settle() -> None:
    play = Play.ready(ledger=False)
    play.arrive(1)
    run = play.run()
    for _ in range(9):
        play.wait(ACK_WAIT_SECONDS / 3)
    assert len(play.take(wants.Renew)) == 9
    play.end(run, Verdict.OK)
    play.wait(ACK_WAIT_SECONDS / 3)
    assert not play.take(wants.Renew)


def test_a_stream_that_is_made_anew_gets_no_answers_of_the_former() -> None:
    play = Play.ready(ledger=False)
    play.arrive(1, 2)
    play.run()
    play.asked.clear()
    play.tell(told.Reborn("The stream is another one."))
    assert [type(action) for action in play.asked] == [wants.CancelRun, wants.LetGo, wants.Stop]
    assert play.one(wants.Stop).code
