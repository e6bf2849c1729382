"""A home, as services see it: where declared objects live, and where is written what became of them.

Kubernetes is one (storage), a folder of manifests on a laptop is the other (local). Knows what is asked of either.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from penstock_operator.plan.decision import Note
from penstock_operator.plan.declared import Declared
from penstock_operator.storage.errors import HomeError, ObjectChangedError

__all__ = ["Home", "HomeError", "ObjectChangedError"]


class Home(Protocol):
    """What services ask of a home. Each call ends within a deadline of the home's own."""

    async def write_status(self, declared: Declared, status: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Replace the object's status, and return the object after that; None if the home has no other writers."""

    async def write_finalizers(self, declared: Declared, finalizers: Sequence[str]) -> Mapping[str, Any] | None:
        """Replace the object's finalizers if they are as they were read, and return the object as write_status does."""

    async def exists(self, declared: Declared) -> bool:
        """Tell whether the object is still there: this very one, not another that has only its name."""

    async def tell(self, declared: Declared, note: Note) -> None:
        """Tell people about it, as an event."""

    async def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """Return a Secret's data; None if there is no such Secret."""

    async def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """Return the labels of a namespace."""
