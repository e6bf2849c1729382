"""The chart gives the operator exactly the rights that it uses, by the API server's audit log."""

from pathlib import Path

import pytest

from penstock_operator.cli.cluster_checkup import RIGHTS
from penstock_operator.resources import KINDS
from tests.operator.chart.rendering import container, of_kind, only, render
from tests.operator.conftest import install_crds
from tests.operator.running import running_operator
from tests.operator.scene import Scene
from tests.operator.workforce.grouping import GroupScene
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.client import Object
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.nats.authentication import user_and_password
from tests.testbed.nats.fixtures import StartNats
from tests.testbed.nats.server import NatsServer

RELEASE = "penstock"
SERVED = ("messages", "analytics")
CREATE, CREATED = "create", 201
NAMESPACES = [RELEASE, *SERVED]
Right = tuple[str, str]
"""A verb, and what it is used on: PLURAL.GROUP or PLURAL/SUBRESOURCE.GROUP."""

pytestmark = pytest.mark.full  # needs Helm


@pytest.fixture
def plane(own_control_plane: ControlPlane) -> ControlPlane:
    install_crds(own_control_plane)
    for name in NAMESPACES:
        Namespace.create(own_control_plane, name)
    own_control_plane.client.label("namespace/analytics", {"team": "data"})
    return own_control_plane


@pytest.mark.parametrize("values", [[f"--set=namespaces={{{','.join(SERVED)}}}"], []], ids=["its own", "all"])
def test_operator_has_exactly_the_rights_it_uses(plane: ControlPlane, start_nats: StartNats, values: list[str]) -> None:
    objects = render(*values, "--set=crds.install=false", namespace=RELEASE)
    account = install_rights(plane, objects)
    others = [argument for argument in container(objects)["args"] if not argument.startswith("--probes=")]
    with running_operator(account, *others) as operator:
        operator.wait_ready()
        use_everything(Namespace(plane, "messages"), start_nats(access=user_and_password()))
        assert not [line for line in operator.logged() if line["level"] == "error"]
    assert used(plane) == granted(objects)
    elsewhere = not values
    assert plane.may(account, "watch", "streams.penstock.dev", "default") is elsewhere
    assert plane.may(account, "get", "secrets", "default") is elsewhere
    assert not plane.may(account, "update", "leases.coordination.k8s.io", RELEASE), "of another name"
    assert not plane.may(account, "create", "leases.coordination.k8s.io", "messages")


def test_doctor_asks_for_no_right_that_the_chart_does_not_give() -> None:
    asked = {(each.verb, _name(each.resource, each.subresource, each.group)) for each in RIGHTS}
    assert asked <= granted(render())


def use_everything(namespace: Namespace, server: NatsServer) -> None:
    """Do all that makes the operator ask the API server for something."""
    scene = GroupScene(namespace, server)
    scene.connect_with_login(allowedNamespaces={"from": "Selector", "selector": {"matchLabels": {"team": "data"}}})
    scene.declare_stream(management={"deletion": "Delete"})
    scene.declare_consumer(management={"deletion": "Delete"})
    scene.wait_ready("connection/nats", "stream/orders", "consumer/etl")
    use_workers(scene)
    other = Scene(Namespace(namespace.cluster, "analytics"), server)
    other.declare_stream("clicks", connectionRef={"name": "nats", "namespace": "messages"})
    other.wait_ready("stream/clicks")
    for times in (1, 2):  # the second time the event is there already
        other.ask("STREAM.DELETE.clicks")
        other.wait(lambda: bool(other.stream("clicks")), f"the stream is made again, {times}", 60)
    other.wait(lambda: any(event["count"] > 1 for event in other.events("stream/clicks")), "an event is repeated")
    scene.delete("consumer/etl")
    scene.delete("stream/orders")


def use_workers(scene: GroupScene) -> None:
    """Have the operator create all objects of a group, and choose the worker to delete."""
    scene.code("etl-code", "def process(df, batch): ...")
    scene.declare_group(scaling={"mode": "External"}, replicas=2)
    scene.wait_replicas(2)
    for name in ("one", "two"):
        metadata = {"name": name, "labels": scene.template()["metadata"]["labels"]}
        containers = [{"name": "driver", "image": "example/worker"}]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}
        scene.namespace.client.create(pod)
    scene.wait_status(replicas=2)
    scene.scale(1)
    scene.wait_replicas(1)


def install_rights(plane: ControlPlane, objects: list[Object]) -> Path:
    """Apply the account and its roles, and return the kubeconfig that its pods would have."""
    kinds = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    plane.client.apply(*(found for found in objects if found["kind"] in kinds))
    return plane.kubeconfig_for_service_account(RELEASE, only(objects, "ServiceAccount")["metadata"]["name"])


def used(plane: ControlPlane) -> set[Right]:
    asked = [entry for entry in plane.audit.entries() if "objectRef" in entry]
    refused = [entry["requestURI"] for entry in asked if entry["responseStatus"]["code"] == 403]
    assert refused == []
    done = {(entry["verb"], _name(**entry["objectRef"])) for entry in asked}
    made = {(CREATE, _name(**entry["objectRef"])) for entry in asked if entry["responseStatus"]["code"] == CREATED}
    return done | made  # what is made by applying it takes both rights


def granted(objects: list[Object]) -> set[Right]:
    bindings = (*of_kind(objects, "RoleBinding"), *of_kind(objects, "ClusterRoleBinding"))
    bound = {(binding["roleRef"]["kind"], binding["roleRef"]["name"]) for binding in bindings}
    roles = [found for found in objects if (found["kind"], found["metadata"]["name"]) in bound]
    rules = [rule for role in roles for rule in role["rules"]]
    assert {kind.plural for kind in KINDS} <= {resource for rule in rules for resource in rule["resources"]}
    return {
        (verb, f"{resource}.{group}".removesuffix("."))
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def _name(resource: str, subresource: str = "", apiGroup: str = "", **_: object) -> str:  # noqa: N803 - the API's
    whole = f"{resource}/{subresource}" if subresource else resource
    return f"{whole}.{apiGroup}".removesuffix(".")
