"""Requests to an API server over one connection: what tests would otherwise start a kubectl for.

Objects are dictionaries. They are named as kubectl names them: "stream/orders", "configmap/code", "streams".
"""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from kubernetes import config

from tests.testbed.waiting import WITHIN_SECONDS, eventually

Object = dict[str, Any]

DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON = "application/json"
MANAGER = "tests"
NOT_FOUND, TIMED_OUT = 404, 504
FAILURES = 400
"""The lowest HTTP status that is one."""
ANSWER_SECONDS = 90
"""Longer than an API server takes before it gives a request up."""
DELETION_SECONDS = 600


class RefusedError(RuntimeError):
    """The API server's answer is a failure; the text is its message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """One user's requests. What is namespaced and names no namespace is in `namespace`."""

    def __init__(self, kubeconfig: Path, namespace: str = "default") -> None:
        self._kubeconfig = kubeconfig
        self.namespace = namespace
        self._paths: dict[str, str] = {}

    def create(self, *manifests: Object, dry_run: bool = False) -> Object:
        """Create objects, refusing fields that their kinds don't have, and return the last."""
        query = _creating(dry_run=dry_run)
        answers = [self.request("POST", self._collection(each), each, query=query) for each in manifests]
        return answers[-1]

    def apply(self, *manifests: Object, dry_run: bool = False) -> Object:
        """Apply objects server-side, taking over fields from other managers, and return the last."""
        query = {"fieldManager": MANAGER, "force": "true", **_creating(dry_run=dry_run)}
        answers = []
        for each in manifests:
            path = f"{self._collection(each)}/{each['metadata']['name']}"
            answers.append(self.request("PATCH", path, each, content_type=APPLY, query=query))
        return answers[-1]

    def get(self, what: str, *, subresource: str = "") -> Object:
        return self.request("GET", self._path(what, subresource))

    def find(self, what: str) -> Object | None:
        """Return an object, or None if it doesn't exist."""
        try:
            return self.get(what)
        except RefusedError as refused:
            if refused.status != NOT_FOUND:
                raise
            return None

    def list(self, *kinds: str, selector: str = "") -> Sequence[Object]:
        """Return all objects of these kinds in the namespace, one kind after the other."""
        query = {"labelSelector": selector} if selector else {}
        return [item for kind in kinds for item in self.request("GET", self._path(kind), query=query)["items"]]

    def patch(self, what: str, patch: Object, *, subresource: str = "") -> Object:
        """Apply a JSON merge patch."""
        return self.request("PATCH", self._path(what, subresource), patch, content_type=MERGE)

    def annotate(self, what: str, annotations: Mapping[str, str | None]) -> None:
        """Set annotations; None removes one."""
        self.patch(what, {"metadata": {"annotations": annotations}})

    def label(self, what: str, labels: Mapping[str, str | None]) -> None:
        """Set labels; None removes one."""
        self.patch(what, {"metadata": {"labels": labels}})

    def scale(self, what: str, replicas: int) -> None:
        self.patch(what, {"spec": {"replicas": replicas}}, subresource="scale")

    def delete(self, what: str, *, within: float = WITHIN_SECONDS) -> None:
        """Delete an object, and wait until it is gone."""
        uid = self.get(what)["metadata"]["uid"]
        self.begin_deletion(what)

        def is_gone() -> bool:
            found = self.find(what)
            return found is None or found["metadata"]["uid"] != uid

        eventually(is_gone, f"{what} is gone", within)

    def begin_deletion(self, what: str) -> None:
        """Ask for a deletion, which may then wait for finalizers."""
        self.request("DELETE", self._path(what))

    def delete_all(self, *kinds: str, within: float = WITHIN_SECONDS) -> None:
        """Delete all objects of these kinds in the namespace, and wait until they are gone."""
        self.begin_deletion_of_all(*kinds)
        eventually(lambda: not self.list(*kinds), f"all {', '.join(kinds)} are gone", within)

    def begin_deletion_of_all(self, *kinds: str) -> None:
        """Ask for the deletion of a whole collection, kind by kind, as the end of a namespace does."""
        for kind in kinds:
            eventually(
                partial(self._begin_deletion, self._path(kind)), f"deletion of all {kind} is taken", DELETION_SECONDS
            )

    def _begin_deletion(self, path: str) -> bool:
        try:
            self.request("DELETE", path)
        except RefusedError as refusal:
            if refusal.status == TIMED_OUT:  # a busy API server has deleted some of a large collection
                return False
            raise
        return True

    def request(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        content_type: str = JSON,
        accept: str = JSON,
        query: dict[str, str] | None = None,
    ) -> Object:
        """Send one request, and return the answer; raise RefusedError if it is a failure."""
        configuration = self._api.configuration
        headers = {"Accept": accept, "Content-Type": content_type}
        for token in configuration.auth_settings().values():
            headers["Authorization"] = token["value"]
        url = f"{configuration.host}{path}?{urlencode(query or {})}"
        answer = self._api.rest_client.pool_manager.request(
            method, url, body=json.dumps(body) if body is not None else None, headers=headers, timeout=ANSWER_SECONDS
        )
        document: Object = json.loads(answer.data)
        if answer.status >= FAILURES:
            raise RefusedError(answer.status, document["message"])
        return document

    @cached_property
    def _api(self) -> Any:  # noqa: ANN401 - the package has no types
        return config.new_client_from_config(str(self._kubeconfig))  # type: ignore[no-untyped-call]

    def _collection(self, manifest: Object) -> str:
        """Return the path that an object of this kind is created at."""
        path = self._find_path(f"{manifest['kind']}:{manifest['apiVersion']}")
        return path.format(namespace=manifest["metadata"].get("namespace", self.namespace))

    def _path(self, what: str, subresource: str = "") -> str:
        kind, _, name = what.partition("/")
        path = self._find_path(kind.lower()).format(namespace=self.namespace)
        return "/".join(part for part in (path, name, subresource) if part)

    def _find_path(self, name: str) -> str:
        if name not in self._paths:
            self._paths = self._discover()
        if name not in self._paths:
            raise RefusedError(NOT_FOUND, f"The API server has no resource {name}.")
        return self._paths[name]

    def _discover(self) -> dict[str, str]:
        """Return the paths of all resources by every name that they have; of two by the same name, the first."""
        found: dict[str, str] = {}
        for root in ("/api", "/apis"):
            for group in self.request("GET", root, accept=DISCOVERY)["items"]:
                group_name = group["metadata"].get("name", "")
                for version in group["versions"]:
                    api_version = f"{group_name}/{version['version']}".removeprefix("/")
                    for resource in version["resources"]:
                        where = "namespaces/{namespace}/" if resource["scope"] == "Namespaced" else ""
                        path = f"{root}/{api_version}/{where}{resource['resource']}"
                        for name in _names(resource, group_name, api_version):
                            found.setdefault(name, path)
        return found


def _names(resource: Object, group: str, api_version: str) -> Sequence[str]:
    names = [resource["resource"], resource["singularResource"]]
    qualified = [f"{name}.{group}" for name in names if group]
    return [*names, *resource.get("shortNames", ()), *qualified, f"{resource['responseKind']['kind']}:{api_version}"]


def _creating(*, dry_run: bool) -> dict[str, str]:
    return {"fieldValidation": "Strict", **({"dryRun": "All"} if dry_run else {})}
