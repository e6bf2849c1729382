"""An object that somebody declared, as its home shows it: what it says, and what the home keeps about it.

Knows how a manifest is read, and that one may be wrong. Does not know what follows from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError
from typing_extensions import override

from penstock_operator.plan.faults import fault_of
from penstock_operator.resources import KINDS, ConsumerSpec, StreamSpec
from penstock_operator.resources.management import Management
from penstock_operator.resources.part import Part

BY_NAME = {kind.name: kind for kind in KINDS}
FIRST_GENERATION = 1
UNDATED = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """Which object is meant."""

    kind: str
    namespace: str
    name: str

    @override
    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One object. `spec` is None exactly if it cannot be understood, and `fault` then says why."""

    identity: Identity
    uid: str
    generation: int
    created_at: datetime
    spec: Part | None
    fault: str = ""
    annotations: Mapping[str, str]
    finalizers: tuple[str, ...] = ()
    deleting: bool = False
    resource_version: str = ""
    status: Mapping[str, Any]
    """As it was last written, in camelCase."""

    @property
    def management(self) -> Management | None:
        """How far Penstock may go with what a Stream or Consumer declares; None for what declares nothing."""
        return self.spec.management if isinstance(self.spec, StreamSpec | ConsumerSpec) else None

    @classmethod
    def read(cls, manifest: Mapping[str, Any], before: "Declared | None" = None) -> "Declared":
        """Read an object, as the API server or a file has it. Whatever is wrong with it is told by `fault`.

        What was read of it before spares the work of understanding the same generation of its spec again.
        """
        metadata = _mapping(manifest.get("metadata"))
        identity = Identity(
            str(manifest.get("kind") or ""), str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
        )
        uid, generation = str(metadata.get("uid") or ""), _generation(metadata.get("generation"))
        if before and uid and (before.uid, before.generation) == (uid, generation):
            spec, fault = before.spec, before.fault
        else:
            spec, fault = _spec(identity, manifest)
        return cls(
            identity=identity,
            uid=uid,
            generation=generation,
            created_at=_time(metadata.get("creationTimestamp")),
            spec=spec,
            fault=fault,
            annotations={str(name): str(text) for name, text in _mapping(metadata.get("annotations")).items()},
            finalizers=_texts(metadata.get("finalizers")),
            deleting=metadata.get("deletionTimestamp") is not None,
            resource_version=str(metadata.get("resourceVersion") or ""),
            status=_mapping(manifest.get("status")),
        )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _generation(value: object) -> int:
    return value if isinstance(value, int) else FIRST_GENERATION


def _time(value: object) -> datetime:
    """Return a time as the API server writes it. A file has none: all of its objects are of the same age."""
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return UNDATED
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _spec(identity: Identity, manifest: Mapping[str, Any]) -> tuple[Part | None, str]:
    kind = BY_NAME.get(identity.kind)
    if kind is None:
        return None, f"There is no kind {identity.kind!r}; there are {', '.join(BY_NAME)}."
    written = manifest.get("spec")
    if not isinstance(written, Mapping):
        return None, "spec is missing, or it is not a mapping of fields to values."
    try:
        spec = kind.spec.read(written)
    except ValidationError as error:
        return None, fault_of(error)
    faults = kind.faults(identity.name, spec)
    return (None, " ".join(faults)) if faults else (spec, "")
