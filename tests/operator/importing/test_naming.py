"""Names of Kubernetes objects from names on a server: valid, distinct, and not dependent on the order."""

import re

from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.importing.naming import LONGEST, object_names

VALID = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SERVER_NAMES = st.text(st.characters(exclude_characters=" .*>/\\", exclude_categories=["Cs", "Cc"]), min_size=1)


def test_invalid_characters_are_replaced() -> None:
    names = {"orders": "orders", "orders-2": "orders-2", "BILLS": "bills", "Daily_Orders": "daily-orders", "-x-": "x"}
    assert object_names(names) == names
    assert object_names(["$$"]) == {"$$": "unnamed"}


def test_two_names_that_would_become_one_both_get_a_digest() -> None:
    names = object_names(["ORDERS", "orders", "billing"])
    assert names["billing"] == "billing"
    assert re.fullmatch(r"orders-[0-9a-f]{6}", names["ORDERS"])
    assert re.fullmatch(r"orders-[0-9a-f]{6}", names["orders"])
    assert names["ORDERS"] != names["orders"]


def test_a_name_that_equals_the_result_for_another_stays_unique() -> None:
    first = object_names(["A_B", "A-B"])
    again = object_names(["A_B", "A-B", first["A_B"]])
    assert again[first["A_B"]] == first["A_B"]
    assert len(set(again.values())) == 3


@given(st.sets(SERVER_NAMES | st.sampled_from(["A_B", "a-b", "A-b", "a_b", "x" * 300, "X" * 300]), max_size=12))
def test_all_names_are_valid_and_distinct(server_names: set[str]) -> None:
    names = object_names(server_names)
    assert names.keys() == server_names
    assert len(set(names.values())) == len(names)
    assert all(VALID.fullmatch(name) and len(name) <= LONGEST for name in names.values())
    assert object_names(sorted(server_names, reverse=True)) == names
