"""QueueGroup: its pod template, its scale subresource, and its selectable field, on a real API server."""

import pytest

from penstock_operator.resources import QUEUE_GROUP, QueueGroupSpec
from tests.operator.resources.judging import Judge, manifest
from tests.operator.resources.queue_group_rows import ACCEPTED
from tests.operator.resources.test_rules import whole
from tests.testbed.kubernetes.access import KubectlError, Namespace

EXTERNAL = whole(QUEUE_GROUP, ACCEPTED["scaling by others"])


def test_pod_template_passes_through_as_it_is_written(judge: Judge) -> None:
    spec = whole(QUEUE_GROUP, ACCEPTED["a template"])
    template = spec["template"]
    assert judge.kept(QUEUE_GROUP, spec)["template"] == template
    read = QueueGroupSpec.read(spec).template
    assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == template


def test_kubectl_scale_sets_replicas_only_where_others_decide(penstock_namespace: Namespace) -> None:
    internal = manifest(QUEUE_GROUP, whole(QUEUE_GROUP, {}), "internal")
    penstock_namespace.client.create(manifest(QUEUE_GROUP, EXTERNAL, "external"), internal)
    penstock_namespace.kubectl("scale", "queuegroup/external", "--replicas=7")
    assert penstock_namespace.client.get("qg/external")["spec"]["replicas"] == 7
    with pytest.raises(KubectlError, match="replicas and /scale belong to scaling"):
        penstock_namespace.kubectl("scale", "queuegroup/internal", "--replicas=7")


def test_scale_shows_how_many_workers_there_are_and_how_to_find_them(penstock_namespace: Namespace) -> None:
    penstock_namespace.client.create(manifest(QUEUE_GROUP, EXTERNAL))
    found = {"replicas": 2, "selector": "penstock.dev/queue-group=one"}
    penstock_namespace.client.patch("qg/one", {"status": found}, subresource="status")
    scale = penstock_namespace.client.get("qg/one", subresource="scale")
    assert (scale["spec"], scale["status"]) == ({"replicas": 3}, found)


def test_queue_groups_can_be_selected_by_their_consumer(penstock_namespace: Namespace) -> None:
    for name, consumer in (("one", "orders-etl"), ("two", "orders-audit")):
        penstock_namespace.client.create(manifest(QUEUE_GROUP, {**EXTERNAL, "consumerRef": {"name": consumer}}, name))
    selector = "--field-selector=spec.consumerRef.name=orders-audit"
    found = penstock_namespace.kubectl("get", "queuegroups", selector, "--output=name")
    assert found.split() == ["queuegroup.penstock.dev/two"]
