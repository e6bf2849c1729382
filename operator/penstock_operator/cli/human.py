"""Numbers, sizes and times, written for people: 12,345; 1.2 GiB; 3d.

Knows how they are read most easily in a column. What is not known is a dash. Does not know what is shown (tables.py).
"""

from datetime import datetime

UNKNOWN = "-"
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
STEP = 1024
TENTHS_BELOW = 100
"""From here on, a tenth of a unit says nothing."""

SECOND = 1
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
YEAR = 365 * DAY
STEPS = ((2 * MINUTE, SECOND, "s"), (2 * HOUR, MINUTE, "m"), (2 * DAY, HOUR, "h"), (2 * YEAR, DAY, "d"))
"""Below which age it is told in which unit: two of a unit at least, so that an age is never off by half."""


def number(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{number(count)} workers"


def size(value: int | None) -> str:
    """Write a number of bytes in the unit that leaves it below 1024."""
    if value is None:
        return UNKNOWN
    scaled, unit = float(value), 0
    while round(scaled) >= STEP and unit < len(UNITS) - 1:
        scaled, unit = scaled / STEP, unit + 1
    digits = 1 if unit and scaled < TENTHS_BELOW else 0
    return f"{scaled:,.{digits}f} {UNITS[unit]}"


def duration(seconds: float | None) -> str:
    """Write how long something took, or is ago, in one unit."""
    if seconds is None:
        return UNKNOWN
    whole = max(0, int(seconds))
    for below, unit, name in STEPS:
        if whole < below:
            return f"{whole // unit}{name}"
    return f"{whole // YEAR}y"


def age(since: datetime | None, now: datetime) -> str:
    """Write how long ago a time is; one to come is now, as clocks differ."""
    return UNKNOWN if since is None else duration((now - since).total_seconds())
