"""What kopf keeps of an object to compare it with later: nothing, as our handlers are told of events, not of changes.

kopf would copy each object twice per event otherwise, for handlers that we do not have. Knows kopf's storage.
"""

from typing import Any

import kopf
from typing_extensions import override


class NoEssence(kopf.DiffBaseStorage):
    """Every object is to kopf as it was before."""

    @override
    def build(self, *, body: kopf.Body, extra_fields: Any = None) -> kopf.BodyEssence:
        return kopf.BodyEssence()

    @override
    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:
        return None

    @override
    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        pass
