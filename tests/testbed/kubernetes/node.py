"""A whole node: everything of Kubernetes, and pods that run, in Linux namespaces of its own.

What the node needs of the machine is in host.py; what keeps it apart from the machine in namespaces.py. It reaches
nothing but this machine, and pulls no image.
"""

import json
import sys
from pathlib import Path

import yaml

from tests.testbed import binaries, ports, run
from tests.testbed.certificates import CertificateFiles
from tests.testbed.kubernetes import assets, cgroups, host, kubeconfig
from tests.testbed.kubernetes.cluster import Cluster
from tests.testbed.kubernetes.control_plane import api_server_flags, etcd_flags, serves, write_administrator
from tests.testbed.kubernetes.identities import Identities
from tests.testbed.kubernetes.images import write_archive
from tests.testbed.kubernetes.namespaces import Namespaces
from tests.testbed.kubernetes.network import claim_network

NAME = "node"
PAUSE_IMAGE = "penstock.test/pause:1"
API_PORT = 6443
DNS_PORT = 53
KUBELET_PORT = 10250
READY_SECONDS = 120
ETCD_URL, ETCD_PEER_URL = (f"http://{ports.LOOPBACK}:{port}" for port in (2379, 2380))
"""On the loopback interface of the node's own network namespace, where no port is taken."""


class Node(Cluster):
    """A node that this process started, and may break: `programs` can be killed, started and frozen by name."""

    def __init__(self) -> None:
        host.require()
        folder = run.current().new_folder("node")
        self._binaries = assets.node(folder / "bin")
        super().__init__(folder, kubectl=self._binaries / "kubectl")
        self.network = claim_network()
        self.namespaces = Namespaces(folder, self.network)
        self.programs = self.namespaces.programs
        self._certificates = Identities.new(folder / "identities")
        self._url = f"https://{self.network.node}:{API_PORT}"
        write_administrator(self.kubeconfig, self._url, self._certificates)

    def start(self) -> None:
        """Start the node and return when pods can run on it, reach each other and ask for names."""
        cgroups.create(self.network.interface)
        removal = [sys.executable, "-m", "tests.testbed.kubernetes.cgroups", self.network.interface]
        run.current().add_cleanup(self.network.interface, removal)
        self.namespaces.start()
        self._start("containerd", self._containerd())
        self._start("etcd", [self._binaries / "etcd", *etcd_flags(self.folder / "etcd", ETCD_URL, ETCD_PEER_URL)])
        self._start("kube-apiserver", self._api_server())
        self.programs["kube-apiserver"].wait_ready(self._api_serves, READY_SECONDS)
        self._start("kubelet", self._kubelet())
        self._start("kube-controller-manager", self._controllers())
        self._start("kube-scheduler", self._scheduler())
        self._start("kube-proxy", self._proxy())
        self._start("coredns", self._dns())
        self._load_pause_image()
        self.programs["coredns"].wait_ready(lambda: ports.answers(DNS_PORT, self.network.node), READY_SECONDS)
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until pods are put on the node."""
        self.programs["kubelet"].wait_ready(self._is_ready, READY_SECONDS)

    def stop(self) -> None:
        self.namespaces.stop()
        cgroups.remove(self.network.interface)

    def _start(self, name: str, command: list[str | Path]) -> None:
        self.namespaces.program(name, command).start()

    def _api_serves(self) -> bool:
        return serves(self.network.node, API_PORT, self._certificates.authority.certificate)

    def _is_ready(self) -> bool:
        if not ports.answers(KUBELET_PORT, self.network.node):  # what the API server tells may be of an earlier life
            return False
        condition = '{.items[*].status.conditions[?(@.type=="Ready")].status}'
        return self.kubectl("get", "nodes", f"--output=jsonpath={condition}") == "True"

    def _load_pause_image(self) -> None:
        self.programs["containerd"].wait_ready(self.containerd_socket.exists, READY_SECONDS)
        archive = self.folder / "pause.tar"
        self.load_image(write_archive(archive, name=PAUSE_IMAGE, program=binaries.pause()))

    def _containerd(self) -> list[str | Path]:
        self._write_pod_network()
        config = self.folder / "containerd.toml"
        config.write_text(f"""\
version = 2
root = "{self.folder}/containerd/root"
state = "{self.folder}/containerd/state"
[grpc]
  address = "{self.containerd_socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{self.folder}/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true  # without CAP_SYS_RESOURCE runc may not lower it, and fails saying something else
  sandbox_image = "{PAUSE_IMAGE}"
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{self.folder}/cni"
""")
        return ["containerd", "--config", config]

    def _write_pod_network(self) -> None:
        """Route between each pod and the node over a veth pair: a bridge would hide answers from kube-proxy."""
        path = self.folder / "cni" / "10-pods.conflist"
        path.parent.mkdir()
        addresses = {
            "type": "host-local",
            "dataDir": str(self.folder / "cni-addresses"),
            "ranges": [[{"subnet": self.network.pods}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        }
        plugins = [{"type": "ptp", "ipMasq": False, "ipam": addresses}]
        path.write_text(json.dumps({"cniVersion": "1.0.0", "name": "pods", "plugins": plugins}))

    def _api_server(self) -> list[str | Path]:
        client = self._certificates.administrator().write(self._certificates.folder, "kube-apiserver-client")
        return [
            self._binaries / "kube-apiserver",
            *api_server_flags(self.network.node, self._certificates, services=self.network.services),
            f"--etcd-servers={ETCD_URL}",
            f"--secure-port={API_PORT}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--kubelet-certificate-authority={self._certificates.authority.certificate}",
            f"--kubelet-client-certificate={client.certificate}",
            f"--kubelet-client-key={client.key}",
            "--kubelet-preferred-address-types=InternalIP",
        ]

    def _kubelet(self) -> list[str | Path]:
        user = f"system:node:{NAME}"
        serving = self._certificates.server("kubelet", [NAME, self.network.node], user=user, groups=["system:nodes"])
        data = self.folder / "kubelet"
        return [
            self._binaries / "kubelet",
            f"--config={self._write_kubelet_config(serving)}",
            f"--kubeconfig={self._kubeconfig(user, 'system:nodes')}",
            f"--root-dir={data}",
            f"--cert-dir={data}/pki",
            f"--hostname-override={NAME}",
            f"--node-ip={self.network.node}",
        ]

    def _write_kubelet_config(self, serving: CertificateFiles) -> Path:
        resolver = self.folder / "resolv.conf"
        resolver.write_text("")  # pods look up what the cluster's DNS knows, and nothing of this machine's
        settings = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "x509": {"clientCAFile": str(self._certificates.authority.certificate)},
                "webhook": {"enabled": True},
                "anonymous": {"enabled": False},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": str(serving.certificate),
            "tlsPrivateKeyFile": str(serving.key),
            "containerRuntimeEndpoint": f"unix://{self.containerd_socket}",
            "clusterDNS": [self.network.node],
            "clusterDomain": "cluster.local",
            "resolvConf": str(resolver),
            "cgroupRoot": f"/{self.network.interface}",
            "cgroupDriver": "cgroupfs",
            "failCgroupV1": False,
            "failSwapOn": False,
            "enforceNodeAllocatable": [],
            "makeIPTablesUtilChains": False,
            "evictionHard": {},  # a full disk of the machine is not this node's to tidy up:
            "imageGCHighThresholdPercent": 100,  # images were loaded once, and could not be pulled again
            "registerWithTaints": [],
        }
        path = self.folder / "kubelet.yaml"
        path.write_text(yaml.safe_dump(settings))
        return path

    def _controllers(self) -> list[str | Path]:
        authority = self._certificates.authority
        return [
            self._binaries / "kube-controller-manager",
            f"--kubeconfig={self._kubeconfig('system:kube-controller-manager')}",
            f"--service-account-private-key-file={self._certificates.service_account_key}",
            f"--root-ca-file={authority.certificate}",
            f"--cluster-signing-cert-file={authority.certificate}",
            f"--cluster-signing-key-file={authority.key}",
            "--use-service-account-credentials",
            "--leader-elect=false",
        ]

    def _scheduler(self) -> list[str | Path]:
        user = self._kubeconfig("system:kube-scheduler")
        return [self._binaries / "kube-scheduler", f"--kubeconfig={user}", "--leader-elect=false"]

    def _proxy(self) -> list[str | Path]:
        return [
            self._binaries / "kube-proxy",
            f"--kubeconfig={self._kubeconfig('system:kube-proxy')}",
            "--proxy-mode=nftables",
            f"--hostname-override={NAME}",
            f"--cluster-cidr={self.network.pods}",
            "--conntrack-max-per-core=0",  # limits of the machine's, which are not ours to set
            "--conntrack-tcp-timeout-established=0s",
            "--conntrack-tcp-timeout-close-wait=0s",
        ]

    def _dns(self) -> list[str | Path]:
        config = self.folder / "Corefile"
        config.write_text(f"""\
.:53 {{
  bind {self.network.node}
  errors
  kubernetes cluster.local {{
    endpoint {self._url}
    kubeconfig {self.kubeconfig}
  }}
}}
""")
        return [binaries.coredns(), "-conf", config]

    def _kubeconfig(self, user: str, *groups: str) -> Path:
        cluster = kubeconfig.cluster(self._url, self._certificates.authority_pem)
        certificate = self._certificates.user(user, groups)
        path = self.folder / f"{user.replace(':', '-')}.kubeconfig"
        return kubeconfig.write(path, cluster, kubeconfig.certificate_user(certificate))
