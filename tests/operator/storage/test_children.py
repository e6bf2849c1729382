"""Objects that are made for queue groups, in a real API server: who owns which field."""

from collections.abc import Mapping
from typing import Any

import pytest
from kubernetes.aio.client import ApiClient

from penstock_operator.plan.fleet.pods import COST_ANNOTATION
from penstock_operator.storage.children import DEPLOYMENTS, PODS, Children, is_scaled_apart
from penstock_operator.storage.errors import RefusedError
from tests.testbed.kubernetes.access import Namespace

LABELS = {"app": "etl"}


@pytest.fixture
def children(client: ApiClient) -> Children:
    return Children(client)


def manifest(namespace: Namespace, image: str = "example/etl", **pod: object) -> Mapping[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "main", "image": image}], **pod}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": namespace.name, "name": "etl"},
        "spec": {"selector": {"matchLabels": LABELS}, "template": template},
    }


async def test_applying_keeps_replicas_and_fields_of_others_and_removes_former_fields(
    children: Children, namespace: Namespace
) -> None:
    made = await children.apply(manifest(namespace, nodeSelector={"disk": "fast"}), replicas=0)
    assert not is_scaled_apart(made)
    made = await children.scale(made, 0)
    assert is_scaled_apart(made)
    made = await children.apply(manifest(namespace, image="example/other"))
    [container] = made["spec"]["template"]["spec"]["containers"]
    assert (made["spec"]["replicas"], container["image"]) == (0, "example/other")
    await children.scale(made, 3)
    namespace.client.annotate("deployment/etl", {"note": "mine"})
    made = await children.apply(manifest(namespace))
    assert made["spec"]["replicas"] == 3
    assert "nodeSelector" not in made["spec"]["template"]["spec"]
    assert made["metadata"]["annotations"]["note"] == "mine"


async def test_a_deployment_that_was_deleted_is_not_scaled(children: Children, namespace: Namespace) -> None:
    before = await children.apply(manifest(namespace), replicas=0)
    namespace.client.delete("deployment/etl")
    with pytest.raises(RefusedError) as refused:
        await children.scale(before, 2)
    assert refused.value.code == 409
    assert await children.read(DEPLOYMENTS, namespace.name, "etl") is None


async def test_a_pod_gets_its_deletion_cost_and_a_missing_pod_is_ignored(
    children: Children, namespace: Namespace
) -> None:
    spec = {"containers": [{"name": "worker", "image": "example/etl"}]}
    namespace.client.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "worker"}, "spec": spec})
    await children.mark(namespace.name, "worker", -100)
    marked = await children.read(PODS, namespace.name, "worker")
    assert marked is not None
    assert marked["metadata"]["annotations"][COST_ANNOTATION] == "-100"
    await children.mark(namespace.name, "nobody", -100)
