"""A contender: an operator that makes streams and consumers of what is declared to it, and its manifests.

Knows what both have in common, so that one client can declare to either. Both declare the same streams and consumers:
file storage, one subject each; explicit acks and 30 s to give them.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAMESPACE = "bench"

Manifest = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Where:
    """What an operator is told when it starts."""

    nats_url: str
    probes_port: int


@dataclass(frozen=True, kw_only=True)
class Contender:
    name: str
    title: str
    group: str
    version: str
    crds: Callable[[], str]
    """The CustomResourceDefinitions, as YAML or JSON."""
    before: Callable[[Where], list[Manifest]]
    """What is declared before any stream."""
    stream: Callable[[str], Manifest]
    """The spec of the stream of this name."""
    consumer: Callable[[str], Manifest]
    """The spec of the consumer of this name, of the stream of this name."""
    command: Callable[[Where], list[str | Path]]

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    def manifest(self, kind: str, name: str) -> str:
        """Return the object to create."""
        spec = self.stream(name) if kind == "Stream" else self.consumer(name)
        metadata = {"name": name, "namespace": NAMESPACE}
        return json.dumps({"apiVersion": self.api_version, "kind": kind, "metadata": metadata, "spec": spec})

    def path(self, kind: str) -> str:
        """Return where at the API server objects of this kind are."""
        return f"/apis/{self.api_version}/namespaces/{NAMESPACE}/{kind.lower()}s"
