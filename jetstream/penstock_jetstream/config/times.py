"""Times of a configuration: RFC 3339 in any zone and precision, compared as what they mean.

Knows how they are written. Does not know what time it is.
"""

import re
from datetime import UTC, datetime, timedelta

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)")
_NANOSECONDS_DIGITS = 9
_NEVER = datetime(1, 1, 1, tzinfo=UTC)
"""What servers write for a time that is not set."""


def instant(text: str) -> tuple[int, int] | None:
    """Return seconds (from the year 1) and nanoseconds of a time; None if it is none. The unset time is (0, 0)."""
    match = _TIME.fullmatch(text)
    if not match:
        return None
    day, clock, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{'+00:00' if zone in 'Zz' else zone}")
    except ValueError:
        return None
    seconds = (moment - _NEVER) // timedelta(seconds=1)
    return seconds, int((fraction or "").ljust(_NANOSECONDS_DIGITS, "0"))
