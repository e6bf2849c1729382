"""How an engine says that it stands."""

from penstock_worker.engine.standing import Standing
from penstock_worker.policy.machine.actions import HoldReason
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
