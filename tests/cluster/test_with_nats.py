"""Operating the chart beside NATS in a cluster: replicas are lost, releases come and go, and the server keeps all.

The server tells which requests it was asked, so that nothing that is written twice is missed.
"""

import json
from collections.abc import Iterator

import pytest

from penstock_operator.constants import API_VERSION
from penstock_operator.resources import KINDS
from tests.cluster.helm import CHART, WAITING, Helm, image_values, leader
from tests.cluster.nats_pods import configs_of, created, forwarded, start_nats
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.requests import Requests
from tests.testbed.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]  # the first test of a run starts the node

CRDS = [f"crd/{kind.resource}" for kind in KINDS]
SECONDS = 120
STREAMS = [f"orders-{number}" for number in range(20)]
CREATED = "$JS.API.STREAM.CREATE."
WRITES = (CREATED, "$JS.API.STREAM.UPDATE.", "$JS.API.STREAM.DELETE.", "$JS.API.CONSUMER.")
READS = ("$JS.API.CONSUMER.INFO.", "$JS.API.CONSUMER.LIST.", "$JS.API.CONSUMER.NAMES.")


@pytest.fixture
def installed(helm: Helm, operator_image: str, nats_image: str, cluster_namespace: Namespace) -> Iterator[Namespace]:
    """A namespace with the chart, a NATS server, and a Connection to it."""
    del nats_image
    helm.install(operator_image, f"--set=namespaces={{{cluster_namespace.name}}}")
    start_nats(cluster_namespace)
    declare(cluster_namespace, "Connection", "nats", {"servers": ["nats://nats:4222"]})
    yield cluster_namespace
    cluster_namespace.kubectl("delete", *CRDS, "--ignore-not-found", f"--timeout={SECONDS}s")


def declare(namespace: Namespace, kind: str, name: str, spec: object) -> None:
    manifest = {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
    namespace.kubectl("create", "--filename=-", stdin=json.dumps(manifest))


def declare_streams(namespace: Namespace) -> None:
    for name in STREAMS:
        declare(namespace, "Stream", name, {"connectionRef": {"name": "nats"}, "subjects": [f"{name}.>"]})


def wait_ready(namespace: Namespace) -> None:
    namespace.kubectl("wait", "--for=condition=Ready", "streams.penstock.dev", "--all", f"--timeout={SECONDS}s")


def writes(requests: Requests) -> list[str]:
    """Return the subjects of all requests that change something."""
    subjects = [str(told["subject"]) for told in requests.heard()]
    return [subject for subject in subjects if subject.startswith(WRITES) and not subject.startswith(READS)]


def test_when_the_leaders_pod_is_killed_at_work_the_other_goes_on_and_nothing_is_made_twice(
    installed: Namespace,
) -> None:
    with forwarded(installed) as url, Requests(servers=[url]) as requests:
        declare_streams(installed)
        eventually(lambda: len(writes(requests)) > 0, "the first stream is made", SECONDS)
        first = leader(installed)
        installed.kubectl("delete", f"pod/{first}", "--force", "--grace-period=0")
        declare(installed, "Consumer", "etl", {"streamRef": {"name": STREAMS[-1]}})
        wait_ready(installed)
        installed.kubectl("wait", "--for=condition=Ready", "consumer/etl", f"--timeout={SECONDS}s")
        assert leader(installed) not in ("", first)
        wanted = sorted([f"$JS.API.CONSUMER.CREATE.{STREAMS[-1]}.etl", *(f"{CREATED}{name}" for name in STREAMS)])
        eventually(lambda: len(writes(requests)) >= len(wanted), "the server has told of all", SECONDS)
        assert sorted(writes(requests)) == wanted


def test_an_upgrade_leaves_what_is_on_the_server_as_it_is(
    installed: Namespace, helm: Helm, operator_image: str
) -> None:
    declare_streams(installed)
    wait_ready(installed)
    first, served = leader(installed), f"--set=namespaces={{{installed.name}}}"
    with forwarded(installed) as url, Requests(servers=[url]) as requests:
        values = [*image_values(operator_image), served, "--set=logFormat=text"]
        helm("upgrade", "penstock", CHART, *values, *WAITING)
        eventually(lambda: leader(installed) not in ("", first), "one of the new pods leads", SECONDS)
        declare(installed, "Stream", "more", {"connectionRef": {"name": "nats"}, "subjects": ["more.>"]})
        wait_ready(installed)
        eventually(lambda: bool(writes(requests)), "the server has told of it", SECONDS)
        assert writes(requests) == [f"{CREATED}more"]


def test_uninstalling_holds_up_no_object_and_deletes_nothing_on_the_server(installed: Namespace, helm: Helm) -> None:
    declare_streams(installed)
    declare(installed, "Consumer", "etl", {"streamRef": {"name": STREAMS[0]}})
    wait_ready(installed)
    installed.kubectl("wait", "--for=condition=Ready", "consumer/etl", f"--timeout={SECONDS}s")
    before = configs_of(installed), created(installed)
    helm.uninstall()
    installed.kubectl("delete", *CRDS, f"--timeout={SECONDS}s")
    assert (configs_of(installed), created(installed)) == before
    assert set(before[1]) == set(STREAMS)
