"""Leaving the work to others: a worker that is retired, or whose driver ends, holds nothing but what runs."""

from penstock_worker.policy.machine import actions as wants
from penstock_worker.policy.machine import events as told
from penstock_worker.policy.machine.actions import HoldReason
from penstock_worker.policy.outcome import Verdict
from tests.worker.machine.playing import SETTINGS, Play


def given_back(play: Play) -> list[tuple[int, float]]:
    """Take what is given back: how many messages, after which delay."""
    return [(sum(map(len, each.pieces)), each.delay_seconds) for each in play.take(wants.GiveBack)]


def at_work() -> tuple[Play, wants.HandOver]:
    """Return a machine with a batch that runs, and another that is being collected."""
    play = Play.ready()
    play.arrive(1)
    run = play.run()
    play.arrive(2, 3)
    return play, run


def held(play: Play) -> int:
    return play.machine.books.blocks.messages


def test_a_worker_that_is_retired_gives_back_what_it_collected_and_finishes_what_runs() -> None:
    play, run = at_work()
    play.tell(told.Retire())
    assert play.take(wants.HoldPull)[-1].reasons == (HoldReason.RETIRING,)
    assert given_back(play) == [(2, 0)]
    play.end(run, Verdict.OK)
    (settled,) = play.settle()
    assert settled.batch_id == run.batch_id
    assert (held(play), play.take(wants.Stop)) == (0, [])


def test_who_leaves_asks_for_no_more_before_it_gives_anything_back() -> None:
    """Else the server sends it here again, for a request that is open still, and each time counts as a delivery."""
    for leaving in (told.Retire(), told.Terminate(grace_seconds=20.0)):
        play, _ = at_work()
        play.take(wants.HoldPull)
        play.tell(leaving)
        order = [type(each) for each in play.asked if isinstance(each, wants.HoldPull | wants.GiveBack)]
        assert order[:2] == [wants.HoldPull, wants.GiveBack]


def test_what_arrives_at_a_retired_worker_all_the_same_goes_back_at_once() -> None:
    play = Play.ready()
    play.tell(told.Retire())
    play.arrive(1, 2)
    play.arrive(1, redelivered=True)
    assert given_back(play) == [(2, 0), (1, 0)]
    assert held(play) == 0


def test_a_batch_that_waits_to_run_again_is_given_back_by_a_retired_worker() -> None:
    play = Play.ready()
    play.arrive(1)
    play.end(play.run(), Verdict.TRANSIENT)
    play.tell(told.Retire())
    assert given_back(play) == [(1, 0)]


def test_a_run_that_fails_in_a_retired_worker_is_given_back_for_others_to_try() -> None:
    for verdict in (Verdict.DATA, Verdict.TRANSIENT, Verdict.ENGINE_LOST):
        play, run = at_work()
        play.tell(told.Retire())
        play.take(wants.GiveBack)
        play.end(run, verdict)
        assert given_back(play) == [(1, 0)]
        assert (held(play), play.runs(), play.take(wants.PublishLetters)) == (0, [], [])


def test_a_worker_that_is_reinstated_pulls_and_runs_again() -> None:
    play, run = at_work()
    play.tell(told.Retire())
    play.end(run, Verdict.OK)
    play.settle()
    play.take(wants.ReleasePull)
    play.tell(told.Reinstate())
    play.one(wants.ReleasePull)
    play.arrive(2, 3, redelivered=True)
    play.tell(told.LedgerRead(()))
    play.wait(SETTINGS.batch.max_wait_seconds)
    assert play.run().ranges == ((2, 3),)


def test_to_retire_twice_and_to_reinstate_twice_is_to_do_so_once() -> None:
    play = Play.ready()
    play.tell(told.Retire(), told.Retire())
    assert not play.take(wants.ReleasePull)
    play.take(wants.HoldPull)
    play.tell(told.Reinstate(), told.Reinstate())
    assert not play.take(wants.HoldPull)
    assert play.take(wants.ReleasePull)


def test_what_is_collected_is_given_back_at_once_when_the_driver_ends() -> None:
    play, run = at_work()
    play.tell(told.DriverEnding())
    assert play.take(wants.HoldPull)[-1].reasons == (HoldReason.DRIVER,)
    assert given_back(play) == [(2, 0)]
    play.end(run, Verdict.OK)
    play.settle()
    play.tell(told.DriverLost("It is gone."))
    play.arrive(2, redelivered=True)
    assert given_back(play) == [(1, 0)]


def test_a_run_is_cancelled_and_given_back_before_an_ending_drivers_time_is_over() -> None:
    play, run = at_work()
    play.tell(told.DriverEnding())
    play.take(wants.GiveBack)
    play.wait(SETTINGS.grace_seconds - 6)
    assert not play.take(wants.CancelRun)
    play.wait(2)
    assert play.one(wants.CancelRun) == wants.CancelRun(run.batch_id, run.run)
    play.end(run, Verdict.CANCELLED)
    assert given_back(play) == [(1, 0)]


def test_what_an_ending_driver_had_when_it_died_is_given_back() -> None:
    play, _ = at_work()
    play.tell(told.DriverEnding())
    play.take(wants.GiveBack)
    play.tell(told.DriverLost("It was killed."))
    assert given_back(play) == [(1, 0)]
    assert held(play) == 0


def test_another_driver_after_one_that_ended_is_worked_with() -> None:
    play, run = at_work()
    play.tell(told.DriverEnding())
    play.end(run, Verdict.OK)
    play.settle()
    play.take(wants.ReleasePull)
    play.tell(told.DriverLost("It is gone."), told.DriverReady("two"))
    play.one(wants.ReleasePull)
    play.arrive(4)
    assert play.run().ranges == ((4, 4),)


def test_an_engine_whose_driver_has_ended_has_nothing_left_to_do_when_it_is_told_to_end() -> None:
    play, run = at_work()
    play.tell(told.DriverEnding())
    play.end(run, Verdict.OK)
    play.settle()
    play.tell(told.DriverLost("It is gone."), told.Terminate(25))
    assert play.one(wants.Stop).code == 0
