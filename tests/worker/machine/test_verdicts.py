"""What each verdict leads to."""

from collections import defaultdict

import pytest

from penstock_worker.policy.machine import actions as wants
from penstock_worker.policy.machine import events as told
from penstock_worker.policy.machine.actions import HoldReason, Note
from penstock_worker.policy.machine.ending import EXIT_CODE_STOPPED
from penstock_worker.policy.machine.losing import AWAY_SECONDS_MAX
from penstock_worker.policy.machine.pieces import Piece
from penstock_worker.policy.machine.splitting import CONDEMNED_MAX
from penstock_worker.policy.outcome import Fault, Outcome, Verdict
from tests.worker.machine.playing import SETTINGS, Play

DEADLINE = SETTINGS.batch.deadline_seconds


def notes(play: Play) -> list[Note]:
    return [report.note for report in play.take(wants.Report)]


def drive(play: Play, bad: set[int], verdict: Verdict = Verdict.DATA, runs: int = 300) -> int:
    """Run whatever wants to run; runs that hold a bad message end with the verdict. Return how many there were."""
    for number in range(runs):
        wanted = play.runs()
        if not wanted:
            play.settle()
            wanted = play.runs()
        if not wanted:
            return number
        for run in wanted:
            spoilt = any(first <= sequence <= last for first, last in run.ranges for sequence in bad)
            play.end(run, verdict if spoilt else Verdict.OK)
            if spoilt and verdict is Verdict.ENGINE_LOST:
                play.tell(told.DriverReady("anew"))
        play.settle()
    raise AssertionError("It does not come to an end.")


@pytest.mark.parametrize("bad", [{1}, {64}, {17, 18}, {1, 33, 64}])
def test_messages_that_cannot_be_processed_are_found_by_halves_and_the_rest_is_done(bad: set[int]) -> None:
    play = Play.ready()
    play.arrive(*range(1, 65))
    drive(play, bad)
    tally = play.machine.books.tally
    assert (tally.acked, tally.dead_lettered, tally.answered) == (64 - len(bad), len(bad), 64)
    assert not play.take(wants.Stop)


def test_one_bad_message_alone_is_put_aside_with_all_that_is_known_of_it() -> None:
    play = Play.ready()
    play.arrive(5)
    play.end(play.run(), Verdict.DATA)
    (letter,) = play.one(wants.PublishLetters).letters
    assert letter.sequence == 5
    assert letter.fault is not None
    assert letter.fault.type == "ValueError"


@pytest.mark.parametrize(("count", "bad"), [(20, set(range(1, 12))), (100, set(range(1, 100, 4))), (64, {*range(65)})])
def test_a_batch_that_is_bad_as_a_whole_stops_the_worker_and_leaves_no_dead_letters(count: int, bad: set[int]) -> None:
    play = Play.ready()
    play.arrive(*range(1, count + 1))
    drive(play, bad)
    assert play.one(wants.Stop).code == 3
    tally = play.machine.books.tally
    assert tally.dead_lettered == 0
    assert tally.answered == count


def test_too_many_bad_messages_in_a_row_stop_the_worker_though_each_came_alone() -> None:
    play = Play.ready()
    for sequence in range(1, CONDEMNED_MAX + 2):
        play.arrive(sequence)
        play.end(play.run(), Verdict.DATA)
        play.settle()
    assert play.one(wants.Stop).code == 3
    assert play.machine.books.tally.dead_lettered == CONDEMNED_MAX


def test_wrong_code_gives_everything_back_and_stops_loudly() -> None:
    play = Play.ready()
    play.arrive(*range(1, 251))
    first, second = play.runs()
    fault = Fault("AnalysisException", "no such column", place="job.py:7")
    play.tell(told.RunEnded(first.batch_id, 1, Outcome(Verdict.CODE, 0.1, fault=fault)))
    assert play.one(wants.CancelRun).batch_id == second.batch_id
    play.end(second, Verdict.CANCELLED)
    stop = play.one(wants.Stop)
    assert stop.code == 3
    assert "no such column" in stop.sentence
    assert "job.py:7" in stop.sentence
    assert play.machine.books.tally.given_back == 250
    assert not play.take(wants.PublishLetters)


def test_what_may_pass_is_tried_again_after_growing_waits_and_then_given_back_never_put_aside() -> None:
    play = Play.ready(in_flight=1)
    play.arrive(1, 2)
    name, attempts = "", []
    for wait in (1, 4, 16, 64, None):
        run = play.run()
        name = name or run.batch_id
        assert run.batch_id == name
        attempts.append(run.attempt)
        play.end(run, Verdict.TRANSIENT)
        if wait:
            play.now += wait - 0.01
            play.tell(told.Tick())
            assert not play.runs()
            play.wait(0.01)
    assert attempts == [1, 2, 3, 4, 5]
    assert play.one(wants.GiveBack).delay_seconds == SETTINGS.retry.max_delay_seconds
    assert not play.take(wants.PublishLetters)


def test_a_batch_that_was_given_back_keeps_its_id_when_its_messages_come_again() -> None:
    play = Play.ready(ledger=False, in_flight=1)
    play.arrive(1, 2, 3)
    first = play.run()
    play.tell(told.CancelBatch(first.batch_id))
    play.one(wants.CancelRun)
    play.end(first, Verdict.CANCELLED)
    play.arrive(2, 1, redelivered=True)
    assert not play.runs()
    play.arrive(3, redelivered=True)
    again = play.run()
    assert (again.batch_id, again.run) == (first.batch_id, 2)


def test_three_batches_in_a_row_open_the_circuit_and_one_that_passes_closes_it() -> None:
    play = Play.ready(in_flight=3)
    play.arrive(*range(1, 301))
    for run in play.runs():
        play.end(run, Verdict.TRANSIENT)
    assert Note.CIRCUIT_OPEN in notes(play)
    assert play.take(wants.HoldPull)[-1].reasons == (HoldReason.CIRCUIT,)
    play.wait(1)
    probe = play.run()
    play.wait(30)
    assert not play.runs()
    play.end(probe, Verdict.OK)
    assert Note.CIRCUIT_CLOSED in notes(play)
    assert len(play.runs()) == 2


def test_an_open_circuit_pulls_for_a_probe_if_nothing_is_held() -> None:
    play = Play.ready(in_flight=3)
    play.arrive(*range(1, 301))
    for run in play.runs():
        play.end(run, Verdict.TRANSIENT)
    for batch in list(play.machine.books.batches):
        play.tell(told.CancelBatch(batch))
    play.take(wants.ReleasePull)
    play.wait(2)
    play.one(wants.ReleasePull)


def test_losing_spark_runs_a_batch_again_under_its_id_and_is_no_attempt() -> None:
    play = Play.ready()
    play.arrive(1, 2)
    first = play.run()
    play.end(first, Verdict.ENGINE_LOST)
    assert not play.runs()
    play.one(wants.AwaitDriver)
    play.tell(told.DriverReady("two"))
    again = play.run()
    assert (again.batch_id, again.run, again.attempt) == (first.batch_id, 2, 1)


def test_an_outcome_that_comes_after_the_driver_was_given_up_changes_nothing() -> None:
    play = Play.ready()
    play.arrive(1, 2)
    first = play.run()
    play.tell(told.DriverLost("silent"), told.DriverReady("two"))
    again = play.run()
    play.end(first, Verdict.OK)
    assert not play.settle()
    play.end(again, Verdict.OK)
    assert len(play.settle()) == 1


def test_a_message_that_kills_spark_each_time_is_isolated_and_put_aside_while_the_rest_is_done() -> None:
    play = Play.ready()
    play.arrive(*range(1, 201))
    drive(play, {42}, Verdict.ENGINE_LOST)
    tally = play.machine.books.tally
    assert (tally.acked, tally.dead_lettered) == (199, 1)
    assert Note.SUSPECTED in notes(play)


def test_a_suspected_batch_runs_alone() -> None:
    play = Play.ready()
    play.arrive(*range(1, 101))
    for _ in range(3):
        play.end(play.run(), Verdict.ENGINE_LOST)
        play.tell(told.DriverReady("anew"))
    play.arrive(*range(101, 201))
    alone = play.run()
    assert alone.ranges == ((1, 100),)
    play.end(alone, Verdict.OK)
    assert play.run().ranges == ((101, 200),)


def test_a_deadline_is_tried_again_like_what_may_pass() -> None:
    play = Play.ready()
    play.arrive(1)
    play.end(play.run(), Verdict.DEADLINE)
    play.wait(1)
    assert play.run().attempt == 2


def test_a_run_that_does_not_end_is_cancelled_and_then_its_driver_abandoned() -> None:
    play = Play.ready()
    play.arrive(1)
    run = play.run()
    play.wait(DEADLINE + 5)
    assert play.one(wants.CancelRun).run == run.run
    play.wait(35)
    play.one(wants.AbandonDriver)
    play.tell(told.DriverLost("abandoned"), told.DriverReady("two"))
    assert play.run().batch_id == run.batch_id


def test_a_driver_that_will_never_be_ready_stops_the_worker() -> None:
    play = Play(SETTINGS)
    play.tell(told.Started(), told.LedgerRead(()), told.DriverUnusable("job.py cannot be imported"))
    stop = play.one(wants.Stop)
    assert (stop.code, stop.sentence) == (EXIT_CODE_STOPPED, "job.py cannot be imported")


def test_what_waits_goes_on_while_a_batch_is_cut_to_pieces() -> None:
    play = Play.ready()
    play.arrive(*range(1, 101))
    play.arrive(*range(101, 201))
    done: defaultdict[bool, int] = defaultdict(int)
    while wanted := play.runs():
        for run in wanted:
            spoilt = run.ranges[0][0] <= 50 <= run.ranges[-1][1]
            play.end(run, Verdict.DATA if spoilt else Verdict.OK)
            done[spoilt] += 1
        play.settle()
    assert play.machine.books.tally.acked == 199


def test_a_condemned_message_is_put_aside_though_another_part_of_its_batch_was_let_go() -> None:
    play = Play.ready(ledger=False, in_flight=1)
    play.arrive(1, 2)
    play.end(play.run(), Verdict.DATA)
    play.end(play.run(), Verdict.DATA)
    play.end(play.run(), Verdict.ENGINE_LOST)
    assert not play.take(wants.PublishLetters)
    play.tell(told.CancelBatch(next(name for name in play.machine.books.batches if ".2-2." in name)))
    assert [letter.sequence for letter in play.one(wants.PublishLetters).letters] == [1]


def test_what_waits_for_a_driver_that_stays_away_is_given_back_to_workers_that_have_one() -> None:
    play = Play.ready(in_flight=1)
    play.arrive(*range(1, 151))
    lost = play.run()
    play.end(lost, Verdict.ENGINE_LOST)
    play.wait(AWAY_SECONDS_MAX - 1)
    assert not play.take(wants.GiveBack)
    play.wait(1)
    assert play.one(wants.GiveBack).pieces == (Piece(1, 100, 150),)
    play.tell(told.DriverReady("two"))
    assert play.run().batch_id == lost.batch_id
