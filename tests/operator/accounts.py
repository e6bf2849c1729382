"""Service accounts with some of the rights that the operator, or a person, has."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock_operator.constants import GROUP
from penstock_operator.resources import KINDS
from tests.testbed.kubernetes.access import Namespace

NAME = "operator"
RBAC = "rbac.authorization.k8s.io"
Kinds = Mapping[str, Sequence[str]]
"""Plurals by API group."""
OUR_KINDS: Kinds = {GROUP: [kind.plural for kind in KINDS]}
WORKER_KINDS: Kinds = {
    "apps": ["deployments"],
    "": ["pods", "configmaps"],
    "policy": ["poddisruptionbudgets"],
    "networking.k8s.io": ["networkpolicies"],
}


def create_account(namespace: Namespace, name: str = NAME) -> Path:
    """Create a service account without rights, and return its kubeconfig."""
    namespace.client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    return namespace.kubeconfig_for_service_account(name)


def grant(namespace: Namespace, role: str, kinds: Kinds, *verbs: str, to: str = NAME) -> None:
    """Allow a service account these verbs in its namespace, by a new role."""
    rules = [{"apiGroups": [group], "resources": plurals, "verbs": verbs} for group, plurals in kinds.items()]
    of_rbac = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": role}}
    reference = {"apiGroup": RBAC, "kind": "Role", "name": role}
    subject = {"kind": "ServiceAccount", "name": to, "namespace": namespace.name}
    namespace.client.create(
        {**of_rbac, "kind": "Role", "rules": rules},
        {**of_rbac, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]},
    )
