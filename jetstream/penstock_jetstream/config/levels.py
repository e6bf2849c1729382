"""API levels of JetStream, and the server versions that brought them (X-08).

Knows the list. Does not know what any level brought: the tables of fields do.
"""

_FIRST_VERSIONS = ((0, "2.2"), (1, "2.11"), (2, "2.12"), (3, "2.12.5"), (4, "2.14"), (5, "2.15"))
"""Servers before 2.11 have no level: that is 0."""

NEWEST_LEVEL = _FIRST_VERSIONS[-1][0]
_FIRST_WITH_LEVELS = "2.11"


def level_of(version: str) -> int:
    """Return the API level of a server."""
    return max((level for level, first in _FIRST_VERSIONS if _parts(first) <= _parts(version)), default=0)


def level_that_has(version: str) -> int:
    """Return the lowest level that surely has what came with a version; one above all for what is yet to come."""
    if _parts(version) < _parts(_FIRST_WITH_LEVELS):
        return 0
    later = (level for level, first in _FIRST_VERSIONS if _parts(first) >= _parts(version))
    return min(later, default=NEWEST_LEVEL + 1)


def _parts(version: str) -> tuple[int, ...]:
    numbers, _, _ = version.partition("-")
    return tuple(int(part) for part in numbers.split("."))
