"""Service accounts that may do some of what the operator does."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock_operator.constants import GROUP
from penstock_operator.resources import KINDS
from tests.testbed.kubernetes.access import Namespace

NAME = "operator"
RBAC = "rbac.authorization.k8s.io"
Kinds = Mapping[str, Sequence[str]]
OUR_KINDS: Kinds = {GROUP: [kind.plural for kind in KINDS]}
WORKER_KINDS: Kinds = {
    "apps": ["deployments"],
    "": ["pods", "configmaps"],
    "policy": ["poddisruptionbudgets"],
    "networking.k8s.io": ["networkpolicies"],
}
"""Plurals by API group."""


def create_account(namespace: Namespace) -> Path:
    """Create a service account without rights, and return its kubeconfig."""
    namespace.client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME}})
    return namespace.kubeconfig_for_service_account(NAME)


def grant(namespace: Namespace, role: str, kinds: Kinds, *verbs: str) -> None:
    """Let the service account do this in its namespace, by a new role."""
    rules = [{"apiGroups": [group], "resources": plurals, "verbs": verbs} for group, plurals in kinds.items()]
    metadata, version = {"name": role}, f"{RBAC}/v1"
    bound = {
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": namespace.name}],
    }
    namespace.client.create(
        {"apiVersion": version, "kind": "Role", "metadata": metadata, "rules": rules},
        {"apiVersion": version, "kind": "RoleBinding", "metadata": metadata, **bound},
    )
