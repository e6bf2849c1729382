"""From an earlier chart to this one, and back: definitions follow, what is declared stays, NATS servers notice nothing.

The earlier chart is an archive beside this file: the last one before queue groups had workers. It runs this run's
image, as no other is at hand: its arguments have only become more.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock_operator.resources import KINDS
from penstock_operator.resources.definition import definition
from tests.cluster.helm import CHART, WAITING, Helm, image_values, leader
from tests.cluster.nats_pods import configs_of, created, forwarded, start_nats
from tests.cluster.test_with_nats import CREATED, STREAMS, declare, declare_streams, wait_ready, writes
from tests.operator.chart.rendering import of_kind, render
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.requests import Requests
from tests.testbed.waiting import eventually
from tools.console import say

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]  # three releases become ready, one after the other

EARLIER = Path(__file__).parent / "fixtures" / "penstock-0.1.0-f0178d7.tgz"
CRDS = [f"crd/{kind.resource}" for kind in KINDS]
OURS = "connections.penstock.dev,streams.penstock.dev,consumers.penstock.dev"
SECONDS = 120


def test_an_upgrade_brings_the_definitions_and_keeps_all_else_and_so_does_the_way_back(
    helm: Helm, operator_image: str, nats_image: str, cluster_namespace: Namespace
) -> None:
    del nats_image
    namespace = cluster_namespace
    values = [*image_values(operator_image), f"--set=namespaces={{{namespace.name}}}"]
    allow_what_this_operator_asks_for(namespace)
    helm("install", "penstock", str(EARLIER), *values, *WAITING)
    start_nats(namespace)
    declare(namespace, "Connection", "nats", {"servers": ["nats://nats:4222"]})
    declare_streams(namespace)
    declare(namespace, "Consumer", "etl", {"streamRef": {"name": STREAMS[0]}})
    wait_ready(namespace)
    namespace.kubectl("wait", "--for=condition=Ready", "consumer/etl", f"--timeout={SECONDS}s")
    before = all_of_it(namespace)
    earlier = definitions(namespace)
    assert earlier != OF_THIS_VERSION, "else the upgrade would have nothing to bring"
    with forwarded(namespace) as url, Requests(servers=[url]) as requests:
        change(helm, namespace, "upgrade", "penstock", CHART, *values)
        say(namespace.kubectl("get", "penstock"))
        assert definitions(namespace) == OF_THIS_VERSION
        declare_another(namespace, requests, "upgraded")
        change(helm, namespace, "rollback", "penstock", "1")
        assert definitions(namespace) == earlier
        declare_another(namespace, requests, "back")
        assert writes(requests) == [f"{CREATED}upgraded", f"{CREATED}back"]
    for found, was in zip(all_of_it(namespace), before, strict=True):
        assert {name: found[name] for name in was} == was
    helm.uninstall()
    namespace.kubectl("delete", *CRDS, f"--timeout={SECONDS}s")


def all_of_it(namespace: Namespace) -> list[Mapping[str, object]]:
    """Return what is declared, and what the server has."""
    return [declared(namespace), configs_of(namespace), created(namespace)]


OF_THIS_VERSION = {kind.resource: definition(kind)["spec"]["versions"] for kind in KINDS}


def definitions(namespace: Namespace) -> dict[str, Any]:
    """Return what the cluster knows of each kind, in the words of the chart: without what the API server adds."""
    found = json.loads(namespace.kubectl("get", *CRDS, "--output=json"))["items"]
    return {each["metadata"]["name"]: each["spec"]["versions"] for each in found}


def declared(namespace: Namespace) -> dict[str, Any]:
    """Return what is declared: each object's own id, and what it says."""
    found = json.loads(namespace.kubectl("get", OURS, "--output=json"))["items"]
    return {f"{each['kind']}/{each['metadata']['name']}": (each["metadata"]["uid"], each["spec"]) for each in found}


def change(helm: Helm, namespace: Namespace, *arguments: str) -> None:
    """Have another release in the place of this one, and wait until it leads."""
    first = leader(namespace)
    helm(*arguments, *WAITING)
    eventually(lambda: leader(namespace) not in ("", first), "one of the new pods leads", SECONDS)


def declare_another(namespace: Namespace, requests: Requests, name: str) -> None:
    """Have something to do that is heard of: then all that came before it was heard of, too."""
    declare(namespace, "Stream", name, {"connectionRef": {"name": "nats"}, "subjects": [f"{name}.>"]})
    wait_ready(namespace)
    eventually(lambda: f"{CREATED}{name}" in writes(requests), "the server has told of it", SECONDS)


def allow_what_this_operator_asks_for(namespace: Namespace) -> None:
    """Give the operator of this run the rights that only this run's chart gives."""
    objects = render(f"--set=namespaces={{{namespace.name}}}", namespace=namespace.name)
    [role] = [found for found in of_kind(objects, "Role") if found["metadata"]["name"] == "release-penstock"]
    namespace.kubectl("create", "--filename=-", stdin=json.dumps({**role, "metadata": {"name": "this-version"}}))
    account = f"--serviceaccount={namespace.name}:penstock"
    namespace.kubectl("create", "rolebinding", "this-version", "--role=this-version", account)
