"""Who else says what a field of an object is, and would say so again: manifests that somebody applies at every change.

Pure. Knows managedFields, as server-side apply keeps them, and the annotation that client-side apply leaves.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
CLIENT_SIDE = "kubectl apply"

Json = Mapping[str, Any]


def who_says(metadata: Json, field: str, *, but: str) -> list[str]:
    """Return who has applied a manifest with this field of the spec, by name, `but` for one of them.

    Whoever has only changed it, as kubectl edit does, will not do so again by itself.
    """
    return [name for name in dict.fromkeys(_appliers(metadata, field)) if name != but]


def _appliers(metadata: Json, field: str) -> Iterator[str]:
    for entry in metadata.get("managedFields") or ():
        if entry.get("operation") == "Apply" and f"f:{field}" in (entry.get("fieldsV1") or {}).get("f:spec", {}):
            yield entry["manager"]
    annotation = (metadata.get("annotations") or {}).get(LAST_APPLIED)
    if annotation and field in _spec(annotation):
        yield CLIENT_SIDE


def _spec(text: str) -> Json:
    try:
        spec = json.loads(text)["spec"]
    except (ValueError, TypeError, KeyError):  # anybody may write there
        return {}
    return spec if isinstance(spec, Mapping) else {}
