"""Kubernetes objects in memory: generations, finalizers, resource versions and deletion, without watches."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

Manifest = dict[str, Any]


class StaleError(Exception):
    """The object is not as it was when it was read."""


class Home:
    """Objects by kind and name, all in one namespace."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Manifest] = {}
        self.writes = 0
        self.gone: list[Manifest] = []
        self._version = 0

    def create(self, kind: str, name: str, spec: Mapping[str, Any], *, created: str) -> None:
        metadata = {"name": name, "namespace": "shop", "uid": f"u{self._version}", "creationTimestamp": created}
        whole = {"kind": kind, "metadata": {**metadata, "generation": 1, "annotations": {}, "finalizers": []}}
        self.objects[kind, name] = self._next({**whole, "spec": dict(spec), "status": {}})

    def edit(self, key: tuple[str, str], change: Callable[[dict[str, Any]], None]) -> None:
        """Change the spec; a change that changes something makes a generation."""
        manifest = self.objects[key]
        before = deepcopy(manifest["spec"])
        change(manifest["spec"])
        if manifest["spec"] != before:
            manifest["metadata"]["generation"] += 1
            self._next(manifest)

    def annotate(self, key: tuple[str, str], name: str, text: str | None) -> None:
        annotations = self.objects[key]["metadata"]["annotations"]
        annotations.pop(name, None)
        if text is not None:
            annotations[name] = text
        self._next(self.objects[key])

    def delete(self, key: tuple[str, str]) -> None:
        manifest = self.objects[key]
        if "deletionTimestamp" not in manifest["metadata"]:
            manifest["metadata"]["deletionTimestamp"] = "2026-11-18T13:00:00Z"
            manifest["metadata"]["generation"] += 1
            self._next(manifest)
        self._go_if_free(key)

    def read(self, key: tuple[str, str]) -> Manifest | None:
        return deepcopy(self.objects.get(key))

    def write_status(self, read: Manifest, status: Mapping[str, Any]) -> None:
        manifest = self._same(read)
        if manifest["status"] == status:
            raise AssertionError(f"A status was written that says nothing new: {status}")
        manifest["status"] = dict(status)
        self.writes += 1
        self._next(manifest)

    def write_finalizers(self, read: Manifest, finalizers: Sequence[str]) -> None:
        manifest = self._same(read)
        if manifest["metadata"]["resourceVersion"] != read["metadata"]["resourceVersion"]:
            raise StaleError
        if "deletionTimestamp" in manifest["metadata"] and set(finalizers) - set(manifest["metadata"]["finalizers"]):
            raise StaleError  # the API server lets no finalizer be added to what is being deleted
        manifest["metadata"]["finalizers"] = list(finalizers)
        self.writes += 1
        self._next(manifest)
        self._go_if_free((manifest["kind"], manifest["metadata"]["name"]))

    def _same(self, read: Manifest) -> Manifest:
        """Return the object that was read as it is now, not another one of the same name."""
        manifest = self.objects.get((read["kind"], read["metadata"]["name"]))
        if manifest is None or manifest["metadata"]["uid"] != read["metadata"]["uid"]:
            raise StaleError
        return manifest

    def _go_if_free(self, key: tuple[str, str]) -> None:
        metadata = self.objects[key]["metadata"]
        if "deletionTimestamp" in metadata and not metadata["finalizers"]:
            self.gone.append(self.objects.pop(key))

    def _next(self, manifest: Manifest) -> Manifest:
        self._version += 1
        manifest["metadata"]["resourceVersion"] = str(self._version)
        return manifest
