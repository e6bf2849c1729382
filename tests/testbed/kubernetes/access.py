"""A running cluster: a client and a kubectl with an administrator's rights, and kubeconfigs for other users.

Parallel test processes share a cluster by handing on the facts that are given here.
"""

import os
import subprocess
import uuid
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from tests.testbed import programs
from tests.testbed.kubernetes import kubeconfig
from tests.testbed.kubernetes.client import Client
from tests.testbed.kubernetes.identities import Identities

TOKEN_SECONDS = 3600


class KubectlError(RuntimeError):
    """kubectl, or the API server that it asked, refused."""


class Access:
    """A cluster with an administrator's rights. The folder is where further kubeconfigs are written."""

    def __init__(self, folder: Path, *, kubectl: Path) -> None:
        self.folder = folder
        self.kubeconfig = folder / "admin.kubeconfig"
        self.kubectl_program = kubectl
        self._identities = Identities(folder / "identities")

    @classmethod
    def attach(cls, facts: dict[str, Any]) -> Self:
        """Reach a cluster that another process started, and show its logs where a test of this one fails."""
        folder = Path(facts["folder"])
        for log in folder.glob("*.log"):
            programs.attach(log.stem, log)
        return cls(folder, kubectl=Path(facts["kubectl"]))

    def facts(self) -> dict[str, Any]:
        return {"folder": str(self.folder), "kubectl": str(self.kubectl_program)}

    @property
    def url(self) -> str:
        return str(self._cluster()["server"])

    @cached_property
    def client(self) -> Client:
        """The administrator's client. `kubectl` is for tests of what kubectl shows or does."""
        return Client(self.kubeconfig)

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """Run kubectl as administrator and return what it prints."""
        return self.kubectl_as(self.kubeconfig, *arguments, stdin=stdin)

    def kubectl_as(self, who: Path, *arguments: str, stdin: str = "") -> str:
        """Run kubectl as the user of a kubeconfig."""
        outcome = subprocess.run(
            [self.kubectl_program, f"--kubeconfig={who}", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env=self.kubectl_environment(),
        )
        if outcome.returncode:
            shown = " ".join(arguments)
            raise KubectlError(f"`kubectl {shown}` failed (exit code {outcome.returncode}): {outcome.stderr.strip()}")
        return outcome.stdout

    def may(self, who: Path, verb: str, resource: str, namespace: str) -> bool:
        """Return whether the user of a kubeconfig may do this; a resource is PLURAL[/SUBRESOURCE][.GROUP]."""
        name, _, group = resource.partition(".")
        plural, _, sub = name.partition("/")
        attributes = {"verb": verb, "resource": plural, "subresource": sub, "group": group, "namespace": namespace}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"  # users without rights may not discover it
        return bool(Client(who).request("POST", path, review)["status"]["allowed"])

    def kubectl_environment(self) -> dict[str, str]:
        """Return the environment for kubectl: what it remembers of a cluster must not outlive it on a reused port."""
        return {**os.environ, "KUBECACHEDIR": str(self.folder / "kubectl-cache")}

    def kubeconfig_for(self, user: str, groups: Sequence[str] = ()) -> Path:
        """Return the kubeconfig of a user, in these groups, who has no rights until RBAC gives some."""
        if not self._identities.folder.exists():
            raise RuntimeError(f"{self.url} was not started by the testbed, which cannot make users there.")
        certificate = self._identities.user(user, groups)
        return kubeconfig.write(self._new_path(user), self._cluster(), kubeconfig.certificate_user(certificate))

    def kubeconfig_for_service_account(self, namespace: str, name: str) -> Path:
        """Return the kubeconfig that a pod of this service account would have (by TokenRequest)."""
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS},
        }
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        token = self.client.request("POST", path, request)["status"]["token"]
        return kubeconfig.write(self._new_path(name), self._cluster(), {"token": token}, namespace)

    def _cluster(self) -> dict[str, Any]:
        return kubeconfig.read_cluster(self.kubeconfig)

    def _new_path(self, name: str) -> Path:
        readable = "".join(letter if letter.isalnum() else "-" for letter in name)
        return self.folder / f"{readable}-{uuid.uuid4().hex[:8]}.kubeconfig"


class Namespace:
    """A namespace of a test's own; what the test does without naming one happens here."""

    def __init__(self, cluster: Access, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.kubeconfig = kubeconfig.write_in_namespace(
            cluster.folder / f"{name}.kubeconfig", cluster.kubeconfig, namespace=name
        )
        self.client = Client(self.kubeconfig, name)

    @classmethod
    def create(cls, cluster: Access, name: str) -> Self:
        """Make a namespace, with the service account that a controller would make in it."""
        cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        namespace = cls(cluster, name)
        namespace.client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
        return namespace

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        return self.cluster.kubectl_as(self.kubeconfig, *arguments, stdin=stdin)

    def kubeconfig_for_service_account(self, name: str) -> Path:
        return self.cluster.kubeconfig_for_service_account(self.name, name)
