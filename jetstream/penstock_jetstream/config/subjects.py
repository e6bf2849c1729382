"""How subjects with wildcards relate: valid, overlapping, one within the other.

Knows `*`, one token, and `>`, all that follow. Does not know what a subject is for.
"""

from collections.abc import Sequence
from itertools import combinations, zip_longest

ONE, REST = "*", ">"
EVERYTHING = REST
NOT_IN_TOKENS = frozenset("\t\n\f\r \0")
"""What a server refuses in a subject (isValidSubject in its sublist.go)."""


def is_subject(subject: str) -> bool:
    """Tell whether it can be one, wildcards and all."""
    tokens = subject.split(".")
    return all(map(_is_token, tokens)) and REST not in tokens[:-1]


def is_literal(subject: str) -> bool:
    """Tell whether it can be one, without wildcards."""
    return is_subject(subject) and not {ONE, REST} & {*subject.split(".")}


def overlap(one: str, other: str) -> bool:
    """Tell whether some literal subject matches both."""
    for left, right in zip_longest(one.split("."), other.split(".")):
        if left is None or right is None:
            return False
        if REST in (left, right):
            return True
        if left != right and ONE not in (left, right):
            return False
    return True


def is_within(inner: str, outer: str) -> bool:
    """Tell whether all that the inner matches, the outer matches as well."""
    for left, right in zip_longest(inner.split("."), outer.split(".")):
        if left is None or right is None:
            return False
        if right == REST:
            return True
        if left == REST or (right not in (ONE, left)):
            return False
    return True


def overlapping_pair(subjects: Sequence[str]) -> tuple[str, str] | None:
    """Return the first two that overlap."""
    return next((pair for pair in combinations(subjects, 2) if overlap(*pair)), None)


def nested_pair(subjects: Sequence[str]) -> tuple[str, str] | None:
    """Return the first two of which one is within the other, the inner first."""
    for one, other in combinations(subjects, 2):
        if is_within(one, other):
            return one, other
        if is_within(other, one):
            return other, one
    return None


def _is_token(token: str) -> bool:
    return bool(token) and NOT_IN_TOKENS.isdisjoint(token)
