"""A namespace of a cluster for tests of commands, which takes the place of the operator."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import Result

from tests.operator.cli.commands import Declared, penstock
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.client import Object

RBAC = "rbac.authorization.k8s.io"


class ClusterScene:
    """Manifests, and a namespace where they may be applied."""

    def __init__(self, namespace: Namespace, declared: Declared) -> None:
        self.namespace = namespace
        self.declared = declared
        self.client = namespace.client

    def apply(self) -> None:
        """Apply all manifests without the command."""
        self.client.apply(*self.declared.objects())

    def run(self, *arguments: str | Path) -> Result:
        return penstock(*arguments, kubeconfig=self.namespace.kubeconfig)

    def run_with_files(self, command: str, *arguments: str | Path) -> Result:
        """Run a command over the manifests and the cluster."""
        return self.run(command, "-f", self.declared.folder, "--home", "kubernetes", *arguments)

    def data(self, *arguments: str | Path) -> Any:  # noqa: ANN401 - JSON
        return json.loads(self.run(*arguments, "-o", "json").stdout)

    def set_status(self, what: str, status: Object, *, ready: bool = True) -> None:
        """Write the status that the operator would write for the object as it is declared now."""
        condition = {
            "type": "Ready",
            "status": str(ready),
            "reason": "InSync" if ready else "Suspended",
            "message": "Written by the test.",
            "lastTransitionTime": "2026-01-31T12:00:00Z",
            "observedGeneration": self.client.get(what)["metadata"]["generation"],
        }
        self.client.patch(what, {"status": {"conditions": [condition], **status}}, subresource="status")

    def allow(self, name: str, rules: Sequence[Object], subject: Object) -> None:
        """Create a role with these rules, and bind it."""
        of_rbac = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": name}}
        reference = {"apiGroup": RBAC, "kind": "Role", "name": name}
        self.client.create(
            {**of_rbac, "kind": "Role", "rules": rules},
            {**of_rbac, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]},
        )
