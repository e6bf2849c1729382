"""Manifests as plain values, and the print that tells two of them apart.

Knows JSON. Does not know any kind of object.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

Manifest = Mapping[str, Any]
PRINT_LETTERS = 16
"""Of a hash: 64 bits, and it fits into a label with room to spare."""


def print_of(value: object) -> str:
    """Return a print that two values share exactly if they are the same JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:PRINT_LETTERS]


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping, or an empty one for what is none: whoever wrote that is told so by the API server."""
    return value if isinstance(value, Mapping) else {}


def as_mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the mappings of a list, likewise."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return [item for item in value if isinstance(item, Mapping)] if is_list else []  # type: ignore[attr-defined]
