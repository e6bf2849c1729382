"""What is wrong with a spec, for whoever wrote it: fields as in the manifest, one sentence each.

Knows what pydantic reports. Does not know any kind. A value is repeated only where it cannot be a secret: a word
that is none of the choices, a number out of range.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

TOLD_AT_MOST = 5
"""Sentences; people mend one after the other anyway."""
LONGEST_VALUE = 60

_SENTENCES: Mapping[str, Callable[[ErrorDetails], str]] = {
    "missing": lambda _: "It is missing.",
    "extra_forbidden": lambda _: "There is no such field.",
    "value_error": lambda error: str(error["ctx"]["error"]),
    "enum": lambda error: f"It must be {error['ctx']['expected']}, not {_shown(error['input'])}.",
    "literal_error": lambda error: f"It must be {error['ctx']['expected']}, not {_shown(error['input'])}.",
    "greater_than_equal": lambda error: f"It must be at least {error['ctx']['ge']}, not {_shown(error['input'])}.",
    "less_than_equal": lambda error: f"It must be at most {error['ctx']['le']}, not {_shown(error['input'])}.",
    "string_pattern_mismatch": lambda error: f"It must match {error['ctx']['pattern']}.",
    "string_too_short": lambda error: f"It must have at least {error['ctx']['min_length']} characters.",
    "string_too_long": lambda error: f"It must have at most {error['ctx']['max_length']} characters.",
    "too_short": lambda error: f"It must have at least {error['ctx']['min_length']} items.",
    "too_long": lambda error: f"It must have at most {error['ctx']['max_length']} items.",
}


def fault_of(error: ValidationError) -> str:
    """Tell all that is wrong, the first few in words."""
    faults = [_fault(detail) for detail in error.errors(include_url=False)]
    more = len(faults) - TOLD_AT_MOST
    told = " ".join(faults[:TOLD_AT_MOST])
    return f"{told} And {more} more." if more > 0 else told


def _fault(detail: ErrorDetails) -> str:
    sentence = _SENTENCES.get(detail["type"], _in_other_words)(detail)
    return f"{_path(detail['loc'])}: {sentence}"


def _in_other_words(detail: ErrorDetails) -> str:
    """Let pydantic say it: "Input should be a valid integer"."""
    return f"{detail['msg'].replace('Input', 'It', 1)}."


def _path(location: tuple[int | str, ...]) -> str:
    """Write a path as people do: spec.sources[0].name."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return "spec" + "".join(steps)


def _shown(value: Any) -> str:  # noqa: ANN401 - people write anything
    shown = repr(value)
    return shown if len(shown) <= LONGEST_VALUE else f"{shown[:LONGEST_VALUE]}…"
