"""An API server that judges manifests by the hundred: kubectl would be a process for each.

Knows how objects are created and replaced, for show or in earnest. Does not know what is right.
"""

import json
from collections.abc import Mapping
from typing import Any

from kubernetes import config
from kubernetes.client import ApiClient, ApiException, CustomObjectsApi

from penstock_operator.constants import API_VERSION, GROUP, VERSION
from penstock_operator.resources import Kind
from tests.operator.resources.judging import sentences
from tests.testbed.kubernetes.access import Access

Json = dict[str, Any]
NAMESPACE = "default"
REFUSALS = {400, 422}


class RefusedError(Exception):
    """The API server refuses a manifest, and says why."""


class Judge:
    """Asks the API server. What is created in earnest has the name that the caller gives it."""

    def __init__(self, plane: Access, namespace: str = NAMESPACE) -> None:
        self._namespace = namespace
        client: ApiClient = config.new_client_from_config(str(plane.kubeconfig))  # type: ignore[no-untyped-call]
        self._objects = CustomObjectsApi(client)

    def kept(self, kind: Kind, spec: Json, name: str = "one") -> Json:
        """Return the spec that would be kept if it were created."""
        return self._asked(
            self._objects.create_namespaced_custom_object, kind, [], _manifest(kind, spec, name), dry_run="All"
        )

    def create(self, kind: Kind, spec: Json, name: str) -> None:
        self._asked(self._objects.create_namespaced_custom_object, kind, [], _manifest(kind, spec, name))

    def kept_after_change(
        self, kind: Kind, spec: Json, name: str, annotations: Mapping[str, str] | None = None
    ) -> Json:
        """Return the spec that would be kept if it took the place of the one that was created."""
        there: Any = self._objects.get_namespaced_custom_object(GROUP, VERSION, self._namespace, kind.plural, name)
        metadata = {**there["metadata"], "annotations": dict(annotations or {})}
        changed = {**there, "metadata": metadata, "spec": spec}
        return self._asked(self._objects.replace_namespaced_custom_object, kind, [name], changed, dry_run="All")

    def _asked(self, request: Any, kind: Kind, names: list[str], manifest: Json, **how: str) -> Json:  # noqa: ANN401 - a method of the client
        where = (GROUP, VERSION, self._namespace, kind.plural, *names)
        try:
            answer = request(*where, manifest, field_validation="Strict", **how)
        except ApiException as refusal:
            if refusal.status not in REFUSALS:
                raise
            raise RefusedError(json.loads(str(refusal.body))["message"]) from None
        kept: Json = answer["spec"]
        return kept


def _manifest(kind: Kind, spec: Json, name: str) -> Json:
    return {"apiVersion": API_VERSION, "kind": kind.name, "metadata": {"name": name}, "spec": spec}


def sentence_that_begins(kind: Kind, beginning: str) -> str:
    """Return the one sentence of the kind's rules that begins so."""
    [sentence] = [sentence for sentence in sentences(kind) if sentence.startswith(beginning)]
    return sentence
