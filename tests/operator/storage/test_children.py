"""What is made for queue groups, as requests to a real API server: two managers that never say the same thing."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from kubernetes.aio.client import ApiClient

from penstock_operator.plan.fleet.pods import COST_ANNOTATION
from penstock_operator.storage.access import find_access
from penstock_operator.storage.children import DEPLOYMENTS, PODS, Children, is_scaled_apart
from penstock_operator.storage.errors import RefusedError
from tests.testbed.kubernetes.access import Namespace

LABELS = {"app": "etl"}


@pytest.fixture
async def children(namespace: Namespace, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Children]:
    monkeypatch.setenv("KUBECONFIG", str(namespace.kubeconfig))
    async with ApiClient(await find_access()) as client:
        yield Children(client)


def manifest(namespace: Namespace, image: str = "example/etl", **pod: object) -> Mapping[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "main", "image": image}], **pod}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": namespace.name, "name": "etl"},
        "spec": {"selector": {"matchLabels": LABELS}, "template": template},
    }


async def test_the_number_of_replicas_stays_whatever_is_applied(children: Children, namespace: Namespace) -> None:
    made = await children.apply(manifest(namespace), replicas=0)
    assert not is_scaled_apart(made)
    made = await children.scale(made, 0)
    assert is_scaled_apart(made)
    made = await children.apply(manifest(namespace, image="example/other"))
    assert (made["spec"]["replicas"], made["spec"]["template"]["spec"]["containers"][0]["image"]) == (
        0,
        "example/other",
    )
    made = await children.scale(made, 3)
    made = await children.apply(manifest(namespace))
    assert made["spec"]["replicas"] == 3


async def test_what_is_applied_no_more_goes_and_what_others_have_added_stays(
    children: Children, namespace: Namespace
) -> None:
    made = await children.apply(manifest(namespace, nodeSelector={"disk": "fast"}), replicas=0)
    await children.scale(made, 0)
    namespace.kubectl("annotate", "deployment/etl", "note=mine")
    made = await children.apply(manifest(namespace))
    assert "nodeSelector" not in made["spec"]["template"]["spec"]
    assert made["metadata"]["annotations"]["note"] == "mine"


async def test_a_deployment_that_was_made_anew_is_not_scaled_as_the_one_before(
    children: Children, namespace: Namespace
) -> None:
    before = await children.apply(manifest(namespace), replicas=0)
    namespace.kubectl("delete", "deployment/etl")
    with pytest.raises(RefusedError) as refused:
        await children.scale(before, 2)
    assert refused.value.code == 409
    assert await children.read(DEPLOYMENTS, namespace.name, "etl") is None


async def test_a_pod_is_marked_and_one_that_has_gone_needs_no_mark(children: Children, namespace: Namespace) -> None:
    namespace.kubectl("run", "worker", "--image=example/etl")
    await children.mark(namespace.name, "worker", -100)
    marked = await children.read(PODS, namespace.name, "worker")
    assert marked is not None
    assert marked["metadata"]["annotations"][COST_ANNOTATION] == "-100"
    await children.mark(namespace.name, "nobody", -100)
