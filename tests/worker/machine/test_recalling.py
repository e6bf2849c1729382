"""Redelivered messages find their former batch again, in memory or in the ledger."""

from dataclasses import replace

import pytest

from penstock_worker.policy.identity import batch_id
from penstock_worker.policy.ledger import Entry, Part, encode
from penstock_worker.policy.machine import actions, events
from penstock_worker.policy.machine.actions import HoldReason, Note
from penstock_worker.policy.machine.arriving import NOTICE_SECONDS
from penstock_worker.policy.machine.losing import SUSPECTED_FROM
from penstock_worker.policy.machine.pieces import Piece
from penstock_worker.policy.machine.recall import FIRST_PASSING_SECONDS, KEPT_ACK_WAITS, READING_PAUSE
from penstock_worker.policy.outcome import Verdict
from penstock_worker.policy.ranges import Range
from tests.worker.machine.playing import ACK_WAIT_SECONDS, SETTINGS, TICK_SECONDS, Play


def entry(*ranges: Range, committed: bool = False, losses: int = 0, attempts: int = 0) -> Entry:
    newest = ranges[-1][1]
    return Entry(
        batch_id=batch_id("S", "c", ranges, newest=newest, life=""),
        ranges=ranges,
        newest=newest,
        oldest=ranges[0][0],
        worker="gone",
        committed=committed,
        losses=losses,
        attempts=attempts,
    )


def test_a_batch_whose_engine_died_runs_again_under_its_id_once_all_its_messages_are_redelivered() -> None:
    open_entry = replace(entry((3, 4), (7, 7), attempts=2), batch_id="S.c.3-7.of-another-version")
    play = Play.ready(open_entry)
    play.redeliver(4, 7)
    play.wait(SETTINGS.batch.max_wait_seconds)
    assert not play.runs()
    play.redeliver(3)
    run = play.run()
    assert (run.batch_id, run.ranges, run.attempt) == (open_entry.batch_id, open_entry.ranges, 3)
    assert Note.ADOPTED in play.notes()


def test_batches_that_lose_their_id_name_those_that_they_were_part_of(subtests: pytest.Subtests) -> None:
    """A sink may have taken them under the former ids."""
    half = replace(entry((1, 4)), ancestors=("S.c.1-8.former",))
    lineage = (half.batch_id, *half.ancestors)
    with subtests.test("halved"):
        play, run = Play.running(1, 2, 3, 4, ledger=True)
        play.end(run, Verdict.DATA)
        half_run = play.runs()[0]
        assert half_run.ancestors == (run.batch_id,)
        play.end(half_run, Verdict.DATA)
        assert {each.ancestors for each in play.runs()} == {(half_run.batch_id, run.batch_id)}
    for name, came, expected in (("adopted", (1, 2, 3, 4), half.ancestors), ("replaced", (1, 3), lineage)):
        with subtests.test(name):
            play = Play.ready(half)
            play.redeliver(*came)
            play.wait(4 * ACK_WAIT_SECONDS)
            assert play.run().ancestors == expected


def test_a_batch_whose_rejections_are_in_the_ledger_is_not_run_again(subtests: pytest.Subtests) -> None:
    """Its sink has it without them; another run might reject others."""
    for name, came, dead in (("all came", (1, 2, 3), [2, 3]), ("some", (1, 3), [3]), ("none rejected", (1,), [])):
        with subtests.test(name):
            play = Play.ready(replace(entry((1, 3)), rejected=((2, 3),)))
            play.redeliver(*came)
            play.wait(4 * ACK_WAIT_SECONDS)
            play.write_ledger()
            asked = [each for each in play.asked if isinstance(each, actions.PublishLetters)]
            assert [letter.sequence for each in asked for letter in each.letters] == dead
            (settled,) = play.settle()
            assert sum(map(len, settled.acknowledged)) == len(came) - len(dead)
            assert not play.runs()


def test_the_messages_of_a_committed_batch_are_only_acknowledged() -> None:
    committed = entry((1, 10), committed=True)
    play = Play.ready(committed)
    block = play.redeliver(2, 9)
    assert play.one(actions.Acknowledge).pieces == (Piece(block, 0, 2),)
    play.wait(SETTINGS.batch.max_wait_seconds)
    assert not play.runs()


def test_if_some_messages_are_not_redelivered_the_others_run_under_a_new_id_that_the_former_entry_names() -> None:
    open_entry = entry((1, 3))
    play = Play.ready(open_entry)
    play.redeliver(1, 3)
    play.wait(2 * ACK_WAIT_SECONDS)
    assert not play.runs()
    play.wait(2 * ACK_WAIT_SECONDS)
    (written,) = [action.entry for action in play.asked if isinstance(action, actions.WriteLedger)]
    run = play.run()
    assert run.ranges == ((1, 1), (3, 3))
    assert written.parts == (Part(run.batch_id, run.ranges),)
    assert written.batch_id == open_entry.batch_id != run.batch_id
    assert Note.REPLACED in play.notes()


def test_messages_are_handed_back_for_the_worker_that_has_the_first_message_of_their_batch() -> None:
    """So another worker collects the batch of a worker that was killed, under its id."""
    open_entry = entry((1, 3))
    play = Play.ready(open_entry)
    block = play.redeliver(2, 3)
    play.wait(FIRST_PASSING_SECONDS + TICK_SECONDS)
    assert play.one(actions.GiveBack).pieces == (Piece(block, 0, 2),)
    play.redeliver(1, 2, 3)
    assert play.run().batch_id == open_entry.batch_id


def test_messages_that_are_handed_back_and_return_each_time_run_in_the_end() -> None:
    play = Play.ready(entry((1, 3)))
    for _ in range(100):
        play.redeliver(3)
        play.wait(TICK_SECONDS)
        if not play.take(actions.GiveBack):
            break
    play.wait(2 * ACK_WAIT_SECONDS)
    assert play.run().ranges == ((3, 3),)


def test_the_ledger_is_read_again_for_batches_opened_since() -> None:
    play = Play.ready()
    since = entry((5, 6))
    play.ledger = (since,)
    play.redeliver(5, 6)
    assert play.run().batch_id == since.batch_id


def test_messages_that_come_while_the_ledger_is_read_wait_for_the_next_reading() -> None:
    """Another worker may have opened their batch, and given it back, since that reading began."""
    since = entry((5, 6))
    play = Play.ready()
    play.arrive(3, redelivered=True)
    play.one(actions.ReadLedger)
    play.arrive(5, 6, redelivered=True)
    play.handle(events.LedgerRead(()))
    play.handle(events.LedgerRead((since,)))
    assert since.batch_id in [run.batch_id for run in play.runs()]


def test_a_slow_ledger_is_read_less_often() -> None:
    play = Play.ready()
    play.arrive(3, redelivered=True)
    play.now += 1
    play.read_ledger()
    play.arrive(5, redelivered=True)
    play.skip(READING_PAUSE - 0.1)
    assert not play.take(actions.ReadLedger)
    play.skip(0.1)
    play.one(actions.ReadLedger)


def test_batch_whose_entry_would_be_too_large_becomes_several() -> None:
    """Of messages that several workers get in turn, and where some of a large batch do not come again."""
    scattered = tuple((sequence, sequence) for sequence in range(1, 2_000, 20))
    lost = entry((1, 2_000))
    for entries, is_redelivered in (((), False), ((lost,), True)):
        play = Play(SETTINGS, entry_bytes=1_200)
        play.ledger = entries
        play.handle(events.Started(), events.DriverReady("one"))
        play.read_ledger()
        play.arrive(*(sequence for sequence, _ in scattered), redelivered=is_redelivered)
        if is_redelivered:
            play.read_ledger()
            play.wait(4 * ACK_WAIT_SECONDS)
            play.handle(events.LedgerWritten(play.one(actions.WriteLedger).entry.batch_id))
        written = [action.entry for action in play.take(actions.WriteLedger)]
        assert len(written) > 1
        assert sorted(one for each in written for one in each.ranges) == [*scattered]
        assert all(len(encode(each, incarnation="")) < 1_200 for each in written)


def test_while_the_ledger_cannot_be_read_nothing_is_pulled_and_redelivered_messages_wait() -> None:
    starting = Play(SETTINGS)
    starting.handle(events.Started(), events.DriverReady("one"))
    later = Play.ready()
    later.arrive(5, redelivered=True)
    for play in (starting, later):
        assert play.take(actions.ReadLedger)
        play.handle(events.LedgerUnread("no answer"))
        play.skip(5)
        assert not play.runs()
        assert play is later or not play.take(actions.ReleasePull)
        play.one(actions.ReadLedger)
        play.handle(events.LedgerRead(()))
    starting.one(actions.ReleasePull)
    assert later.run().ranges == ((5, 5),)


def test_a_message_redelivered_twice_while_its_batch_is_recalled_is_held_once() -> None:
    play = Play.ready(entry((1, 3)))
    play.redeliver(1, 2)
    again = play.arrive(2, redelivered=True)
    assert play.one(actions.LetGo).pieces == (Piece(again, 0, 1),)
    play.redeliver(3)
    assert play.run().ranges == ((1, 3),)


def test_a_batch_that_was_open_each_time_its_worker_died_is_suspected() -> None:
    play = Play.ready(entry((1, 2), losses=SUSPECTED_FROM - 1))
    play.redeliver(1, 2)
    assert Note.SUSPECTED in play.notes()
    play.arrive(3)
    alone = play.run()
    assert alone.ranges == ((1, 2),)
    play.end(alone, Verdict.ENGINE_LOST)
    play.handle(events.DriverReady("two"))
    assert play.run().count == 1


def test_an_entry_whose_messages_are_all_acknowledged_is_deleted() -> None:
    old, young = entry((1, 3)), entry((5, 9))
    play = Play.ready(old, young)
    for _ in range(2):
        assert not play.take(actions.DeleteLedger)
        play.handle(events.Counted(pending=0, ack_pending=5, ack_floor=4, is_asked_for=True))
        play.wait(KEPT_ACK_WAITS * ACK_WAIT_SECONDS / 2)
    assert play.one(actions.DeleteLedger).batch_ids == (old.batch_id,)


def test_after_a_long_sleep_waiting_messages_are_dropped_and_the_run_continues() -> None:
    play, run = Play.running(1, 2, in_flight=1)
    play.arrive(3, 4)
    play.skip(ACK_WAIT_SECONDS * 2)
    assert play.one(actions.LetGo).pieces == (Piece(2, 0, 2),)
    play.end(run, Verdict.OK)
    assert len(play.settle()) == 1


def test_messages_find_their_former_batch_though_the_server_forgot_that_it_delivered_them() -> None:
    open_entry = entry((1, 3))
    play = Play.ready(open_entry)
    play.arrive(1, 2, 3, 4)
    play.handle(events.LedgerRead((open_entry,)))
    assert play.run().batch_id == open_entry.batch_id


def test_another_message_stored_under_a_finished_sequence_is_processed() -> None:
    """A server that crashed has forgotten its newest messages, and gives their sequences to others.

    Its clock may be behind what it was before, as another server's may that is the leader since.
    """
    for later in (100, -100):
        play, run = Play.running(1, 2, 3, ledger=True)
        play.finish(run)
        play.arrive(3, later=later)
        play.handle(events.LedgerRead(()))
        play.wait(SETTINGS.batch.max_wait_seconds)
        assert play.run().ranges == ((3, 3),)


def test_another_message_stored_under_a_committed_sequence_is_processed_under_another_id() -> None:
    committed = entry((1, 3), committed=True)
    for later in (100, -100):
        play = Play.ready(committed)
        play.arrive(1, 2, 3, later=later)
        play.handle(events.LedgerRead((committed,)))
        play.wait(SETTINGS.batch.max_wait_seconds)
        run = play.run()
        assert run.ranges == committed.ranges
        assert run.batch_id != committed.batch_id


def test_messages_find_their_batch_though_the_clock_was_set_back_while_they_were_stored() -> None:
    play, before = Play.running(1, in_flight=1)
    play.arrive(2, 3, later=100)
    play.arrive(4, 5)
    play.end(before, Verdict.OK)
    first = play.run()
    play.handle(events.CancelBatch(first.batch_id))
    play.end(first, Verdict.CANCELLED)
    play.arrive(2, 3, later=100, redelivered=True)
    play.arrive(4, 5, redelivered=True)
    assert play.run().batch_id == first.batch_id


def test_an_engine_stops_if_it_holds_messages_that_the_stream_has_lost() -> None:
    """An answer would settle the message that has the sequence now: one redelivered before, or fresh to the server."""
    fresh, _ = Play.running(1, 2, 3, ledger=True)
    redelivered = Play.ready()
    redelivered.redeliver(3)
    redelivered.wait(SETTINGS.batch.max_wait_seconds)
    redelivered.run()
    for play in (fresh, redelivered):
        play.arrive(3, later=100)
        assert play.one(actions.Stop).code == 1
        assert not play.take(actions.Settle)


def test_a_batch_that_another_worker_commits_while_it_is_gathered_here_is_acknowledged() -> None:
    play = Play.ready(entry((1, 3)))
    play.redeliver(1, 2)
    play.ledger = (entry((1, 3), committed=True),)
    play.wait(ACK_WAIT_SECONDS)
    assert sum(map(len, play.one(actions.Acknowledge).pieces)) == 2
    assert not play.held


def test_patience_with_a_former_batch_does_not_run_while_nothing_is_pulled() -> None:
    play = Play.ready(entry((1, 3)))
    play.redeliver(1, 2)
    play.handle(events.Pause())
    play.wait(10 * ACK_WAIT_SECONDS)
    play.handle(events.Resume())
    play.redeliver(3)
    assert play.run().ranges == ((1, 3),)


# A server that has changed


def test_after_the_server_changed_messages_that_belong_to_no_batch_yet_are_dropped() -> None:
    play, run = Play.running(1, 2, ledger=True, in_flight=1)
    play.arrive(3, 4)
    play.handle(events.ServerChanged())
    assert play.one(actions.LetGo).pieces == (Piece(2, 0, 2),), "others may have them by now"
    play.end(run, Verdict.OK)
    assert len(play.settle()) == 1


def test_after_the_server_changed_nothing_is_pulled_until_the_ledger_has_been_read_again() -> None:
    play = Play.ready()
    play.handle(events.ServerChanged())
    assert play.take(actions.HoldPull)[-1].reasons == (HoldReason.STARTING,)
    play.arrive(1, 2)
    assert play.one(actions.LetGo).pieces, (
        "the server that sent them is gone, and the other one may send them to others"
    )
    assert not play.take(actions.ReadLedger), "other workers may not have noticed yet"
    play.ledger = (entry((1, 3)),)
    play.wait(NOTICE_SECONDS)
    assert play.take(actions.ReleasePull)
    play.redeliver(1, 2, 3)
    assert play.run().ranges == ((1, 3),), "another worker has opened a batch of what the server forgot it delivered"


def test_a_ledger_that_was_read_before_the_server_changed_does_not_count() -> None:
    play = Play.ready(entry((1, 3)))
    play.arrive(1, redelivered=True)
    play.handle(events.ServerChanged(), events.LedgerRead(()))
    play.wait(1)
    assert not play.runs()
    assert HoldReason.STARTING in play.take(actions.HoldPull)[-1].reasons
