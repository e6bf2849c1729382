"""An object without what nobody here asks for, and with one copy of what it says several times: there may be thousands.

Knows that conditions of one object, and of many, say mostly the same words. What it says is not changed by it.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock_operator.constants import GROUP
from penstock_operator.plan.declared import Declared


def compact(declared: Declared) -> Declared:
    """Leave out annotations of others, such as kubectl's copy of the whole object, and share equal words."""
    ours = {name: value for name, value in declared.annotations.items() if name.startswith(f"{GROUP}/")}
    status = declared.status
    if status.get("conditions"):
        status = {**status, "conditions": [_shared(condition) for condition in status["conditions"]]}
    return replace(declared, annotations=ours, status=status)


def _shared(condition: Mapping[str, Any]) -> dict[str, Any]:
    return {name: sys.intern(value) if isinstance(value, str) else value for name, value in condition.items()}
