"""Durations and sizes: what people may write, and what it means."""

from typing import Any

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


def test_a_duration_is_a_sum_of_its_parts() -> None:
    for written, meant in (("90s", 90 * 10**9), ("1h30m", 5400 * 10**9), ("7d", 604800 * 10**9), ("250us", 250_000)):
        assert nanoseconds(Pair.read({"wait": written}).wait) == meant


NO_DURATION = ("5 m", "1.5h", "30m1h", "-1s", "90", "s", "", "999999d", "1w")
NO_SIZE = ("1.5Gi", "-1", "1 Gi", "1GB", "Mi", "1000000Ti")
WRONG: list[tuple[dict[str, Any], str]] = [
    *[({"wait": text}, r"90s, 1h30m, 7d|at least 2 characters") for text in NO_DURATION],
    *[({"room": text}, "A size is a number of bytes") for text in NO_SIZE],
    *[({"wait": value}, "valid string") for value in (5, True, ["5s"])],
]


def test_anything_else_is_refused(subtests: pytest.Subtests) -> None:
    for fields, sentence in WRONG:
        with subtests.test(fields=fields), pytest.raises(pydantic.ValidationError, match=sentence):
            Pair.read(fields)


def test_no_duration_or_size_is_more_than_the_server_counts() -> None:
    longest = Pair.read({"wait": "99999d99999h999999m99999999s9999999999ms9999999999999us"}).wait
    assert nanoseconds(longest) <= COUNTED
    for size in ("9" * 18, "9" * 15 + "Ki", "9" * 12 + "Mi", "9" * 9 + "Gi", "9" * 6 + "Ti"):
        assert size_bytes(Pair.read({"room": size}).room) <= COUNTED


@given(st.integers(min_value=0, max_value=99_999 * NANOSECONDS["d"]))
def test_duration_written_for_a_number_means_that_number(number: int) -> None:
    assert nanoseconds(Pair.read({"wait": duration_of(number)}).wait) == number


@given(st.integers(min_value=0, max_value=10**18 - 1))
def test_size_written_for_a_number_means_that_number(number: int) -> None:
    assert size_bytes(Pair.read({"room": size_of(number)}).room) == number
