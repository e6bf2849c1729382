"""Operating the chart next to NATS in a cluster: replicas are lost, releases come and go, the server keeps all.

The server itself reports the requests that it received, so that no second write is missed.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock_operator.resources import KINDS
from penstock_operator.resources.definition import definition
from tests.cluster.helm import CHART, WAITING, Helm, leader, wait_leader
from tests.cluster.nats_pods import configs_of, created, forwarded, start_nats
from tests.cluster.objects import CRDS, grant, manifest, stream
from tests.operator.chart.rendering import of_kind, render
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.requests import Requests
from tests.testbed.waiting import eventually
from tools.console import say

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]  # the first test of a run starts the node

EARLIER = Path(__file__).parent / "fixtures" / "penstock-0.1.0-f0178d7.tgz"
"""The last chart before queue groups had workers. It runs this run's image, as there is no image of its own."""
DEFINITIONS = {kind.resource: definition(kind)["spec"]["versions"] for kind in KINDS}
OURS = "connections.penstock.dev,streams.penstock.dev,consumers.penstock.dev"
SECONDS = 120
STREAMS = [f"orders-{number}" for number in range(20)]
CREATED = "$JS.API.STREAM.CREATE."
WRITES = (CREATED, "$JS.API.STREAM.UPDATE.", "$JS.API.STREAM.DELETE.", "$JS.API.CONSUMER.")
READS = ("$JS.API.CONSUMER.INFO.", "$JS.API.CONSUMER.LIST.", "$JS.API.CONSUMER.NAMES.")
CONNECTION = manifest("Connection", "nats", {"servers": ["nats://nats:4222"]})


def wait_ready(namespace: Namespace, *kinds: str) -> None:
    for kind in kinds:
        namespace.kubectl("wait", "--for=condition=Ready", f"{kind}.penstock.dev", "--all", f"--timeout={SECONDS}s")


def writes(requests: Requests) -> list[str]:
    """Return the subjects of all requests that change something."""
    subjects = [str(advisory["subject"]) for advisory in requests.heard()]
    return [subject for subject in subjects if subject.startswith(WRITES) and not subject.startswith(READS)]


def test_killed_leader_is_replaced_without_a_second_write_and_uninstalling_changes_nothing_on_the_server(
    helm: Helm, operator_image: str, nats_image: str, cluster_namespace: Namespace
) -> None:
    del nats_image
    namespace = cluster_namespace
    helm.install(operator_image)
    start_nats(namespace)
    namespace.client.create(CONNECTION)
    with forwarded(namespace) as url, Requests(servers=[url]) as requests:
        namespace.client.create(*map(stream, STREAMS))
        eventually(lambda: len(writes(requests)) > 0, "the first stream is created", SECONDS)
        first = leader(namespace)
        namespace.kubectl("delete", f"pod/{first}", "--force", "--grace-period=0")
        namespace.client.create(manifest("Consumer", "etl", {"streamRef": {"name": STREAMS[-1]}}))
        wait_ready(namespace, "streams", "consumers")
        assert leader(namespace) not in ("", first)
        wanted = sorted([f"$JS.API.CONSUMER.CREATE.{STREAMS[-1]}.etl", *(f"{CREATED}{name}" for name in STREAMS)])
        eventually(lambda: len(writes(requests)) >= len(wanted), "the server has reported all writes", SECONDS)
        assert sorted(writes(requests)) == wanted
    before = configs_of(namespace), created(namespace)
    helm.uninstall()
    namespace.kubectl("delete", *CRDS, f"--timeout={SECONDS}s")
    assert (configs_of(namespace), created(namespace)) == before
    assert set(before[1]) == set(STREAMS)


def test_upgrade_and_rollback_change_the_definitions_and_nothing_else(
    helm: Helm, operator_image: str, nats_image: str, cluster_namespace: Namespace
) -> None:
    del nats_image
    namespace, values = cluster_namespace, helm.values(operator_image)
    grant_rights_of_this_chart(namespace)
    helm("install", "penstock", str(EARLIER), *values, *WAITING)
    start_nats(namespace)
    consumer = manifest("Consumer", "etl", {"streamRef": {"name": STREAMS[0]}})
    namespace.client.create(CONNECTION, *map(stream, STREAMS), consumer)
    wait_ready(namespace, "streams", "consumers")
    before = everything(namespace)
    earlier = definitions(namespace)
    assert earlier != DEFINITIONS, "else the upgrade would have nothing to change"
    with forwarded(namespace) as url, Requests(servers=[url]) as requests:
        change_release(helm, "upgrade", "penstock", CHART, *values)
        say(namespace.kubectl("get", "penstock"))
        assert definitions(namespace) == DEFINITIONS
        declare_another(namespace, requests, "upgraded")
        change_release(helm, "rollback", "penstock", "1")
        assert definitions(namespace) == earlier
        declare_another(namespace, requests, "back")
        assert writes(requests) == [f"{CREATED}upgraded", f"{CREATED}back"]
    for found, was in zip(everything(namespace), before, strict=True):
        assert {name: found[name] for name in was} == was
    helm.uninstall()
    namespace.kubectl("delete", *CRDS, f"--timeout={SECONDS}s")


def grant_rights_of_this_chart(namespace: Namespace) -> None:
    """Grant the earlier chart's service account what only this chart's role allows."""
    objects = render(f"--set=namespaces={{{namespace.name}}}", namespace=namespace.name)
    [role] = [found for found in of_kind(objects, "Role") if found["metadata"]["name"] == "release-penstock"]
    grant(namespace, "this-version", "penstock", role["rules"])


def everything(namespace: Namespace) -> list[Mapping[str, object]]:
    """Return what is declared, and what the server has."""
    return [declared(namespace), configs_of(namespace), created(namespace)]


def definitions(namespace: Namespace) -> dict[str, Any]:
    """Return the versions of each kind's definition, as the chart has them, without what the API server adds."""
    found = json.loads(namespace.kubectl("get", *CRDS, "--output=json"))["items"]
    return {each["metadata"]["name"]: each["spec"]["versions"] for each in found}


def declared(namespace: Namespace) -> dict[str, Any]:
    """Return the uid and spec of each object that is declared."""
    found = json.loads(namespace.kubectl("get", OURS, "--output=json"))["items"]
    return {f"{each['kind']}/{each['metadata']['name']}": (each["metadata"]["uid"], each["spec"]) for each in found}


def change_release(helm: Helm, *arguments: str) -> None:
    """Change the release, and wait until one of its new replicas leads."""
    first = leader(helm.namespace)
    helm(*arguments, *WAITING)
    wait_leader(helm.namespace, other_than=first)


def declare_another(namespace: Namespace, requests: Requests, name: str) -> None:
    """Declare a Stream, and wait until the server has reported its request: then it has reported all earlier ones."""
    namespace.client.create(stream(name))
    wait_ready(namespace, "streams")
    eventually(lambda: f"{CREATED}{name}" in writes(requests), "the server has reported it", SECONDS)
