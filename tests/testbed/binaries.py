"""The programs that the testbed builds from Go modules, each at one version.

Each function returns the path of a binary that is ready, after building it where no one has.

usage: python -m tests.testbed.binaries NAME …
"""

import sys
from pathlib import Path

from tests.testbed.golang import GoProgram, module_folder
from tools.console import CannotContinueError, say

SOURCES = Path(__file__).parent / "go"
KUBERNETES = "v1.34.4"
COREDNS = "v1.14.7"
HELM = "v4.3.1"
NACK = "v0.23.0"
PROMETHEUS = "v0.315.0"
NATS_SERVERS = ("2.11.17", "2.12.15", "2.14.9")
"""The last version of each older line that is supported; the newest comes from PyPI and needs no build."""

NACK_MODULE = "github.com/nats-io/nack"

_NACK_METRICS = "sigs.k8s.io/controller-runtime/pkg/metrics/server.DefaultBindAddress"
_VERSION = "k8s.io/component-base/version"


def kubebox() -> Path:
    """Etcd, the Kubernetes control plane and node, and kubectl, in one binary that goes by the name it is called by."""
    _, minor, _ = KUBERNETES.split(".")
    facts = {
        "gitVersion": KUBERNETES,
        "gitMajor": "1",
        "gitMinor": minor,
        "gitCommit": "unknown",
        "gitTreeState": "clean",
    }
    flags = [f"-X {_VERSION}.{name}={value}" for name, value in facts.items()]  # else no client can parse the version
    return GoProgram("kubebox", KUBERNETES, ".", SOURCES / "kubebox", tuple(flags)).build()


def coredns() -> Path:
    return GoProgram("coredns", COREDNS, ".", SOURCES / "coredns").build()


def pause() -> Path:
    return GoProgram("pause", "1", ".", SOURCES / "pause").build()


def probe() -> Path:
    """What tests of a node run in its pods."""
    return GoProgram("probe", "1", ".", SOURCES / "probe").build()


def helm() -> Path:
    return GoProgram("helm", HELM, "helm.sh/helm/v4/cmd/helm").build()


def nack() -> Path:
    """NACK's controller. Its go.mod is ours: `go install` asks for a list of all versions, which no proxy must have."""
    package = f"{NACK_MODULE}/cmd/jetstream-controller"
    flag = f"-X {_NACK_METRICS}=127.0.0.1:0"  # it has no option for this, and two on one machine would both want 8080
    return GoProgram("jetstream-controller", NACK, package, SOURCES / "nack", (flag,)).build()


def nack_sources() -> Path:
    """The folder with what NACK brings besides its program: its CRDs, and the manifests of its examples and tests."""
    return module_folder(SOURCES / "nack", NACK_MODULE)


def promtool() -> Path:
    """What runs alerts over made-up series. Its go.mod replaces modules, and `go install` wants none that do."""
    package = "github.com/prometheus/prometheus/cmd/promtool"
    return GoProgram("promtool", PROMETHEUS, package, SOURCES / "promtool").build()


def nats_server(version: str) -> Path:
    """Any nats-server, such as "2.11.9"."""
    return GoProgram("nats-server", f"v{version}", "github.com/nats-io/nats-server/v2").build()


def nats_servers() -> list[Path]:
    return [nats_server(version) for version in NATS_SERVERS]


def main(names: list[str]) -> int:
    """Get binaries ready ahead of the tests, where what a build says can be seen."""
    builds = {
        "kubebox": kubebox,
        "coredns": coredns,
        "pause": pause,
        "probe": probe,
        "helm": helm,
        "nack": nack,
        "promtool": promtool,
        "nats-servers": nats_servers,
    }
    try:
        for name in names:
            builds[name]()
    except CannotContinueError as problem:
        say(f"\n{problem}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
