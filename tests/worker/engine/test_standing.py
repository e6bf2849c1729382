"""The status that an engine reports."""

from dataclasses import replace

from penstock_worker.engine.standing import Standing
from penstock_worker.policy.machine.actions import HoldReason
from penstock_worker.policy.outcome import Verdict
from tests.worker.machine.playing import SETTINGS, Play


def test_open_circuit_is_reported_with_the_last_failure_until_a_run_succeeds() -> None:
    standing = Standing(SETTINGS, holds=(HoldReason.CIRCUIT,))
    standing.ended("b", Verdict.TRANSIENT, 1.0, "Retry: no table yet")
    assert standing.ready().sentence.endswith("until one has succeeded. The last one: Retry: no table yet")
    assert standing.told()["fault"] == "Retry: no table yet"
    standing.ended("b", Verdict.OK, 1.0)
    assert standing.ready().sentence.endswith("until one has succeeded.")
    assert standing.told()["fault"] == ""


def test_busy_time_is_reported_at_the_end_of_each_run_of_an_engine_that_is_never_idle() -> None:
    """The autoscaler divides the time of runs by it: reported only when idle, it would lag far behind."""
    standing = Standing(SETTINGS)
    reported = []
    _, run = Play.running(1)
    standing.began(replace(run, batch_id="0"))
    for number in range(3):
        standing.began(replace(run, batch_id=str(number + 1)))
        standing.ended(str(number), Verdict.OK, 1.0)
        reported.append(standing.work.busy_seconds)
    assert 0 < reported[0] < reported[1] < reported[2]
    standing.ended("3", Verdict.OK, 1.0)
    when_idle = standing.work.busy_seconds
    standing.ended("of a run that was lost", Verdict.OK, 1.0)
    assert standing.work.busy_seconds == when_idle
