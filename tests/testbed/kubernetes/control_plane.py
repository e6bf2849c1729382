"""A control plane alone: etcd and a real API server on loopback, ready in seconds, without root.

There are no controllers, no scheduler and no node: objects are validated, authorised, kept and watched, and nothing
acts on them. So a namespace that is deleted stays "Terminating", no owner takes its objects along, the roles that
controllers put together (view, edit, admin) are empty, and what controllers would make in a new namespace has to be
made by whoever wants it. Controllers can be had one by one.
"""

import contextlib
import http.client
import ipaddress
import json
import ssl
from pathlib import Path
from typing import Any

from tests.testbed import ports, run
from tests.testbed.kubernetes import assets, kubeconfig
from tests.testbed.kubernetes.access import Access
from tests.testbed.kubernetes.identities import Identities
from tests.testbed.programs import Program

READY_SECONDS = 120  # a cold disk, a laptop on battery; warm it takes three
SERVICES = "10.96.0.0/16"
SERVICE_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


class ControlPlane(Access):
    """A control plane that this process started, and may break."""

    def __init__(self, *flags_of_the_api_server: str) -> None:
        folder = run.current().new_folder("control-plane")
        self.audit = Audit(folder)
        programs = assets.control_plane(folder / "bin")
        super().__init__(folder, kubectl=programs / "kubectl")
        self.port = ports.free_port()
        identities = Identities.new(folder / "identities")
        write_administrator(self.kubeconfig, f"https://{ports.LOOPBACK}:{self.port}", identities)
        etcd_url, peer_url = (f"http://{ports.LOOPBACK}:{ports.free_port()}" for _ in range(2))
        self.etcd = Program("etcd", [programs / "etcd", *etcd_flags(folder / "etcd", etcd_url, peer_url)], folder)
        flags = [
            f"--etcd-servers={etcd_url}",
            f"--secure-port={self.port}",
            "--authorization-mode=RBAC",
            "--endpoint-reconciler-type=none",  # a loopback address cannot be an endpoint
            *self.audit.flags(),
            *api_server_flags(ports.LOOPBACK, identities, services=SERVICES),
            *flags_of_the_api_server,
        ]
        self.api_server = Program("kube-apiserver", [programs / "kube-apiserver", *flags], folder)
        self.controllers: Program | None = None

    def start(self) -> None:
        self.etcd.start()
        self.start_api_server()

    def start_api_server(self) -> None:
        """Start the API server, the first time or again, on its port and with what etcd holds."""
        self.api_server.start()
        self.api_server.wait_ready(self.is_ready, READY_SECONDS)

    def start_controllers(self, *names: str) -> None:
        """Start some of the controllers that every cluster has, such as the one that empties namespaces."""
        program = assets.controllers(self.folder / "controllers") / "kube-controller-manager"
        flags = [
            f"--kubeconfig={self.kubeconfig}",
            f"--controllers={','.join(names)}",
            "--leader-elect=false",
            "--secure-port=0",
        ]
        self.controllers = Program("kube-controller-manager", [program, *flags], self.folder)
        self.controllers.start()

    def is_ready(self) -> bool:
        return serves(ports.LOOPBACK, self.port, self._identities.authority.certificate)

    def stop(self) -> None:
        if self.controllers:
            self.controllers.stop()
        self.api_server.stop()
        self.etcd.stop()


class Audit:
    """The API server's own account of what service accounts asked of it."""

    def __init__(self, folder: Path) -> None:
        self._policy, self._log = folder / "audit-policy.json", folder / "audit.jsonl"

    def flags(self) -> list[str]:
        """Write the policy, and return what makes the API server follow it."""
        rules = [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}]
        policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": rules}
        self._policy.write_text(json.dumps(policy))
        return [f"--audit-policy-file={self._policy}", f"--audit-log-path={self._log}"]

    def entries(self) -> list[dict[str, Any]]:
        """Return what was answered, and once more what was answered bit by bit, as a watch is, when it has ended."""
        whole, _, _ = self._log.read_text().rpartition("\n")  # the last may not be written to its end
        return [json.loads(line) for line in whole.splitlines()]


def etcd_flags(data: Path, url: str, peer_url: str) -> list[str]:
    """Return the flags of a single member that does not wait for the disk: no test outlives a power failure."""
    return [
        f"--data-dir={data}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=default={peer_url}",
        "--unsafe-no-fsync",
    ]


def api_server_flags(address: str, identities: Identities, *, services: str) -> list[str]:
    """Return what an API server of ours is told, whether it has a node or not."""
    for_pods = str(ipaddress.ip_network(services)[1])  # the first address for services is the API server's
    serving = identities.server("kube-apiserver", [*SERVICE_NAMES, ports.LOOPBACK, for_pods, address])
    return [
        f"--bind-address={address}",
        f"--advertise-address={address}",
        f"--service-cluster-ip-range={services}",
        f"--client-ca-file={identities.authority.certificate}",
        f"--tls-cert-file={serving.certificate}",
        f"--tls-private-key-file={serving.key}",
        f"--service-account-key-file={identities.service_account_key}",
        f"--service-account-signing-key-file={identities.service_account_key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--allow-privileged",
    ]


def write_administrator(path: Path, url: str, identities: Identities) -> None:
    """Write the kubeconfig that may do everything."""
    user = kubeconfig.certificate_user(identities.administrator())
    kubeconfig.write(path, kubeconfig.cluster(url, identities.authority_pem), user)


def serves(address: str, port: int, authority: Path) -> bool:
    """Tell whether an API server says that it is ready, with RBAC's roles and the first namespaces made."""
    trust = ssl.create_default_context(cafile=str(authority))
    with contextlib.closing(http.client.HTTPSConnection(address, port, timeout=5, context=trust)) as connection:
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):  # not listening yet, or dying
            return False
