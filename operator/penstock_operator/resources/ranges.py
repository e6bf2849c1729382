"""Ranges of durations and sizes, as rules: in CEL, in Python, and in words.

Knows what CEL can read of what people write, whose own durations have no days. Does not know which fields have a range.
"""

import re

from penstock_operator.resources.part import Part, Rule
from penstock_operator.resources.scalars import HOURS_PATTERN, SIZE_PATTERN, nanoseconds, size_bytes


def lasting(shortest: str, longest: str) -> Rule:
    """Make the rule for a field that holds a duration of hours at most."""
    least, most = nanoseconds(shortest), nanoseconds(longest)
    return Rule(
        f"It is a duration from {shortest} to {longest}, in h, m, s and ms, with the largest unit first: 90s or 1h30m.",
        f"self.matches('{HOURS_PATTERN}')"
        f" && duration(self) >= duration('{shortest}') && duration(self) <= duration('{longest}')",
        lambda text: re.fullmatch(HOURS_PATTERN, text) is not None and least <= nanoseconds(text) <= most,
    )


def not_longer(first: str, second: str) -> Rule:
    """Make the rule for two fields, as manifests name them, that hold durations of hours at most."""
    readable = " && ".join(f"self.{field}.matches('{HOURS_PATTERN}')" for field in (first, second))
    return Rule(
        f"{first} is not longer than {second}.",
        f"!({readable}) || duration(self.{first}) <= duration(self.{second})",
        lambda part: nanoseconds(_value(part, first)) <= nanoseconds(_value(part, second)),
    )


def holding(smallest: str, largest: str) -> Rule:
    """Make the rule for a field that holds a size."""
    least, most = size_bytes(smallest), size_bytes(largest)
    return Rule(
        f"It is a size from {smallest} to {largest}: a number of bytes, or a number and its unit, as in 500k or 32Mi.",
        f"self.matches('{SIZE_PATTERN}') && quantity(self).compareTo(quantity('{smallest}')) >= 0"
        f" && quantity(self).compareTo(quantity('{largest}')) <= 0",
        lambda text: re.fullmatch(SIZE_PATTERN, text) is not None and least <= size_bytes(text) <= most,
    )


def cel_duration(duration: str) -> str:
    """Return the CEL for how long a duration is, days and all.

    Making text of a number is beyond what the API server allows a rule to cost: 3d becomes 30h30h3h3h3h3h.
    """
    days, rest = f"{duration}.find('^[0-9]+')", f"{duration}.find('[^d]*$')"
    hours = " + ".join(f"{days} + '{zero}h'" for zero in ("0", "0", "", "", "", ""))
    return f"duration({duration}.contains('d') ? {hours} + {rest} : {duration})"


def _value(part: Part, alias: str) -> str:
    """Return the value of the field that manifests call so."""
    [value] = [getattr(part, name) for name, field in type(part).model_fields.items() if field.alias == alias]
    return str(value)
