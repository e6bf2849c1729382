"""NACK's own manifests, in a cluster: what Penstock makes of their translation is what NACK makes of the originals.

Each has a namespace with a NATS server called nats, as NACK's tests expect. What is compared is what the two servers
say of their streams and consumers, field by field, the servers' own facts among them.
"""

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from penstock_operator.constants import GROUP
from penstock_operator.resources import KINDS
from tests.cluster import nack_pods
from tests.cluster.helm import Helm
from tests.cluster.nack_pods import MODES, start_nack, stop_nack
from tests.cluster.nats_pods import SECRETS, configs_of, start_nats, stop_nats
from tests.testbed import binaries
from tests.testbed.certificates import Authority
from tests.testbed.kubernetes.access import KubectlError, Namespace
from tests.testbed.kubernetes.cluster import Cluster, UserCluster, new_namespace
from tools.console import say

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]  # two controllers and two servers start, on a busy node

PENSTOCK = Path(sys.executable).parent / "penstock"
READY = "--for=condition=Ready"
SECONDS = 120
SERVERS_SECRET, CLIENTS_SECRET = "nats-server-tls", "nack-a-tls"
Configs = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Story:
    """Manifests of NACK's, by their paths in its sources, and the server that they are for."""

    files: tuple[str, ...]
    server: dict[str, Any] = field(default_factory=dict)
    is_encrypted: bool = False


EXAMPLES = (
    "stream.yml",
    "stream_mirror.yml",
    "stream_placement.yml",
    "stream_sources.yml",
    "consumer_pull.yml",
    "consumer_push.yml",
)
"""All but stream_servers.yml, whose server is acme.org."""

SECURE = {
    "tls": {
        "cert_file": f"{SECRETS}/tls.crt",
        "key_file": f"{SECRETS}/tls.key",
        "ca_file": f"{SECRETS}/ca.crt",
        "verify_and_map": True,
    },
    "accounts": {
        "SYS": {"users": [{"user": "CN=nats-sys-user"}]},
        "A": {"jetstream": "enabled", "users": [{"user": "CN=nack-a"}]},
        "B": {"jetstream": "enabled", "users": [{"user": "CN=nack-b"}]},
    },
    "system_account": "SYS",
}
"""What NACK's examples/secure/nats-helm.yaml says."""

STORIES = {
    "its end-to-end test, and its examples": Story(
        ("tests/stream-creation/rides-stream.yaml", *(f"deploy/examples/{name}" for name in EXAMPLES)),
        server={"server_tags": ["NODE_0"]},
    ),
    "its example of TLS and accounts": Story(("examples/secure/nack",), server=SECURE, is_encrypted=True),
}


@pytest.fixture(scope="module")
def served(cluster: Cluster | UserCluster, operator_image: str) -> Iterator[Namespace]:
    """A namespace with the chart, installed for it alone: a server called nats is so the one beside the operator."""
    namespace = new_namespace(cluster, fresh_name("ours"))
    helm = Helm(namespace)
    helm.install(operator_image, f"--set=namespaces={{{namespace.name}}}")
    yield namespace
    helm.uninstall()
    cluster.kubectl("delete", *[f"crd/{kind.resource}" for kind in KINDS], f"--timeout={SECONDS}s")
    cluster.kubectl("delete", "namespace", namespace.name, "--wait=false")


@pytest.fixture(scope="module")
def nack(cluster: Cluster | UserCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """NACK's kinds, and its image."""
    cluster.load_image(nack_pods.write_image(tmp_path_factory.mktemp("nack")))
    nack_pods.install_crds(cluster)
    yield
    nack_pods.remove_crds(cluster)


def fresh_name(what: str) -> str:
    return f"{what}-{uuid.uuid4().hex[:8]}"


@pytest.fixture(params=STORIES)
def story(request: pytest.FixtureRequest) -> Story:
    return STORIES[request.param]


@pytest.fixture
def ours(served: Namespace, nats_image: str, story: Story) -> Iterator[Namespace]:
    """The namespace that Penstock serves, with a NATS server for the story."""
    del nats_image
    begin(served, story)
    yield served
    served.kubectl("delete", ",".join(kind.resource for kind in KINDS), "--all", f"--timeout={SECONDS}s")
    end(served)


@pytest.fixture(params=MODES)
def theirs(
    request: pytest.FixtureRequest, cluster: Cluster | UserCluster, nack: None, nats_image: str, story: Story
) -> Iterator[Namespace]:
    """A namespace that NACK serves, in one of its modes, with another."""
    del nack, nats_image
    namespace = new_namespace(cluster, fresh_name("nack"))
    begin(namespace, story)
    start_nack(namespace, request.param, has_accounts=story.is_encrypted)
    yield namespace
    stop_nack(namespace)
    cluster.kubectl("delete", "namespace", namespace.name, "--wait=false")


def begin(namespace: Namespace, story: Story) -> None:
    """Have there what a story needs before its manifests are applied."""
    if story.is_encrypted:
        issue_certificates(namespace)
    start_nats(namespace, extra=story.server, secret=SERVERS_SECRET if story.is_encrypted else "")


def end(namespace: Namespace) -> None:
    stop_nats(namespace)
    namespace.kubectl("delete", "secrets", SERVERS_SECRET, CLIENTS_SECRET, "--ignore-not-found")


def issue_certificates(namespace: Namespace) -> None:
    """Make the Secrets that cert-manager would make of examples/secure."""
    authority = Authority.new("nats-ca")
    for secret, certificate in (
        (SERVERS_SECRET, authority.server("nats")),
        (CLIENTS_SECRET, authority.client("nack-a")),
    ):
        files = {"ca.crt": authority.certificate.pem, "tls.crt": certificate.pem, "tls.key": certificate.key_pem}
        manifest = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": secret},
            "stringData": {name: content.decode() for name, content in files.items()},
        }
        namespace.kubectl("create", "--filename=-", stdin=json.dumps(manifest))


def test_the_servers_have_the_same_in_the_end(
    request: pytest.FixtureRequest, story: Story, ours: Namespace, theirs: Namespace
) -> None:
    files = [f"--filename={binaries.nack_sources() / path}" for path in story.files]
    theirs.kubectl("apply", *files)
    mode = request.node.callspec.params["theirs"]
    ours.kubectl("apply", "--filename=-", stdin=translated(files, mode))
    try:
        wait_ready(theirs, nack_pods.GROUP)
        wait_ready(ours, GROUP)
    except KubectlError as problem:
        raise AssertionError(f"{problem}\n{theirs.kubectl('logs', 'nack')}") from problem
    made, expected = configs_of(ours), without_pause_in_the_past(configs_of(theirs))
    say(as_table(request.node.callspec.id, made, expected))
    assert made == expected
    assert made


def translated(files: Sequence[str], mode: str) -> str:
    """Return our manifests for NACK's, as its users would have them."""
    command = [str(PENSTOCK), "import", "nack", *files, f"--server={nack_pods.URL}"]
    command += ["--control-loop"] if mode == "control-loop" else []
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def wait_ready(namespace: Namespace, group: str) -> None:
    for kind in ("streams", "consumers"):
        if namespace.kubectl("get", f"{kind}.{group}", "--output=name"):
            namespace.kubectl("wait", READY, f"{kind}.{group}", "--all", f"--timeout={SECONDS}s")


def without_pause_in_the_past(configs: Configs) -> Configs:
    """NACK says that a consumer is paused until the year 1: it is not, and ours do not say it."""
    return {
        name: {key: value for key, value in config.items() if (key, value) != ("pause_until", "0001-01-01T00:00:00Z")}
        for name, config in configs.items()
    }


def as_table(title: str, ours: Configs, theirs: Configs) -> str:
    """Return what people may want to see: each stream and consumer, and how many of its fields are the same."""
    rows = [as_row(name, ours.get(name, {}), theirs.get(name, {})) for name in sorted({*ours, *theirs})]
    return "\n".join([f"\n{title}", *rows])


def as_row(name: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    fields = {*ours, *theirs}
    different = sorted(field for field in fields if ours.get(field) != theirs.get(field))
    return (
        f"  {name:32} {len(fields) - len(different):2} of {len(fields)} fields the same {' '.join(different)}".rstrip()
    )
