"""Terms that rules are made of, each in CEL and in Python at once, so that the two cannot come apart.

Knows how fields are looked at, and how `and`, `or` and `not` join. Does not know any field or rule.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic.alias_generators import to_snake

from penstock_operator.resources.part import Rule
from penstock_operator.resources.ranges import cel_duration
from penstock_operator.resources.scalars import DURATION_PATTERN, nanoseconds


@dataclass(frozen=True, slots=True)
class Term:
    """Something that can be asked of a part, named by its fields as manifests have them."""

    cel: str
    holds: Callable[[Any], bool]

    def __and__(self, other: "Term") -> "Term":
        return Term(f"({self.cel} && {other.cel})", lambda part: self.holds(part) and other.holds(part))

    def __or__(self, other: "Term") -> "Term":
        return Term(f"({self.cel} || {other.cel})", lambda part: self.holds(part) or other.holds(part))

    def __invert__(self) -> "Term":
        return Term(f"!{self.cel}", lambda part: not self.holds(part))


def rule(sentence: str, term: Term) -> Rule:
    """Return the rule that the term holds."""
    return Rule(
        sentence, term.cel.removeprefix("(").removesuffix(")") if _is_wrapped(term.cel) else term.cel, term.holds
    )


def _is_wrapped(cel: str) -> bool:
    """Tell whether the first parenthesis is closed by the last one."""
    depth = 0
    for index, letter in enumerate(cel):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return cel.startswith("(") and index == len(cel) - 1
    return False


def value(part: Any, field: str) -> Any:  # noqa: ANN401 - whatever a field holds
    """Return what a field holds, by its name in manifests."""
    return getattr(part, _attribute(field))


@cache
def _attribute(field: str) -> str:
    """Rules are asked of every object that is seen, and pydantic takes longer to spell a name than to check a value."""
    return to_snake(field)


def given(field: str) -> Term:
    """Whether an optional field is there."""
    return Term(f"has(self.{field})", lambda part: value(part, field) is not None)


def filled(field: str) -> Term:
    """Whether a list has anything in it."""
    return Term(f"(has(self.{field}) && size(self.{field}) > 0)", lambda part: bool(value(part, field)))


def on(field: str) -> Term:
    """Whether a flag with a visible default is true."""
    return Term(f"self.{field}", lambda part: value(part, field) is True)


def switched_on(field: str) -> Term:
    """Whether an optional flag is there, and true."""
    return Term(f"(has(self.{field}) && self.{field})", lambda part: value(part, field) is True)


def switched_off(field: str) -> Term:
    """Whether an optional flag is there, and false."""
    return Term(f"(has(self.{field}) && !self.{field})", lambda part: value(part, field) is False)


def chosen(field: str, *names: str) -> Term:
    """Whether a choice with a visible default is one of these."""
    cel = f"self.{field} == '{names[0]}'" if len(names) == 1 else f"self.{field} in {list(names)}"
    return Term(f"({cel})", lambda part: value(part, field) in names)


def more_than(field: str, bound: int) -> Term:
    """Whether an optional number is there, and larger."""
    return Term(
        f"(has(self.{field}) && self.{field} > {bound})",
        lambda part: value(part, field) is not None and value(part, field) > bound,
    )


def shorter_than(field: str, bound: str) -> Term:
    """Whether an optional duration is there, and shorter."""
    return Term(
        f"({_readable(field)} && {cel_duration(f'self.{field}')} < duration('{bound}'))",
        lambda part: value(part, field) is not None and nanoseconds(value(part, field)) < nanoseconds(bound),
    )


def longer_than(field: str, other: str) -> Term:
    """Whether two optional durations are there, and the first is longer than the second."""
    return Term(
        f"({_readable(field)} && {_readable(other)} && "
        f"{cel_duration(f'self.{field}')} > {cel_duration(f'self.{other}')})",
        lambda part: (
            value(part, field) is not None
            and value(part, other) is not None
            and nanoseconds(value(part, field)) > nanoseconds(value(part, other))
        ),
    )


def longer_in_bytes(field: str, bound: int) -> Term:
    """Whether an optional text is there, and takes more bytes."""
    return Term(
        f"(has(self.{field}) && size(bytes(self.{field})) > {bound})",
        lambda part: len((value(part, field) or "").encode("utf-8", "surrogatepass")) > bound,
    )


def _readable(field: str) -> str:
    """Return the CEL for whether an optional duration is there and is one: what is none has a rule of its own."""
    return f"has(self.{field}) && self.{field}.matches('{DURATION_PATTERN}')"
