"""Workloads of groups, in the words of the tests that are about them."""

from pathlib import Path
from typing import Any

import yaml

from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.plan.group_places import GroupPlace, group_place
from penstock_operator.plan.surroundings import Waiting
from penstock_operator.plan.workload import Code, Equipment, Manifest, Workload, workload
from penstock_operator.resources import QueueGroupSpec

Json = dict[str, Any]
EXAMPLES = sorted((Path(__file__).parents[4] / "examples").glob("*/manifests.yaml"))
EQUIPMENT = Equipment(worker_image="example/worker:1")
CONNECTION: Json = {"servers": ["nats://nats.nats:4222"]}
STREAM: Json = {"connectionRef": {"name": "nats"}, "subjects": ["orders.>"]}
CONSUMER: Json = {"streamRef": {"name": "orders"}, "ackPolicy": "Explicit"}
HANDLER: Json = {"entrypoint": "etl:process", "configMapRef": {"name": "code"}}
GROUP: Json = {"consumerRef": {"name": "etl"}, "handler": HANDLER}
CODE = Code("code", "0")
MASTERS = (
    "local[*]",
    "local-cluster[2,1,1024]",
    "spark://spark.spark:7077",
    "k8s://https://kubernetes.default.svc",
    "sc://connect:15002,connect-2:15002",
)


def declared(kind: str, name: str, spec: Json, namespace: str = "shop", **metadata: object) -> Declared:
    whole = {"name": name, "namespace": namespace, "uid": f"uid-of-{name}", **metadata}
    return Declared.read({"kind": kind, "metadata": whole, "spec": spec})


def group(name: str = "etl", **spec: Any) -> Declared:  # noqa: ANN401 - JSON is anything
    """Declare a group; fails if it cannot be understood."""
    return understood(declared("QueueGroup", name, {**GROUP, **spec}))


def understood(found: Declared) -> Declared:
    assert found.spec is not None, found.fault
    return found


def asked(
    of: Declared, connection: Declared | None = None, equipment: Equipment = EQUIPMENT, code: Code | None = CODE
) -> Workload | Waiting:
    """Ask for what is to be applied for a group."""
    reached = connection or declared("Connection", "nats", CONNECTION)
    return workload(of, _place(of, reached), reached, code, equipment)


def made(
    of: Declared, connection: Declared | None = None, equipment: Equipment = EQUIPMENT, code: Code = CODE
) -> Workload:
    """Return what is to be applied for a group that nothing is in the way of."""
    found = asked(of, connection, equipment, code)
    assert isinstance(found, Workload), found
    return found


def pod_of(found: Workload) -> Json:
    """Return the pod that the Deployment makes."""
    template = found.deployment["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    return {**pod, "metadata": {**template["metadata"], "generateName": "worker-"}}


def container(found: Workload, name: str) -> Json:
    spec = found.deployment["spec"]["template"]["spec"]
    [one] = [each for each in [*spec["initContainers"], *spec["containers"]] if each["name"] == name]
    return dict(one)


def named(items: list[Json], name: str) -> Json:
    [one] = [item for item in items if item["name"] == name]
    return one


def example(path: Path) -> Workload:
    """Return what is to be applied for the group of an example."""
    world: dict[Identity, Declared] = {}
    for manifest in yaml.safe_load_all(path.read_text()):
        manifest["metadata"].update(namespace="shop", uid="uid")
        found = understood(Declared.read(manifest))
        world[found.identity] = found
    [whole] = [each for each in world.values() if isinstance(each.spec, QueueGroupSpec)]
    spec = whole.spec
    assert isinstance(spec, QueueGroupSpec)
    place = group_place(whole.identity, spec, world)
    assert isinstance(place, GroupPlace)
    code = spec.handler.config_map_ref
    found_workload = workload(whole, place, world[place.connection], Code(code.name, "0") if code else None, EQUIPMENT)
    assert isinstance(found_workload, Workload)
    return found_workload


def with_master(master: str, **spec: Any) -> Declared:  # noqa: ANN401 - JSON is anything
    """Declare a group with this master, and what the master needs besides."""
    template = {"spec": {"serviceAccountName": "spark"}} if master.startswith("k8s://") else {}
    token = {"tokenSecretRef": {"name": "spark", "key": "token"}} if master.startswith("sc://") else {}
    return group(spark={"master": master, **token}, template=template, **spec)


def objects(found: Workload) -> list[Manifest]:
    return [found.deployment, *found.others]


def _place(of: Declared, connection: Declared) -> GroupPlace:
    assert isinstance(of.spec, QueueGroupSpec)
    reference = {"name": connection.identity.name, "namespace": connection.identity.namespace}
    namespace = of.identity.namespace
    consumer = declared("Consumer", "etl", CONSUMER, namespace)
    stream = declared("Stream", "orders", {**STREAM, "connectionRef": reference}, namespace)
    found = group_place(of.identity, of.spec, {each.identity: each for each in (consumer, stream)})
    assert isinstance(found, GroupPlace)
    return found
