"""The configuration file of a nats-server, in parts."""

from collections.abc import Mapping
from typing import Any

Fragment = Mapping[str, Any]
"""A part of a configuration, merged into the rest of it key by key."""


def merged(base: Fragment, addition: Fragment) -> dict[str, Any]:
    """Lay a fragment over a configuration: maps are merged, anything else is replaced."""
    result = dict(base)
    for key, value in addition.items():
        both_maps = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = merged(result[key], value) if both_maps else value
    return result
