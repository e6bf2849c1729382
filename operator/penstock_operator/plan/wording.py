"""Sentences about configurations, spelled as in manifests: what differs, and what is wrong.

Pure. Knows how people are told. Does not decide what is told, nor how a name or a value is spelled (resources.wording).
"""

from collections.abc import Iterable

from penstock_jetstream.config import CONSUMER, STREAM, Difference, Problem, Table
from penstock_operator.resources.wording import spec_field, spec_value, spec_words

TABLES: dict[str, Table] = {"Stream": STREAM, "Consumer": CONSUMER}


def differences_told(kind: str, differences: Iterable[Difference]) -> str:
    """Tell what is to become what: "maxAge: 1h is to be 2h."."""
    return " ".join(_difference(kind, difference) for difference in differences)


def problems_told(kind: str, problems: Iterable[Problem]) -> str:
    """Tell what is wrong, field by field."""
    return " ".join(problem_told(kind, problem) for problem in problems)


def problem_told(kind: str, problem: Problem) -> str:
    return f"{spec_field(kind, problem.field)}: {spec_words(kind, f'{problem.sentence} {problem.advice}'.strip())}"


def _difference(kind: str, difference: Difference) -> str:
    name = difference.field
    actual, desired = (spec_value(kind, name, value) for value in (difference.actual, difference.desired))
    told = f"{spec_field(kind, name)}: {actual} is to be {desired}."
    return f"{told} {spec_words(kind, difference.obstacle)}".strip()
