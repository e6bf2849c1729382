"""What the machine does after each verdict."""

import pytest

from penstock_worker.policy.machine import actions, events
from penstock_worker.policy.machine.actions import HoldReason, Note
from penstock_worker.policy.machine.losing import AWAY_SECONDS_MAX
from penstock_worker.policy.machine.pieces import Piece
from penstock_worker.policy.machine.splitting import CONDEMNED_MAX
from penstock_worker.policy.outcome import Fault, Outcome, Verdict
from tests.worker.machine.playing import SETTINGS, Play

ROUNDS_MAX = 300


def drive(play: Play, bad: set[int], verdict: Verdict = Verdict.DATA) -> None:
    """Run everything; runs with a bad message end with the verdict."""
    for _ in range(ROUNDS_MAX):
        wanted = play.runs()
        if not wanted:
            return
        for run in wanted:
            spoilt = any(first <= sequence <= last for first, last in run.ranges for sequence in bad)
            play.end(run, verdict if spoilt else Verdict.OK)
            if spoilt and verdict is Verdict.ENGINE_LOST:
                play.handle(events.DriverReady("new"))
        play.settle()
    raise AssertionError("It does not come to an end.")


def test_bad_messages_are_found_by_halves_and_the_rest_is_done(subtests: pytest.Subtests) -> None:
    for bad in ({1}, {64}, {17, 18}, {1, 33, 64}):
        with subtests.test(f"{bad}"):
            play = Play.ready()
            play.arrive(*range(1, 65))
            drive(play, bad)
            tally = play.machine.books.tally
            assert (tally.acked, tally.dead_lettered, tally.answered) == (64 - len(bad), len(bad), 64)
            assert not play.take(actions.Stop)


def test_a_batch_that_is_bad_as_a_whole_stops_the_worker_without_dead_letters(subtests: pytest.Subtests) -> None:
    for count, bad in ((20, set(range(1, 12))), (100, set(range(1, 100, 4))), (64, {*range(65)})):
        with subtests.test(f"{len(bad)} of {count}"):
            play = Play.ready()
            play.arrive(*range(1, count + 1))
            drive(play, bad)
            assert play.one(actions.Stop).code == 3
            tally = play.machine.books.tally
            assert tally.dead_lettered == 0
            assert tally.answered == count


def test_too_many_bad_messages_in_a_row_stop_the_worker_though_each_came_alone() -> None:
    play = Play.ready()
    for sequence in range(1, CONDEMNED_MAX + 2):
        play.arrive(sequence)
        play.end(play.run(), Verdict.DATA)
        play.settle()
    assert play.one(actions.Stop).code == 3
    assert play.machine.books.tally.dead_lettered == CONDEMNED_MAX


def test_wrong_code_gives_everything_back_and_stops_with_the_fault() -> None:
    play = Play.ready()
    play.arrive(*range(1, 251))
    first, second = play.runs()
    fault = Fault("AnalysisException", "a page", sentence="job.py:7: AnalysisException: no such column.")
    play.handle(events.RunEnded(first.batch_id, 1, Outcome(Verdict.CODE, 0.1, fault=fault)))
    assert play.one(actions.CancelRun).batch_id == second.batch_id
    play.end(second, Verdict.CANCELLED)
    stop = play.one(actions.Stop)
    assert stop.code == 3
    assert stop.sentence.startswith("job.py:7: AnalysisException: no such column. ")
    assert play.machine.books.tally.given_back == 250
    assert not play.take(actions.PublishLetters)


def fail(play: Play, run: actions.HandOver, verdict: Verdict = Verdict.TRANSIENT) -> None:
    """End a run with a failure, and let as much time pass as a retry takes at most."""
    play.end(run, verdict)
    play.wait(SETTINGS.retry.max_delay_seconds)


def test_transient_errors_and_deadlines_are_retried_after_growing_waits() -> None:
    play = Play.ready(in_flight=1)
    play.arrive(1, 2)
    name, attempts = "", []
    for wait in (1, 4, 16, 64, None):
        run = play.run()
        name = name or run.batch_id
        assert run.batch_id == name
        attempts.append(run.attempt)
        play.end(run, Verdict.DEADLINE if wait == 1 else Verdict.TRANSIENT)
        if wait:
            play.now += wait - 0.01
            play.handle(events.Tick())
            assert not play.runs()
            play.wait(0.01)
    assert attempts == [1, 2, 3, 4, 5]
    assert Note.SPLIT in play.notes()


def test_a_message_that_fails_as_often_as_it_may_be_tried_is_dead_lettered_and_the_rest_is_done() -> None:
    for verdict in (Verdict.DEADLINE, Verdict.TRANSIENT):
        play = Play.ready(in_flight=1)
        play.arrive(*range(1, 65))
        runs = 0
        while play.held:
            run = play.run()
            runs += 1
            is_bad = run.ranges[0][0] <= 42 <= run.ranges[-1][1]
            fail(play, run, verdict if is_bad else Verdict.OK)
            play.settle()
        tally = play.machine.books.tally
        assert (tally.acked, tally.dead_lettered) == (63, 1)
        assert runs == SETTINGS.retry.max_attempts + 2 * 6


def test_in_an_outage_nothing_is_dead_lettered_and_a_single_message_is_given_back() -> None:
    play = Play.ready(in_flight=4, max_messages=1)
    play.arrive(1, 2, 3, 4)
    while play.held:
        for run in play.runs():
            play.end(run, Verdict.TRANSIENT)
        play.wait(1)
    assert Note.CIRCUIT_OPEN in play.notes()
    assert not play.take(actions.PublishLetters)
    assert play.given_back() == [(1, SETTINGS.retry.max_delay_seconds)] * 4


def test_a_large_batch_is_halved_in_an_outage_too_as_parts_of_it_may_be_well() -> None:
    play = Play.ready(in_flight=4, max_messages=10)
    play.arrive(*range(1, 41))
    while play.held:
        for run in play.runs():
            play.end(run, Verdict.OK if run.count < 10 else Verdict.DEADLINE)
            play.settle()
        play.wait(1)
    assert play.machine.books.tally.acked == 40
    assert Note.CIRCUIT_CLOSED in play.notes()


def test_attempts_outlive_the_engine_in_the_ledger() -> None:
    play = Play.ready(in_flight=1)
    play.arrive(1)
    entries = []
    for _ in range(1, SETTINGS.retry.max_attempts):
        fail(play, play.run())
        entries.append(play.one(actions.WriteLedger).entry)
        play.handle(events.LedgerWritten(entries[-1].batch_id))
    assert [entry.attempts for entry in entries] == [1, 2, 3, 4]
    successor = Play.ready(entries[-1], in_flight=1)
    successor.redeliver(1)
    again = successor.run()
    assert (again.batch_id, again.attempt) == (entries[-1].batch_id, SETTINGS.retry.max_attempts)
    successor.end(again, Verdict.TRANSIENT)
    assert len(successor.one(actions.PublishLetters).letters) == 1


def test_a_batch_that_was_given_back_keeps_its_id_when_its_messages_are_redelivered() -> None:
    play, first = Play.running(1, 2, 3, in_flight=1)
    play.handle(events.CancelBatch(first.batch_id))
    play.one(actions.CancelRun)
    play.end(first, Verdict.CANCELLED)
    play.arrive(1, 2, redelivered=True)
    assert not play.runs()
    play.arrive(3, redelivered=True)
    again = play.run()
    assert (again.batch_id, again.run) == (first.batch_id, 2)


def test_failed_batches_open_the_circuit_which_pulls_for_a_probe_and_one_that_succeeds_closes_it() -> None:
    holding, empty = Play.ready(in_flight=3), Play.ready(in_flight=3)
    for play in (holding, empty):
        play.arrive(*range(1, 301))
        for run in play.runs():
            play.end(run, Verdict.TRANSIENT)
        assert Note.CIRCUIT_OPEN in play.notes()
        assert play.take(actions.HoldPull)[-1].reasons == (HoldReason.CIRCUIT,)
    for batch in list(empty.machine.books.batches):
        empty.handle(events.CancelBatch(batch))
    empty.take(actions.ReleasePull)
    empty.wait(2)
    empty.one(actions.ReleasePull)
    holding.wait(1)
    probe = holding.run()
    holding.wait(30)
    assert not holding.runs()
    holding.end(probe, Verdict.OK)
    assert Note.CIRCUIT_CLOSED in holding.notes()
    assert len(holding.runs()) == 2


def test_an_outcome_that_arrives_after_the_driver_was_given_up_changes_nothing() -> None:
    play, first = Play.running(1, 2, ledger=True)
    play.handle(events.DriverLost("silent"), events.DriverReady("two"))
    again = play.run()
    play.end(first, Verdict.OK)
    assert not play.settle()
    play.end(again, Verdict.OK)
    assert len(play.settle()) == 1


def test_a_message_that_kills_spark_each_time_is_isolated_and_dead_lettered_while_the_rest_is_done() -> None:
    play = Play.ready()
    play.arrive(*range(1, 201))
    drive(play, {42}, Verdict.ENGINE_LOST)
    tally = play.machine.books.tally
    assert (tally.acked, tally.dead_lettered) == (199, 1)
    assert Note.SUSPECTED in play.notes()


def test_a_suspected_batch_runs_alone() -> None:
    play = Play.ready()
    play.arrive(*range(1, 101))
    for _ in range(3):
        play.end(play.run(), Verdict.ENGINE_LOST)
        play.handle(events.DriverReady("new"))
    play.arrive(*range(101, 201))
    alone = play.run()
    assert alone.ranges == ((1, 100),)
    play.end(alone, Verdict.OK)
    assert play.run().ranges == ((101, 200),)


def test_a_run_that_does_not_end_is_cancelled_and_then_its_driver_is_given_up() -> None:
    play, run = Play.running(1, ledger=True)
    play.wait(SETTINGS.batch.deadline_seconds + 5)
    assert play.one(actions.CancelRun).run == run.run
    play.wait(35)
    play.one(actions.AbandonDriver)
    play.handle(events.DriverLost("abandoned"), events.DriverReady("two"))
    assert play.run().batch_id == run.batch_id


def test_a_condemned_message_is_dead_lettered_though_another_part_of_its_batch_was_cancelled() -> None:
    play = Play.ready(ledger=False, in_flight=1)
    play.arrive(1, 2)
    for verdict in (Verdict.DATA, Verdict.DATA, Verdict.ENGINE_LOST):
        play.end(play.run(), verdict)
    assert not play.take(actions.PublishLetters)
    play.handle(events.CancelBatch(next(name for name in play.machine.books.batches if ".2-2." in name)))
    assert [letter.sequence for letter in play.one(actions.PublishLetters).letters] == [1]


def test_a_batch_that_lost_spark_runs_again_and_messages_that_wait_too_long_for_the_driver_are_given_back() -> None:
    play = Play.ready(in_flight=1)
    play.arrive(*range(1, 151))
    lost = play.run()
    play.end(lost, Verdict.ENGINE_LOST)
    assert not play.runs()
    play.one(actions.AwaitDriver)
    play.wait(AWAY_SECONDS_MAX - 1)
    assert not play.take(actions.GiveBack)
    play.wait(1)
    assert play.one(actions.GiveBack).pieces == (Piece(1, 100, 150),)
    play.handle(events.DriverReady("two"))
    again = play.run()
    assert (again.batch_id, again.run, again.attempt) == (lost.batch_id, 2, 1)
