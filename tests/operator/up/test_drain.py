"""`penstock up --drain`: everything is processed, or it is told what was not."""

import pytest

from tests.operator.up.upping import Up

pytestmark = [pytest.mark.xdist_group("up"), pytest.mark.timeout(600)]


def test_a_drain_ends_once_everything_is_processed_and_tells_what_was_not() -> None:
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


def test_a_drain_ends_with_what_the_code_cannot_do_and_nothing_is_consumed() -> None:
    up = Up()
    up.code("def process(df):\n    pass\n")
    code, said = up.drained()
    assert code == 1
    assert "etl.py:1: process in" in said
    assert "has to take (df, batch), and takes (df)" in said
