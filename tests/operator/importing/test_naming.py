"""Names of Kubernetes objects from names on a server: valid, distinct, and not dependent on the order."""

import re

from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.plan.importing.naming import LONGEST, object_names

VALID = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SERVER_NAMES = st.text(st.characters(exclude_characters=" .*>/\\", exclude_categories=["Cs", "Cc"]), min_size=1)


def test_a_name_that_kubernetes_takes_stays() -> None:
    assert object_names(["orders", "orders-2"]) == {"orders": "orders", "orders-2": "orders-2"}


def test_capitals_become_small_and_all_else_a_hyphen() -> None:
    assert object_names(["ORDERS", "Daily_Orders", "-x-"]) == {
        "ORDERS": "orders",
        "Daily_Orders": "daily-orders",
        "-x-": "x",
    }


def test_where_two_names_would_become_one_both_get_a_digest() -> None:
    names = object_names(["ORDERS", "orders", "billing"])
    assert names["billing"] == "billing"
    assert re.fullmatch(r"orders-[0-9a-f]{6}", names["ORDERS"])
    assert re.fullmatch(r"orders-[0-9a-f]{6}", names["orders"])
    assert names["ORDERS"] != names["orders"]


def test_a_name_that_looks_like_anothers_digest_is_not_taken_twice() -> None:
    first = object_names(["A_B", "A-B"])
    again = object_names(["A_B", "A-B", first["A_B"]])
    assert again[first["A_B"]] == first["A_B"]
    assert len(set(again.values())) == 3


def test_a_name_of_nothing_but_signs_has_a_name_nevertheless() -> None:
    assert object_names(["$$"]) == {"$$": "unnamed"}


@given(st.sets(SERVER_NAMES | st.sampled_from(["A_B", "a-b", "A-b", "a_b", "x" * 300, "X" * 300]), max_size=12))
def test_all_names_are_valid_and_distinct(server_names: set[str]) -> None:
    names = object_names(server_names)
    assert names.keys() == server_names
    assert len(set(names.values())) == len(names)
    assert all(VALID.fullmatch(name) and len(name) <= LONGEST for name in names.values())
    assert object_names(sorted(server_names, reverse=True)) == names
