"""Which names count as misspelt."""

from hypothesis import given
from hypothesis import strategies as st

from penstock_worker.policy.spelling import MOST_SLIPS, meant, slips_between

KNOWN = ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled", "spark.sql.adaptive.enable")
MEANT = {
    "spark.sql.shuffle.partition": "spark.sql.shuffle.partitions",
    "spark.sql.shuffle.partitoins": "spark.sql.shuffle.partitions",
    "spark.sql.shufflePartitions": "spark.sql.shuffle.partitions",
    "sparc.sql.shufle.partitions": "spark.sql.shuffle.partitions",
    "spark.sql.adaptive.enableb": "spark.sql.adaptive.enable",
    "spark.sql.shuffle.parts": None,
    "spark.mine": None,
}


def test_a_name_with_at_most_two_slips_means_the_nearest_known_name() -> None:
    assert {name: meant(name, KNOWN) for name in MEANT} == MEANT


def distance(one: str, other: str) -> int:
    """Return the distance by its recursive definition."""
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
def test_slips_are_counted_by_their_definition(one: str, other: str) -> None:
    assert slips_between(one, other) == min(distance(one, other), MOST_SLIPS + 1)
