"""Kubernetes objects that tests of a cluster create."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock_operator.constants import API_VERSION
from penstock_operator.resources import KINDS
from tests.testbed.kubernetes.access import Namespace

Json = dict[str, Any]

CRDS = [f"crd/{kind.resource}" for kind in KINDS]
"""The CustomResourceDefinitions of Penstock."""
RBAC = "rbac.authorization.k8s.io"


def manifest(kind: str, name: str, spec: Any) -> Json:  # noqa: ANN401 - JSON
    """Return the manifest of one of Penstock's kinds."""
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def stream(name: str) -> Json:
    """Return a Stream of the Connection `nats`, with subjects of its own."""
    return manifest("Stream", name, {"connectionRef": {"name": "nats"}, "subjects": [f"{name}.>"]})


def config_map(name: str, files: Mapping[str, str]) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": files}


def secret(name: str, files: Mapping[str, bytes]) -> Json:
    strings = {key: content.decode() for key, content in files.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": strings}


def grant(namespace: Namespace, role: str, service_account: str, rules: Sequence[Mapping[str, Any]]) -> None:
    """Create a Role, and bind it to a service account."""
    subject = {"kind": "ServiceAccount", "name": service_account, "namespace": namespace.name}
    named = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": role}}
    reference = {"apiGroup": RBAC, "kind": "Role", "name": role}
    namespace.client.create(
        {**named, "kind": "Role", "rules": rules},
        {**named, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]},
    )
