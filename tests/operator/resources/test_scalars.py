"""Durations and sizes: what people may write, and what it means."""

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.resources.part import Part
from penstock_operator.resources.scalars import (
    NANOSECONDS,
    Duration,
    Size,
    duration_of,
    nanoseconds,
    size_bytes,
    size_of,
)

COUNTED = 2**63 - 1
"""The server counts nanoseconds and bytes in 63 bits."""


class Pair(Part):
    """A duration and a size."""

    wait: Duration = "1s"
    room: Size = "1Gi"


@pytest.mark.parametrize(
    ("written", "meant"), [("90s", 90 * 10**9), ("1h30m", 5400 * 10**9), ("7d", 604800 * 10**9), ("250us", 250_000)]
)
def test_a_duration_is_what_people_mean_by_it(written: str, meant: int) -> None:
    assert nanoseconds(Pair.read({"wait": written}).wait) == meant


@pytest.mark.parametrize("written", ["5 m", "1.5h", "30m1h", "-1s", "90", "s", "", "999999d", "1w"])
def test_what_is_no_duration_is_refused(written: str) -> None:
    with pytest.raises(pydantic.ValidationError, match=r"90s, 1h30m, 7d|at least 2 characters"):
        Pair.read({"wait": written})


@pytest.mark.parametrize("written", ["1.5Gi", "-1", "1 Gi", "1GB", "Mi", "1000000Ti"])
def test_what_is_no_size_is_refused(written: str) -> None:
    with pytest.raises(pydantic.ValidationError, match="A size is a number of bytes"):
        Pair.read({"room": written})


def test_no_duration_and_no_size_is_more_than_the_server_counts() -> None:
    longest = Pair.read({"wait": "99999d99999h999999m99999999s9999999999ms9999999999999us"}).wait
    assert nanoseconds(longest) <= COUNTED
    for size in ("9" * 18, "9" * 15 + "Ki", "9" * 12 + "Mi", "9" * 9 + "Gi", "9" * 6 + "Ti"):
        assert size_bytes(Pair.read({"room": size}).room) <= COUNTED


@given(st.integers(min_value=0, max_value=99_999 * NANOSECONDS["d"]))
def test_what_is_written_for_a_number_means_that_number(number: int) -> None:
    assert nanoseconds(Pair.read({"wait": duration_of(number)}).wait) == number


@given(st.integers(min_value=0, max_value=10**18 - 1))
def test_what_is_written_for_a_size_means_that_size(number: int) -> None:
    assert size_bytes(Pair.read({"room": size_of(number)}).room) == number


@pytest.mark.parametrize("taken_for", [5, True, ["5s"]])
def test_nothing_is_taken_for_what_it_is_not(taken_for: object) -> None:
    with pytest.raises(pydantic.ValidationError, match="valid string"):
        Pair.read({"wait": taken_for})
