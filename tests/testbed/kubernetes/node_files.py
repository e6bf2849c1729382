"""The configuration files of a node's programs."""

import json
from pathlib import Path

import yaml

from tests.testbed.certificates import CertificateFiles
from tests.testbed.kubernetes.network import Network

PAUSE_IMAGE = "penstock.test/pause:1"


def write_containerd(folder: Path, socket: Path) -> Path:
    """Containerd with everything of its own below the folder."""
    path = folder / "containerd.toml"
    path.write_text(f"""\
version = 2
root = "{folder}/containerd/root"
state = "{folder}/containerd/state"
[grpc]
  address = "{socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true  # without CAP_SYS_RESOURCE runc may not lower it, and fails saying something else
  sandbox_image = "{PAUSE_IMAGE}"
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
""")
    return path


def write_pod_network(folder: Path, network: Network) -> Path:
    """A cable from each pod to the node, and routes between: a bridge would hide answers from kube-proxy."""
    path = folder / "cni" / "10-pods.conflist"
    path.parent.mkdir()
    addresses = {
        "type": "host-local",
        "dataDir": str(folder / "cni-addresses"),
        "ranges": [[{"subnet": network.pods}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    plugins = [{"type": "ptp", "ipMasq": False, "ipam": addresses}]
    path.write_text(json.dumps({"cniVersion": "1.0.0", "name": "pods", "plugins": plugins}))
    return path


def write_kubelet(
    folder: Path, socket: Path, *, network: Network, serving: CertificateFiles, authority: Path, cgroup: str
) -> Path:
    resolver = folder / "resolv.conf"
    resolver.write_text("")  # pods look up what the cluster's DNS knows, and nothing of this machine's
    settings = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "x509": {"clientCAFile": str(authority)},
            "webhook": {"enabled": True},
            "anonymous": {"enabled": False},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(serving.certificate),
        "tlsPrivateKeyFile": str(serving.key),
        "containerRuntimeEndpoint": f"unix://{socket}",
        "clusterDNS": [network.node],
        "clusterDomain": "cluster.local",
        "resolvConf": str(resolver),
        "cgroupRoot": f"/{cgroup}",
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "makeIPTablesUtilChains": False,
        "evictionHard": {},  # a full disk of the machine is not this node's to tidy up:
        "imageGCHighThresholdPercent": 100,  # images were loaded once, and could not be pulled again
        "registerWithTaints": [],
    }
    path = folder / "kubelet.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


def write_dns(folder: Path, *, address: str, url: str, kubeconfig: Path) -> Path:
    path = folder / "Corefile"
    path.write_text(f"""\
.:53 {{
  bind {address}
  errors
  kubernetes cluster.local {{
    endpoint {url}
    kubeconfig {kubeconfig}
  }}
}}
""")
    return path
