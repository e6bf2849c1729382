"""Which names are taken for misspelt ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_worker.policy.spelling import MOST_SLIPS, meant, slips_between

KNOWN = ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled", "spark.sql.adaptive.enable")


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("spark.sql.shuffle.partition", "spark.sql.shuffle.partitions"),
        ("spark.sql.shuffle.partitoins", "spark.sql.shuffle.partitions"),
        ("spark.sql.shufflePartitions", "spark.sql.shuffle.partitions"),
        ("sparc.sql.shufle.partitions", "spark.sql.shuffle.partitions"),
        ("spark.sql.adaptive.enableb", "spark.sql.adaptive.enable"),
        ("spark.sql.shuffle.parts", None),
        ("spark.mine", None),
    ],
)
def test_what_differs_by_two_letters_at_most_is_the_nearest_of_what_is_known(name: str, meaning: str | None) -> None:
    assert meant(name, KNOWN) == meaning


def distance(one: str, other: str) -> int:
    """Say the same as slips_between, as it is defined."""
    if not one or not other:
        return len(one) + len(other)
    ways = [
        distance(one[1:], other) + 1,
        distance(one, other[1:]) + 1,
        distance(one[1:], other[1:]) + (one[0] != other[0]),
    ]
    if one[:2] == other[1::-1] and len(one) > 1 < len(other):
        ways.append(distance(one[2:], other[2:]) + 1)
    return min(ways)


@given(st.text("ab.", max_size=5), st.text("ab.", max_size=5))
def test_slips_are_counted_as_they_are_defined(one: str, other: str) -> None:
    assert slips_between(one, other) == min(distance(one, other), MOST_SLIPS + 1)
