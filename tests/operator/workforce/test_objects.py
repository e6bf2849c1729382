"""What the API server is made to have for a queue group, and that it stays so: applied, corrected, left alone."""

from functools import partial
from typing import Any

from tests.operator.scene import manifest
from tests.operator.workforce.grouping import GROUP, GroupScene

OTHERS = (f"poddisruptionbudget/{GROUP}", f"networkpolicy/{GROUP}")


def test_a_group_without_messages_has_all_its_objects_and_no_workers(scene: GroupScene) -> None:
    scene.declare_group()
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "True", "ScaledToZero")
    deployment = scene.wait_deployment()
    assert deployment["spec"]["replicas"] == 0
    group = scene.shown(f"queuegroup/{GROUP}")
    for what in (f"deployment/{GROUP}", *OTHERS):
        [owner] = scene.shown(what)["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("QueueGroup", group["metadata"]["uid"], True)


def test_messages_bring_a_worker(scene: GroupScene) -> None:
    scene.declare_group()
    scene.wait_condition(f"queuegroup/{GROUP}", "Scaling", "True")
    scene.publish_orders(3)
    scene.wait_replicas(1)
    scene.wait_event(f"queuegroup/{GROUP}", "Scaled")
    scene.wait(lambda: scene.status().get("pending") == 3, "the status shows what is pending")


def test_a_group_that_is_declared_over_a_backlog_begins_with_workers(scene: GroupScene) -> None:
    scene.publish_orders(3)
    scene.declare_group()
    scene.wait_replicas(1)


def test_a_change_of_scaling_alone_leaves_the_pods_as_they_are(scene: GroupScene) -> None:
    scene.declare_group()
    scene.wait_deployment()
    before = scene.template()
    scene.declare_group(scaling={"minReplicas": 2, "maxReplicas": 3})
    scene.wait_replicas(2)
    assert scene.template() == before


def test_a_change_of_the_code_rolls_the_pods(scene: GroupScene) -> None:
    scene.declare_group()
    scene.wait_deployment()
    before = scene.template()
    scene.code("etl-code", "def process(df, batch): print(batch)")
    scene.wait(lambda: scene.template() != before, "the template is another")


def test_a_field_that_is_taken_out_of_the_template_goes(scene: GroupScene) -> None:
    scene.declare_group(template={"spec": {"nodeSelector": {"disk": "fast"}}})
    assert scene.wait_deployment()["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "fast"}
    scene.declare_group()
    scene.wait(lambda: "nodeSelector" not in scene.template()["spec"], "the pods may be anywhere")
    assert scene.replicas() == 0


def test_what_somebody_changed_is_changed_back(scene: GroupScene) -> None:
    scene.declare_group()
    scene.wait_condition(f"queuegroup/{GROUP}", "Scaling", "True")
    scene.namespace.client.scale(f"deployment/{GROUP}", 7)
    scene.wait_replicas(0)
    scene.namespace.kubectl("set", "image", f"deployment/{GROUP}", "driver=example/other")
    scene.wait(lambda: scene.template()["spec"]["containers"][0]["image"] == "example/worker:1", "the image is back")
    for what in OTHERS:
        scene.delete(what)
        scene.wait(partial(scene.exists, what), f"{what} is made again")
    scene.delete(f"deployment/{GROUP}")
    scene.wait_deployment()


def test_a_deployment_of_somebody_else_is_left_alone(scene: GroupScene) -> None:
    scene.namespace.kubectl("create", "deployment", GROUP, "--image=example/theirs")
    before = scene.deployment()
    scene.declare_group()
    said = scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "False", "NameTaken")
    assert GROUP in said["message"]
    assert scene.deployment() == before
    scene.delete(f"deployment/{GROUP}")
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "True")


def test_with_mode_external_whoever_scales_the_group_scales_its_workers(scene: GroupScene) -> None:
    scene.declare_group(scaling={"mode": "External"}, replicas=1)
    scene.wait_replicas(1)
    scene.namespace.client.scale(f"queuegroup/{GROUP}", 3)
    scene.wait_replicas(3)
    assert scene.status()["selector"] == f"penstock.dev/queue-group={GROUP}"


def test_a_suspended_group_has_no_workers_whatever_waits(scene: GroupScene) -> None:
    scene.publish_orders(3)
    scene.declare_group(suspend=True)
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "False", "Suspended")
    assert scene.wait_deployment()["spec"]["replicas"] == 0
    scene.declare_group()
    scene.wait_replicas(1)


def test_a_group_waits_for_its_code(scene: GroupScene) -> None:
    scene.namespace.client.delete("configmap/etl-code")
    scene.declare_group()
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "False", "CodeNotFound")
    assert scene.deployment() is None
    scene.code("etl-code", "def process(df, batch): ...")
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "True")


def test_nobody_is_warned_of_what_is_being_made(scene: GroupScene) -> None:
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


def test_a_group_waits_for_its_consumer_to_be_on_the_server(scene: GroupScene) -> None:
    scene.declare_consumer("late", stream="later")
    scene.apply("QueueGroup", GROUP, {"consumerRef": {"name": "late"}, "handler": {"entrypoint": "a:b", "image": "x"}})
    said = scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "False", "StreamNotFound")
    assert "later" in said["message"]
    scene.declare_stream("later")
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "True")


def test_what_the_api_server_refuses_is_told_in_its_words(scene: GroupScene) -> None:
    scene.declare_group(
        template={"spec": {"containers": [{"name": "driver", "resources": {"limits": {"cpu": "much"}}}]}}
    )
    said = scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "False", "TemplateRefused")
    assert "quantities" in said["message"]


def test_a_group_that_cannot_be_run_keeps_nobody_else_waiting(scene: GroupScene) -> None:
    privileged = {"spec": {"containers": [{"name": "driver", "securityContext": {"privileged": True}}]}}
    scene.declare_group("bad", template=privileged)
    scene.declare_group()
    said = scene.wait_condition("queuegroup/bad", "Ready", "False", "TemplateRefused")
    assert "privileged" in said["message"]
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "True")


def test_nothing_is_written_while_nothing_changes(scene: GroupScene) -> None:
    scene.declare_group()
    scene.wait_condition(f"queuegroup/{GROUP}", "Ready", "True")

    def versions() -> dict[str, str]:
        kinds = ("queuegroups", "deployments", "networkpolicies", "poddisruptionbudgets", "consumers", "events")
        listed = scene.namespace.client.list(*kinds)
        return {each["metadata"]["uid"]: each["metadata"]["resourceVersion"] for each in listed}

    scene.wait(lambda: scene.status().get("pending") == 0, "the status shows that nothing is pending")
    before, asked = versions(), scene.asked()
    scene.wait(lambda: scene.asked() >= asked + 20, "the server has been asked more often")
    assert versions() == before
