"""Whether an object that the API server shows says all that is wanted of it.

Knows what the API server does to an object that it takes: it adds defaults, leaves out what is empty, spells quantities
its own way, and keeps what others put beside ours. Does not know any kind of object.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from penstock_operator.plan.workload.manifest import Manifest, as_mapping
from penstock_operator.plan.workload.naming import APPLIED_ANNOTATION

KEYS = ("name", "mountPath", "containerPort", "devicePath", "topologyKey", "ip", "key", "uid")
"""By which of its fields an item of a list is known, if the list is a map in truth: the first that all items have."""
QUANTITIES = frozenset({"limits", "requests", "sizeLimit", "divisor", "storage"})
UNITS = {
    **{unit: Fraction(1, 1000**power) for power, unit in enumerate(["", "m", "u", "n"])},
    **{unit: Fraction(1000**power) for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": Fraction(1024**power) for power, unit in enumerate("KMGTPE", 1)},
}
QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+))(?:([numkMGTPE]|[KMGTPE]i)?|[eE]([+-]?[0-9]{1,3}))")


def missing_from(observed: Mapping[str, Any], wanted: Manifest) -> bool:
    """Tell whether the API server's object lacks anything of what is wanted, or was applied as something else."""
    if _applied(observed) != _applied(wanted):
        return True
    return not _says(observed, wanted, is_quantity=False)


def _applied(manifest: Mapping[str, Any]) -> object:
    return as_mapping(as_mapping(manifest.get("metadata")).get("annotations")).get(APPLIED_ANNOTATION)


def _says(observed: object, wanted: object, *, is_quantity: bool) -> bool:
    if not wanted and observed is None:
        return True
    if isinstance(wanted, Mapping):
        return isinstance(observed, Mapping) and all(
            _says(observed.get(name), value, is_quantity=is_quantity or name in QUANTITIES)
            for name, value in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return isinstance(observed, list | tuple) and _lists_say(observed, wanted)
    if is_quantity and (amount := quantity(wanted)) is not None:
        return quantity(observed) == amount
    return type(observed) is type(wanted) and observed == wanted


def _lists_say(observed: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """Compare lists item by item, or by key where all items have one: others may have put more beside ours."""
    key = next((key for key in KEYS if all(isinstance(item, Mapping) and key in item for item in wanted)), None)
    if key is None:
        return len(observed) == len(wanted) and all(
            _says(seen, item, is_quantity=False) for seen, item in zip(observed, wanted, strict=True)
        )
    return all(
        any(as_mapping(seen).get(key) == item[key] and _says(seen, item, is_quantity=False) for seen in observed)
        for item in wanted
    )


def quantity(written: object) -> Fraction | None:
    """Return what a quantity amounts to; None for what is none."""
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        return None
    found = QUANTITY.fullmatch(str(written))
    if found is None:
        return None
    number, unit, exponent = found.groups()
    return Fraction(number) * (Fraction(10) ** int(exponent) if exponent else UNITS[unit or ""])
