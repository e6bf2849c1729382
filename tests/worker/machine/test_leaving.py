"""A worker that is retired, or whose driver ends, keeps only the batches that run and gives back the rest."""

from penstock_worker.policy.machine import actions, events
from penstock_worker.policy.machine.actions import HoldReason
from penstock_worker.policy.outcome import Verdict
from tests.worker.machine.playing import SETTINGS, Play


def at_work() -> tuple[Play, actions.HandOver]:
    """Return a machine with a batch that runs, and another that is being collected."""
    play, run = Play.running(1, ledger=True)
    play.arrive(2, 3)
    return play, run


def test_leaving_worker_stops_pulling_gives_back_what_it_collected_and_finishes_what_runs() -> None:
    """It stops pulling first. Otherwise the server delivers the messages here again, and each delivery counts."""
    for leaving, reason in (
        (events.Retire(), HoldReason.RETIRING),
        (events.Terminate(grace_seconds=20.0), HoldReason.ENDING),
    ):
        play, run = at_work()
        play.take(actions.HoldPull)
        play.handle(leaving)
        order = [type(each) for each in play.asked if isinstance(each, actions.HoldPull | actions.GiveBack)]
        assert order[:2] == [actions.HoldPull, actions.GiveBack]
        assert play.take(actions.HoldPull)[-1].reasons == (reason,)
        assert play.given_back() == [(2, 0)]
        play.end(run, Verdict.OK)
        (settled,) = play.settle()
        assert settled.batch_id == run.batch_id
        assert play.held == 0
        assert bool(play.take(actions.Stop)) is (reason is HoldReason.ENDING)


def test_retired_worker_gives_back_what_arrives_or_waits_to_run_again() -> None:
    play, run = Play.running(1, ledger=True)
    play.end(run, Verdict.TRANSIENT)
    play.handle(events.Retire())
    assert play.given_back() == [(1, 0)]
    play.arrive(1, 2)
    play.arrive(1, redelivered=True)
    assert play.given_back() == [(2, 0), (1, 0)]
    assert play.held == 0


def test_retired_worker_gives_back_a_run_that_fails_for_others_to_try() -> None:
    for verdict in (Verdict.DATA, Verdict.TRANSIENT, Verdict.ENGINE_LOST):
        play, run = at_work()
        play.handle(events.Retire())
        play.take(actions.GiveBack)
        play.end(run, verdict)
        assert play.given_back() == [(1, 0)]
        assert (play.held, play.runs(), play.take(actions.PublishLetters)) == (0, [], [])


def test_reinstated_worker_pulls_and_runs_again_and_repeated_orders_change_nothing() -> None:
    play, run = at_work()
    play.take(actions.ReleasePull)
    play.handle(events.Retire(), events.Retire())
    play.finish(run)
    assert play.take(actions.HoldPull)
    assert not play.take(actions.ReleasePull)
    play.handle(events.Reinstate(), events.Reinstate())
    assert play.take(actions.ReleasePull)
    assert not play.take(actions.HoldPull)
    play.arrive(2, 3, redelivered=True)
    play.handle(events.LedgerRead(()))
    play.wait(SETTINGS.batch.max_wait_seconds)
    assert play.run().ranges == ((2, 3),)


def test_collected_messages_are_given_back_at_once_when_the_driver_ends() -> None:
    play, run = at_work()
    play.handle(events.DriverEnding())
    assert play.take(actions.HoldPull)[-1].reasons == (HoldReason.DRIVER,)
    assert play.given_back() == [(2, 0)]
    play.finish(run)
    play.handle(events.DriverLost("It is gone."))
    play.arrive(2, redelivered=True)
    assert play.given_back() == [(1, 0)]
    play.handle(events.Terminate(25))
    assert play.one(actions.Stop).code == 0


def test_run_of_an_ending_driver_is_given_back_when_the_driver_dies() -> None:
    play, _ = at_work()
    play.handle(events.DriverEnding())
    play.take(actions.GiveBack)
    play.handle(events.DriverLost("It was killed."))
    assert (play.given_back(), play.held) == ([(1, 0)], 0)


def test_run_is_cancelled_and_given_back_when_the_grace_period_of_its_driver_or_worker_is_nearly_over() -> None:
    for leaving, exit_codes in ((events.DriverEnding(), []), (events.Terminate(SETTINGS.grace_seconds), [0])):
        play, run = at_work()
        play.handle(leaving)
        play.take(actions.GiveBack)
        play.wait(SETTINGS.grace_seconds - 6)
        assert not play.take(actions.CancelRun)
        play.wait(2)
        assert play.one(actions.CancelRun) == actions.CancelRun(run.batch_id, run.run)
        play.end(run, Verdict.CANCELLED)
        assert (play.given_back(), play.held) == ([(1, 0)], 0)
        assert [stop.code for stop in play.take(actions.Stop)] == exit_codes
