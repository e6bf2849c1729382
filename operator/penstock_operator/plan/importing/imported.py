"""What an import brings: manifests, each with remarks for whoever reads it, and what could not be brought.

Knows the shapes of manifests. Does not know where they come from, nor how they are printed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from penstock_operator.constants import API_VERSION
from penstock_operator.resources import Kind


@dataclass(frozen=True, slots=True)
class Imported:
    """A manifest of ours."""

    manifest: Mapping[str, Any]
    remarks: tuple[str, ...] = ()
    """What a reader should know, each a sentence or two."""


@dataclass(frozen=True, slots=True)
class Imports:
    objects: tuple[Imported, ...]
    left_out: tuple[str, ...]
    """What has no equivalent, each a sentence or two."""


def imported(kind: Kind, metadata: Mapping[str, Any], spec: Mapping[str, Any], remarks: tuple[str, ...]) -> Imported:
    """Return the manifest; if its own model would refuse it, a remark says why."""
    manifest = {"apiVersion": API_VERSION, "kind": kind.name, "metadata": dict(metadata), "spec": dict(spec)}
    return Imported(manifest, remarks + faults(kind, spec))


def faults(kind: Kind, spec: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        kind.spec.model_validate(spec)
    except ValidationError as problem:
        return tuple(f"Penstock refuses it as it is: {_sentence(error)}" for error in problem.errors())
    return ()


def _sentence(error: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in error["loc"])
    said = str(error["msg"]).removeprefix("Value error, ")
    return f"{where}: {said}" if where else said
