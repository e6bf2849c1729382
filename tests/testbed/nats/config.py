"""The configuration file of a nats-server, in parts."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

Fragment = Mapping[str, Any]
"""A part of a configuration, merged into the rest of it key by key."""


def text(parts: Iterable[Fragment]) -> str:
    """Return the configuration file of parts laid over each other. It is JSON, which the server reads, too."""
    document: dict[str, Any] = {}
    for part in parts:
        document = merged(document, part)
    return json.dumps(document, indent=2, ensure_ascii=False)  # the server does not read \u escapes


def merged(base: Fragment, addition: Fragment) -> dict[str, Any]:
    """Lay a fragment over a configuration: maps are merged, anything else is replaced."""
    result = dict(base)
    for key, value in addition.items():
        both_maps = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = merged(result[key], value) if both_maps else value
    return result
