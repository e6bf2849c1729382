"""NACK's own manifests, in a cluster: what Penstock makes of their translation is what NACK makes of the originals.

Each has a namespace with a NATS server called nats, as NACK's tests expect. What is compared is what the two servers
say of their streams and consumers, field by field, the servers' own facts among them.
"""

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
from tests.cluster.helm import Helm
from tests.cluster.nats_pods import SECRETS, configs_of, start_nats, stop_nats
from tests.cluster.objects import CRDS, grant, secret
from tests.cluster.pods import container, start_pod
from tests.testbed import binaries
from tests.testbed.certificates import Authority
from tests.testbed.kubernetes.access import KubectlError, Namespace
from tests.testbed.kubernetes.cluster import Cluster, UserCluster, new_namespace
from tests.testbed.kubernetes.images import write_archive
from tools.console import say

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]  # two controllers and two servers start, on a busy node

PENSTOCK = Path(sys.executable).parent / "penstock"
SECONDS = 120
NACK_IMAGE, NACK_GROUP = "penstock.test/nack:1", "jetstream.nats.io"
NACK_KINDS = [f"{plural}.{NACK_GROUP}" for plural in ("streams", "consumers", "accounts")]
MODES = ("control-loop", "legacy")
"""The modes of nack-control-loop.yaml and nack-legacy.yaml in NACK's tests."""
URL = "nats://nats:4222"
RIGHTS = [
    {"apiGroups": [NACK_GROUP], "resources": ["*"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
]
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
    """A namespace with the chart, installed for it alone: the operator uses the server called nats next to it."""
    namespace = new_namespace(cluster, fresh_name("ours"))
    helm = Helm(namespace)
    helm.install(operator_image)
    yield namespace
    helm.uninstall()
    cluster.kubectl("delete", *CRDS, f"--timeout={SECONDS}s")
    cluster.kubectl("delete", "namespace", namespace.name, "--wait=false")


@pytest.fixture(scope="module")
def nack(cluster: Cluster | UserCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """NACK's kinds, and its image."""
    archive = tmp_path_factory.mktemp("nack") / "nack.tar"
    cluster.load_image(write_archive(archive, name=NACK_IMAGE, program=binaries.nack()))
    crds = f"--filename={binaries.nack_sources() / 'deploy' / 'crds.yml'}"
    cluster.kubectl("apply", "--server-side", crds)
    cluster.kubectl("wait", "--for=condition=Established", crds, f"--timeout={SECONDS}s")
    yield
    # An API server may never finish deleting a kind whose objects were never requested.
    cluster.kubectl("delete", crds, "--wait=false")


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


def start_nack(namespace: Namespace, mode: str, *, has_accounts: bool) -> None:
    """Start NACK's controller, as its own tests do."""
    options = ["--control-loop"] if mode == "control-loop" else ["--crd-connect"] * has_accounts
    nack = container(
        "nack",
        NACK_IMAGE,
        args=["-s", URL, f"--namespace={namespace.name}", *options],
        workingDir="/tmp",  # noqa: S108 - a volume of the pod's own, where the control loop keeps a cache
        volumeMounts=[{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108
    )
    grant(namespace, "nack", "default", RIGHTS)
    start_pod(namespace, "nack", nack, restartPolicy="Always")


def stop_nack(namespace: Namespace) -> None:
    """Stop NACK, and remove the finalizers of its control loop: they would block the namespace's deletion."""
    namespace.kubectl("delete", "pod/nack", "--grace-period=0", "--force")
    for kind in NACK_KINDS:
        for found in namespace.client.list(kind):
            namespace.client.patch(f"{kind}/{found['metadata']['name']}", {"metadata": {"finalizers": None}})
        namespace.kubectl("delete", kind, "--all", f"--timeout={SECONDS}s")


def begin(namespace: Namespace, story: Story) -> None:
    """Create what a story needs before its manifests are applied."""
    if story.is_encrypted:
        issue_certificates(namespace)
    start_nats(namespace, extra=story.server, secret=SERVERS_SECRET if story.is_encrypted else "")


def end(namespace: Namespace) -> None:
    stop_nats(namespace)
    namespace.kubectl("delete", "secrets", SERVERS_SECRET, CLIENTS_SECRET, "--ignore-not-found")


def issue_certificates(namespace: Namespace) -> None:
    """Create the Secrets that cert-manager would create for examples/secure."""
    authority = Authority.new("nats-ca")
    issued = {SERVERS_SECRET: authority.server("nats"), CLIENTS_SECRET: authority.client("nack-a")}
    for name, certificate in issued.items():
        files = {"ca.crt": authority.certificate.pem, "tls.crt": certificate.pem, "tls.key": certificate.key_pem}
        namespace.client.create(secret(name, files))


def test_the_servers_have_the_same_in_the_end(
    request: pytest.FixtureRequest, story: Story, ours: Namespace, theirs: Namespace
) -> None:
    files = [f"--filename={binaries.nack_sources() / path}" for path in story.files]
    theirs.kubectl("apply", *files)
    mode = request.node.callspec.params["theirs"]
    ours.kubectl("apply", "--filename=-", stdin=translated(files, mode))
    try:
        wait_ready(theirs, NACK_GROUP)
        wait_ready(ours, GROUP)
    except KubectlError as problem:
        raise AssertionError(f"{problem}\n{theirs.kubectl('logs', 'nack')}") from problem
    made, expected = configs_of(ours), without_pause_in_the_past(configs_of(theirs))
    assert made == expected
    assert made
    say(f"{request.node.callspec.id}: the same are {', '.join(made)}")


def translated(files: Sequence[str], mode: str) -> str:
    """Return our manifests for NACK's, as its users would have them."""
    command = [str(PENSTOCK), "import", "nack", *files, f"--server={URL}"]
    command += ["--control-loop"] if mode == "control-loop" else []
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def wait_ready(namespace: Namespace, group: str) -> None:
    for kind in ("streams", "consumers"):
        if namespace.kubectl("get", f"{kind}.{group}", "--output=name"):
            namespace.kubectl("wait", "--for=condition=Ready", f"{kind}.{group}", "--all", f"--timeout={SECONDS}s")


def without_pause_in_the_past(configs: Configs) -> Configs:
    """NACK says that a consumer is paused until the year 1: it is not, and ours do not say it."""
    return {
        name: {key: value for key, value in config.items() if (key, value) != ("pause_until", "0001-01-01T00:00:00Z")}
        for name, config in configs.items()
    }
