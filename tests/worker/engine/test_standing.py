"""How an engine says that it stands."""

from penstock_worker.engine.standing import Standing
from penstock_worker.policy.machine.actions import HandOver, HoldReason
from penstock_worker.policy.outcome import Verdict
from penstock_worker.policy.settings import EngineSettings

SETTINGS = EngineSettings(
    group="g", worker="w", stream="S", consumer="c", dead_letter_stream="D", dead_letter_subject="d"
)


def test_an_open_circuit_is_told_with_what_failed_last_until_something_goes_well() -> None:
    standing = Standing(SETTINGS, holds=(HoldReason.CIRCUIT,))
    standing.ended("b", Verdict.TRANSIENT, 1.0, "Retry: no table yet")
    assert standing.ready().sentence.endswith("until one has succeeded. The last one: Retry: no table yet")
    assert standing.told()["fault"] == "Retry: no table yet"
    standing.ended("b", Verdict.OK, 1.0)
    assert standing.ready().sentence.endswith("until one has succeeded.")
    assert standing.told()["fault"] == ""


def handed(batch_id: str) -> HandOver:
    return HandOver(
        batch_id=batch_id,
        run=1,
        deadline_seconds=60,
        attempt=1,
        redelivered=False,
        pieces=(),
        count=5,
        bytes=5,
        ranges=((1, 5),),
    )


def test_time_at_work_is_told_with_each_run_that_ends_though_there_is_never_a_rest() -> None:
    """Who scales divides what runs took by it: told only at a rest, one would run far ahead of the other."""
    standing = Standing(SETTINGS)
    told = []
    standing.began(handed("0"))
    for number in range(3):
        standing.began(handed(str(number + 1)))
        standing.ended(str(number), Verdict.OK, 1.0)
        told.append(standing.work.busy_seconds)
    assert 0 < told[0] < told[1] < told[2]
    standing.ended("3", Verdict.OK, 1.0)
    at_rest = standing.work.busy_seconds
    standing.ended("of a run that was lost", Verdict.OK, 1.0)
    assert standing.work.busy_seconds == at_rest
