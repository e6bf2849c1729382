"""An object without what nobody here asks for, and with one copy of what it says several times: there may be thousands.

Knows that conditions of one object, and of many, say mostly the same words, and that specs give mostly the same fields:
pydantic's note of which were given takes a quarter of an object. What it says is not changed by it.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from penstock_operator.constants import GROUP
from penstock_operator.plan.declared import Declared
from penstock_operator.resources.part import Part

MOST_NOTES = 4096
"""How many different notes are kept to be shared; who gives fields that nobody else gives has one of its own."""


def compact(declared: Declared) -> Declared:
    """Leave out annotations of others, such as kubectl's copy of the whole object, and share equal words."""
    ours = {name: value for name, value in declared.annotations.items() if name.startswith(f"{GROUP}/")}
    status = declared.status
    if declared.spec:
        _share_notes(declared.spec)
    if status.get("conditions"):
        status = {**status, "conditions": [_shared(condition) for condition in status["conditions"]]}
    return replace(declared, annotations=ours, status=status)


def _share_notes(part: Part) -> None:
    """Have a part, and those in it, share the notes of which fields were given: none of them ever changes."""
    object.__setattr__(part, "__pydantic_fields_set__", _note(frozenset(part.model_fields_set)))
    for _, value in part:
        if isinstance(value, Part):
            _share_notes(value)


@lru_cache(MOST_NOTES)
def _note(names: frozenset[str]) -> set[str]:
    return set(names)


def _shared(condition: Mapping[str, Any]) -> dict[str, Any]:
    return {name: sys.intern(value) if isinstance(value, str) else value for name, value in condition.items()}
