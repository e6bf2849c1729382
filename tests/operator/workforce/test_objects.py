"""Objects that the operator creates for a queue group: applied, corrected, and left alone."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from penstock_operator.plan.group_streams import LEDGER_STREAM
from penstock_operator.services.nats.permissions import Feature, permissions, server_configuration
from tests.operator.running import WORKER_IMAGE
from tests.operator.scene import manifest
from tests.operator.workforce.grouping import GROUP, GroupScene
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.nats.fixtures import StartNats

OTHERS = (f"poddisruptionbudget/{GROUP}", f"networkpolicy/{GROUP}")


@pytest.mark.interpreter
def test_group_without_messages_has_all_its_objects_and_messages_bring_a_worker(scene: GroupScene) -> None:
    scene.declare_group()
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "True", "ScaledToZero")
    assert scene.wait_deployment()["spec"]["replicas"] == 0
    group = scene.shown(f"queuegroup/{GROUP}")
    for what in (f"deployment/{GROUP}", *OTHERS):
        [owner] = scene.shown(what)["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("QueueGroup", group["metadata"]["uid"], True)

    scene.wait_condition(f"queuegroup/{GROUP}", "Scaling", "True")
    scene.publish_orders(3)
    scene.wait_replicas(1)
    scene.wait_event(f"queuegroup/{GROUP}", "Scaled")
    scene.wait_status(pending=3)


def test_pods_change_with_the_code_and_the_template_and_not_with_scaling(scene: GroupScene) -> None:
    scene.declare_group(template={"spec": {"nodeSelector": {"disk": "fast"}}})
    assert scene.wait_deployment()["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "fast"}
    scene.declare_group()
    scene.wait(lambda: "nodeSelector" not in scene.template()["spec"], "the pods may be anywhere")
    assert scene.replicas() == 0
    before = scene.template()
    scene.declare_group(scaling={"minReplicas": 2, "maxReplicas": 3})
    scene.wait_replicas(2)
    assert scene.template() == before
    scene.code("etl-code", "def process(df, batch): print(batch)")
    scene.wait(lambda: scene.template() != before, "the template is another")


def test_changes_by_others_are_reverted(scene: GroupScene) -> None:
    scene.declare_group()
    scene.wait_condition(f"queuegroup/{GROUP}", "Scaling", "True")
    scene.namespace.client.scale(f"deployment/{GROUP}", 7)
    scene.wait_replicas(0)
    containers = [{**each, "image": "example/other"} for each in scene.template()["spec"]["containers"]]
    scene.namespace.client.patch(f"deployment/{GROUP}", {"spec": {"template": {"spec": {"containers": containers}}}})
    scene.wait(lambda: scene.template()["spec"]["containers"][0]["image"] == WORKER_IMAGE, "the image is back")
    for what in OTHERS:
        scene.delete(what)
        scene.wait(partial(scene.exists, what), f"{what} is made again")
    scene.delete(f"deployment/{GROUP}")
    scene.wait_deployment()


def test_deployment_of_somebody_else_is_left_alone(scene: GroupScene) -> None:
    labels = {"app": "theirs"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "theirs", "image": "example/theirs"}]}}
    theirs = manifest("Deployment", GROUP, {"selector": {"matchLabels": labels}, "template": pod})
    before = scene.namespace.client.create({**theirs, "apiVersion": "apps/v1"})
    scene.declare_group()
    said = scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "False", "NameTaken")
    assert GROUP in said["message"]
    assert scene.deployment() == before
    scene.delete(f"deployment/{GROUP}")
    scene.wait_ready(f"queuegroup/{GROUP}")


def test_group_waits_for_its_code(scene: GroupScene) -> None:
    scene.namespace.client.delete("configmap/etl-code")
    scene.declare_group()
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "False", "CodeNotFound")
    assert scene.deployment() is None
    scene.code("etl-code", "def process(df, batch): ...")
    scene.wait_ready(f"queuegroup/{GROUP}")


def test_objects_that_are_being_created_cause_no_warning(scene: GroupScene) -> None:
    stream = {"connectionRef": {"name": "nats"}, "subjects": ["bills.>"]}
    handler = {"entrypoint": "etl:process", "configMapRef": {"name": "etl-code"}}
    specs: dict[str, dict[str, Any]] = {
        "Stream": stream,
        "Consumer": {"streamRef": {"name": "bills"}},
        "QueueGroup": {"consumerRef": {"name": "bills"}, "handler": handler},
    }
    scene.namespace.client.create(*(manifest(kind, "bills", spec) for kind, spec in specs.items()))
    scene.wait_condition("queuegroup/bills", "Ready", "True")
    scene.wait_event("queuegroup/bills", "ScaledToZero")
    warned = [event["reason"] for event in scene.events("queuegroup/bills") if event["type"] == "Warning"]
    assert warned == []


def test_group_waits_for_its_consumer_to_be_on_the_server_and_can_be_deleted_before(scene: GroupScene) -> None:
    for called in ("deleted", GROUP):
        scene.declare_group(called, consumerRef={"name": "late"})
        said = scene.wait_condition(f"queuegroup/{called}", "Ready", "False", "ConsumerNotFound")
        assert "There is no Consumer" in said["message"]
        scene.wait_event(f"queuegroup/{called}", "ConsumerNotFound")
    scene.delete("queuegroup/deleted")
    scene.declare_consumer("late", stream="later")
    said = scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "False", "StreamNotFound")
    assert "later" in said["message"]
    scene.declare_stream("later")
    scene.wait_ready(f"queuegroup/{GROUP}")


def test_refused_templates_are_reported_and_delay_no_other_group(scene: GroupScene) -> None:
    """One template is refused by the operator, the other by the API server, in its words."""
    refused: dict[str, dict[str, Any]] = {
        "privileged": {"securityContext": {"privileged": True}},
        "quantities": {"resources": {"limits": {"cpu": "much"}}},
    }
    for name, driver in refused.items():
        scene.declare_group(name, template={"spec": {"containers": [{"name": "driver", **driver}]}})
    scene.declare_group()
    for name in refused:
        assert name in scene.wait_condition(f"queuegroup/{name}", "Ready", "False", "TemplateRefused")["message"]
    scene.wait_ready(f"queuegroup/{GROUP}")


def test_nothing_is_written_while_nothing_changes(scene: GroupScene) -> None:
    scene.declare_group()
    scene.wait_ready(f"queuegroup/{GROUP}")

    def versions() -> dict[str, str]:
        kinds = ("queuegroups", "deployments", "networkpolicies", "poddisruptionbudgets", "consumers", "events")
        listed = scene.namespace.client.list(*kinds)
        return {each["metadata"]["uid"]: each["metadata"]["resourceVersion"] for each in listed}

    def is_quiet() -> bool:
        """Tell whether nothing is written while the server is asked twenty times; the last event may come late."""
        before, asked = versions(), scene.asked()
        scene.wait(lambda: scene.asked() >= asked + 20, "the server has been asked more often")
        return versions() == before

    scene.wait_status(pending=0)
    scene.wait(is_quiet, "nothing is written")


@pytest.mark.full
def test_group_whose_streams_cannot_be_created_says_so_and_goes_on_once_they_are_there(
    served_namespace: Namespace, start_nats: StartNats
) -> None:
    """The Connection's user may observe, and not create."""
    allowed = (Feature.CONNECT, Feature.OBSERVE, Feature.WORKERS)
    granted = server_configuration([each for each in permissions() if each.feature in allowed])
    observer = {"user": "observer", "password": "hush", "permissions": granted}
    users = {"users": [{"user": "platform", "password": "hush"}, observer]}
    scene = GroupScene(served_namespace, start_nats(extra={"authorization": users, "no_auth_user": "platform"}))
    scene.create_prerequisites()
    scene.secret("observer", username="observer", password="hush")
    scene.connect("observing", auth={"userPasswordSecretRef": {"name": "observer"}})
    observed = {"connectionRef": {"name": "observing"}, "stream": "orders", "name": "etl"}
    scene.apply("Consumer", "observed", {**observed, "management": {"policy": "Observe"}})
    scene.declare_group(consumerRef={"name": "observed"})
    refused = scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "False", "Unauthorized")
    assert f"Stream {LEDGER_STREAM} of the ledger is missing and cannot be created" in refused["message"]
    scene.declare_group("platforms")
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "True", "ScaledToZero")
    scene.publish_orders(3)
    scene.wait_replicas(1)


def test_deleted_stream_of_a_group_is_created_again_and_an_event_says_so(scene: GroupScene) -> None:
    scene.declare_group()
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "True")
    for name in (LEDGER_STREAM, "orders-etl-dead"):
        before = scene.stream(name)
        assert before is not None
        scene.ask(f"STREAM.DELETE.{name}")
        scene.wait(partial(is_another, scene, name, before), f"stream {name} is created again")
    scene.wait_event(f"queuegroup/{GROUP}", "Recreated")


def is_another(scene: GroupScene, name: str, before: Mapping[str, Any]) -> bool:
    now = scene.stream(name)
    return now is not None and now["created"] != before["created"]
