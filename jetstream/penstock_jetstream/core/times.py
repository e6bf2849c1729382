"""Times as servers write them: RFC 3339, with up to nine digits of a second's fraction.

Knows both directions. Does not know what time it is.
"""

import re
from datetime import UTC, datetime, timedelta

from penstock_jetstream.errors import ProtocolError, UsageError

NANOSECONDS_PER_SECOND = 10**9
_NANOSECONDS_PER_MICROSECOND = 1000
_NANOSECONDS_DIGITS = 9
_FRACTION = re.compile(r"\.(\d{1,9})")
_EPOCH = datetime.fromtimestamp(0, UTC)


def utc(text: str, of: str) -> datetime:
    """Return the time to the microsecond, which is what Python has."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as problem:
        raise ProtocolError(f"The server said {text[:80]!r} for {of}, which is not a time.") from problem


def nanoseconds(text: str, of: str) -> int:
    """Return the time in full: nanoseconds since 1970."""
    whole = utc(_FRACTION.sub("", text), of) - _EPOCH
    fraction = _FRACTION.search(text)
    digits = fraction[1] if fraction else ""
    seconds = whole // timedelta(seconds=1)
    return seconds * NANOSECONDS_PER_SECOND + int(digits.ljust(_NANOSECONDS_DIGITS, "0"))


def time_of(timestamp_ns: int) -> datetime:
    """Return the time to the microsecond."""
    return _EPOCH + timedelta(microseconds=timestamp_ns // _NANOSECONDS_PER_MICROSECOND)


def rfc3339(time: datetime) -> str:
    """Write a time for the server. One without a zone could mean any of 24: it is refused."""
    if time.tzinfo is None:
        raise UsageError(f"The time {time.isoformat()} has no zone.", advice="Add one, such as datetime.now(UTC).")
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def rfc3339_in_full(time_ns: int) -> str:
    """Write nanoseconds since 1970 for the server: none of them is lost."""
    seconds, rest = divmod(time_ns, NANOSECONDS_PER_SECOND)
    return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}.{rest:0{_NANOSECONDS_DIGITS}d}Z"


def whole_nanoseconds(seconds: float) -> int:
    """Return a duration as the server wants it."""
    return round(seconds * NANOSECONDS_PER_SECOND)
