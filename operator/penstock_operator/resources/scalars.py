"""Durations, sizes and times, as people write them in manifests: 90s, 5m, 1d; 32Mi, 1G; 2026-01-31T12:00:00Z.

Knows the spellings and what they mean. Does not know which fields have them.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from penstock_jetstream.config.times import instant
from penstock_operator.resources.part import Rule

NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}

HOURS_PATTERN = "^([0-9]{1,5}h)?([0-9]{1,6}m)?([0-9]{1,8}s)?([0-9]{1,10}ms)?([0-9]{1,13}us)?([0-9]{1,15}ns)?$"
DURATION_PATTERN = HOURS_PATTERN.replace("^", "^([0-9]{1,5}d)?")
"""The largest unit comes first, and no duration is longer than the 292 years that the server can count."""
SIZE_PATTERN = "^([0-9]{1,18}|[0-9]{1,15}(k|Ki)|[0-9]{1,12}(M|Mi)|[0-9]{1,9}(G|Gi)|[0-9]{1,6}(T|Ti))$"
"""No size is larger than the server can count: it has 63 bits for it."""


def nanoseconds(duration: str) -> int:
    """Return how long a duration is."""
    return sum(int(number) * NANOSECONDS[unit] for number, unit in re.findall(r"([0-9]+)(ns|us|ms|s|m|h|d)", duration))


def seconds(duration: str) -> float:
    return nanoseconds(duration) / NANOSECONDS["s"]


def duration_of(nanoseconds: int) -> str:
    """Write a duration in the largest units that say it exactly: 90s is 1m30s."""
    parts, rest = [], nanoseconds
    for unit, length in reversed(NANOSECONDS.items()):
        number, rest = divmod(rest, length)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts) or "0s"


def size_bytes(size: str) -> int:
    """Return how many bytes a size is."""
    number, unit = re.fullmatch(r"([0-9]+)([A-Za-z]*)", size).groups()  # type: ignore[union-attr]
    return int(number) * UNITS[unit]


def size_of(number: int) -> str:
    """Write a size in the largest unit of 1024s that says it exactly."""
    for unit in ("Ti", "Gi", "Mi", "Ki"):
        if number and number % UNITS[unit] == 0:
            return f"{number // UNITS[unit]}{unit}"
    return str(number)


DurationText = Annotated[str, StringConstraints(min_length=2, max_length=64)]
"""For a field with a range, whose rule (ranges.py) says what a duration is, too."""
SizeText = Annotated[str, StringConstraints(min_length=1, max_length=20)]
Duration = Annotated[
    DurationText,
    Rule(
        "A duration is a number and its unit (d, h, m, s, ms, us, ns), or several from the largest unit to the"
        " smallest; up to 99999d: 90s, 1h30m, 7d.",
        f"self.matches('{DURATION_PATTERN}')",
        lambda duration: re.fullmatch(DURATION_PATTERN, duration) is not None,
    ),
]
Size = Annotated[
    SizeText,
    Rule(
        "A size is a number of bytes, or a number and its unit (k, M, G, T, Ki, Mi, Gi, Ti): 500k, 32Mi, 1Gi.",
        f"self.matches('{SIZE_PATTERN}')",
        lambda size: re.fullmatch(SIZE_PATTERN, size) is not None,
    ),
]
TIME_PATTERN = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$"


def _exists(time: str) -> str:
    if not re.fullmatch(TIME_PATTERN, time) or instant(time) is None:
        raise ValueError("A time is as RFC 3339 has it: 2026-01-31T12:00:00Z.")
    return time


Time = Annotated[
    str,
    StringConstraints(min_length=20, max_length=35),
    AfterValidator(_exists),
    Field(json_schema_extra={"format": "date-time"}),
]
"""A string here, as servers count nanoseconds; the API server has a format for it."""
MOST = 2**53 - 1
"""The largest whole number that every reader of JSON takes exactly."""
Amount = Annotated[int, Field(ge=1, le=MOST)]
"""A number of things, at least one; left out where there is no limit."""
