"""What is wrong with a configuration, or doubtful: where, why, and what to do.

Knows how a problem is told. Does not know any rule.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from typing_extensions import override

from penstock_jetstream.errors import UsageError


class Severity(StrEnum):
    ERROR = "error"
    """The server refuses it; or takes it, and does what nobody wants."""
    WARNING = "warning"
    """It works, and may surprise."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem. `field` is the path to it, such as `sources[0].filter_subject`."""

    field: str
    sentence: str
    advice: str = ""
    severity: Severity = Severity.ERROR

    @override
    def __str__(self) -> str:
        return f"{self.field}: {self.sentence}" + (f" {self.advice}" if self.advice else "")


def warning(field: str, sentence: str, advice: str = "") -> Problem:
    return Problem(field, sentence, advice, Severity.WARNING)


class ConfigurationError(UsageError):
    """A configuration that the server would refuse, or should. Nothing was sent."""

    def __init__(self, what: str, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"The configuration of {what} is wrong: {' '.join(map(str, self.problems))}")
