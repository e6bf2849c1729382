"""`penstock up --drain`: everything is processed, or it reports what was not."""

import pytest

from tests.operator.up.upping import Up

pytestmark = [pytest.mark.xdist_group("up"), pytest.mark.timeout(600), pytest.mark.full]

NOT_NOW = """from penstock_worker.api import Retry


def process(df, batch):
    raise Retry("no table yet")
"""


def test_drain_ends_once_everything_is_processed_and_reports_what_was_not() -> None:
    up = Up()
    up.start()
    up.until_serving()
    up.publish(*range(100), bad=3)
    assert up.interrupt() == 0
    code, said = up.drained()
    assert code == 1, said
    assert "3 messages could not be processed" in said
    assert sorted(number for number, _ in up.rows()) == list(range(100))
    code, said = up.drained()
    assert code == 0, said


def test_drain_with_a_wrong_signature_is_refused_before_anything_is_consumed() -> None:
    up = Up()
    up.code("def process(df):\n    pass\n")
    code, said = up.drained()
    assert code == 1
    assert "etl.py:1: process in" in said
    assert "has to take (df, batch), and takes (df)" in said


def test_drain_without_progress_ends_and_reports_what_is_left_and_why() -> None:
    up = Up()
    up.declare(suspend=True)
    up.start()
    up.until_serving()
    up.publish(*range(5))
    up.wait_said("It is paused. Its manifest says suspend: true; without that it goes on.")
    assert up.interrupt() == 0
    code, said = up.drained()
    assert code == 1, said
    assert "It is paused, and 5 messages are left. Its manifest says suspend: true" in said

    up.declare(consumer={"pauseUntil": "2099-01-01T00:00:00Z"})
    code, said = up.drained()
    assert code == 1, said
    assert (
        "Nothing is delivered to it, and 5 messages are left. The server has paused the consumer etl until 2099" in said
    )

    up.declare(retry={"initialDelay": "2m", "maxDelay": "4m"})
    up.code(NOT_NOW)
    code, said = up.drained("--patience", "10")
    assert code == 1, said
    assert "Nothing was settled for 10 s, and 5 messages are left. The last batch failed: Retry: no table yet" in said

    up.declare(scaling={"mode": "External"}, replicas=0)
    up.mark("first")
    code, said = up.drained()
    assert code == 0, said
    assert sorted(number for number, _ in up.rows()) == list(range(5))

    up.declare(suspend=True)
    code, said = up.drained()
    assert code == 0, said
