"""Commands against a cluster: `get` and `lag` read statuses, `plan` makes a dry run, `apply` waits for the operator."""

import copy
import json
from pathlib import Path

import pytest
import yaml

from penstock_jetstream import JetStream
from penstock_operator.resources import STREAM, definition
from penstock_operator.storage.review import contains
from tests.operator.accounts import grant
from tests.operator.cli.commands import ClusterScene, penstock, penstock_as, stream_names
from tests.operator.cli.groups import declare
from tests.operator.running import running_operator
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.waiting import eventually


def test_get_and_lag_show_what_the_operator_wrote(scene: ClusterScene, fresh_name: str) -> None:
    namespace = scene.namespace.name
    scene.declared.stream("orders", name=fresh_name)
    scene.declared.consumer("etl", "orders")
    scene.apply()
    scene.set_status("stream/orders", {"messages": 12_345, "bytes": 2**31})
    numbers = {"streamName": fresh_name, "consumerName": "etl", "pending": 7, "ackPending": 2}
    scene.set_status("consumer/etl", numbers)
    got = scene.run("get")
    assert got.exit_code == 0
    rows = [line.split("   ") for line in got.stdout.splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert cells[1][:5] == ["Connection", namespace, "nats", "Unknown", "-"]
    assert cells[2][:5] == ["Stream", namespace, "orders", "True", "InSync"]
    assert cells[2][6] == "12,345 messages, 2.0 GiB"
    assert scene.data("lag", "etl")["consumers"] == [
        {"namespace": namespace, "name": "etl", "state": "Ready", **numbers}
    ]
    [found] = scene.data("get", "stream", "orders")["items"]
    assert (found["kind"], found["spec"]["name"]) == ("Stream", fresh_name)
    assert "managedFields" not in found["metadata"]
    assert fresh_name in scene.run("get", "streams", "-A", "-o", "json").stdout


def test_a_queue_group_shows_its_status_and_its_dead_letters(scene: ClusterScene, fresh_name: str) -> None:
    """Statuses are read from the cluster, dead letters and batches from NATS."""
    declare(scene.declared, fresh_name, "orders")
    scene.apply()
    counts = {"pending": 48_210, "ackPending": 7, "held": 7, "busyReplicas": 2, "replicas": 2, "desiredReplicas": 4}
    scene.set_status("queuegroup/orders", counts)
    heading, row = (line.split() for line in scene.run("get", "qg").stdout.splitlines())
    cells = dict(zip(heading, row, strict=True))
    named = {"LAG": "48,210", "UNACKED": "7", "HELD": "7", "BUSY": "2", "WORKERS": "2", "DESIRED": "4"}
    assert {name: cells[name] for name in named} == named
    assert "2 workers, 2 busy; 48,210 pending" in scene.run("get").stdout

    async def dead_letter(jetstream: JetStream) -> None:
        subject = f"dead.{fresh_name}.etl"
        await jetstream.streams.create({"name": f"{fresh_name}-etl-dead", "subjects": [f"{subject}.>"]})
        await jetstream.publish(f"{subject}.a", b"{}", headers={"Penstock-Reason": "no amount"})

    scene.declared.ask(dead_letter)
    [letter] = scene.data("dead", "list", "orders")["deadLetters"]
    assert (letter["group"], letter["reason"]) == (f"{scene.namespace.name}/orders", "no amount")
    assert scene.run("batches").stderr == f"QueueGroup {scene.namespace.name}/orders: No worker answers.\n"


def test_a_plan_refers_to_the_clusters_objects_and_writes_nothing(scene: ClusterScene, fresh_name: str) -> None:
    scene.apply()
    (scene.declared.folder / "Connection-nats.yaml").unlink()
    scene.declared.stream("orders", name=fresh_name)
    scene.declared.consumer("etl", "orders")
    outcome = scene.run_with_files("plan")
    assert (outcome.exit_code, outcome.stdout.splitlines()[-1]) == (0, "2 to create")
    assert fresh_name not in stream_names(scene.declared.url)
    assert scene.client.list("streams") == []


def test_a_plan_names_what_a_moved_consumer_leaves_behind(scene: ClusterScene, fresh_name: str) -> None:
    other = f"{fresh_name}-other"
    scene.declared.stream("orders", name=fresh_name)
    scene.declared.stream("bills", name=other)
    scene.declared.consumer("etl", "orders")
    scene.declared.run("apply")
    scene.apply()
    there = {"connection": f"{scene.namespace.name}/nats", "syncedGeneration": 1}
    scene.set_status("stream/orders", {"streamName": fresh_name, **there})
    scene.set_status("stream/bills", {"streamName": other, **there})
    scene.set_status("consumer/etl", {"streamName": fresh_name, "consumerName": "etl", **there})
    scene.declared.consumer("etl", "bills")
    planned = scene.run_with_files("plan", "--force-conflicts", "-o", "json")
    [etl] = [each for each in json.loads(planned.stdout)["objects"] if each["name"] == "etl"]
    assert etl["change"] == "create"
    assert f"Until now it was the consumer etl of stream {fresh_name}" in etl["losses"][0]
    assert "The former stays there" in etl["losses"][0]


def test_a_plan_finds_conflicts_and_refusals_of_the_api_server(scene: ClusterScene, fresh_name: str) -> None:
    scene.declared.stream("first", name=fresh_name)
    scene.apply()
    scene.declared.stream("second", name=fresh_name)
    conflicting = scene.run_with_files("plan", "-o", "json")
    changes = {each["name"]: each["change"] for each in json.loads(conflicting.stdout)["objects"]}
    assert (conflicting.exit_code, changes) == (1, {"first": "create", "second": "conflict"})
    manifest = scene.declared.folder / "Stream-first.yaml"
    manifest.write_text(manifest.read_text().replace("name: first", "name: first\n  namespace: nowhere"))
    refused = scene.run("plan", "-f", manifest, "--home", "kubernetes")
    assert refused.exit_code == 1
    assert "refused" in refused.stdout
    assert 'namespaces "nowhere" not found' in refused.stdout


def test_apply_waits_for_the_operator_and_fails_if_it_does_not_answer(scene: ClusterScene) -> None:
    scene.declared.stream("orders")
    outcome = scene.run_with_files("apply", "--timeout", "1")
    assert outcome.exit_code == 1
    assert "The operator has not looked at it within 1 s." in outcome.stdout
    assert [each["metadata"]["name"] for each in scene.client.list("streams")] == ["orders"]
    for what in ("stream/orders", "connection/nats"):
        scene.set_status(what, {})
    again = scene.run_with_files("apply")
    assert (again.exit_code, again.stdout.splitlines()[-1]) == (0, "1 unchanged")


def test_the_plan_is_empty_once_the_operator_is_in_sync(scene: ClusterScene, fresh_name: str) -> None:
    kubeconfig = scene.namespace.kubeconfig
    scene.declared.stream("orders", name=fresh_name)
    scene.declared.consumer("etl", "orders")
    with running_operator(kubeconfig, "--namespace", scene.namespace.name) as operator:
        operator.wait_ready()
        made = penstock_as(kubeconfig, "apply", "-f", scene.declared.folder, "--home", "kubernetes")  # as a process
        assert (made.returncode, made.stdout.splitlines()[-1]) == (0, "2 created"), made.stdout
        assert fresh_name in stream_names(scene.declared.url)
        again = scene.run_with_files("plan", "--detailed-exitcode")
        assert (again.exit_code, again.stdout.splitlines()[-1]) == (0, "2 unchanged")
        assert scene.run_with_files("apply").stdout.splitlines()[-1] == "2 unchanged"
        scene.declared.stream("orders", name=fresh_name, storage="Memory")

        def is_refused() -> bool:
            outcome = scene.run_with_files("apply", "--timeout", "1")
            assert outcome.exit_code == 1
            return "refused" in outcome.stdout

        eventually(is_refused, "the operator refuses the new storage")


def findings(scene: ClusterScene) -> dict[str, dict[str, str]]:
    return {each["what"]: each for each in scene.data("doctor")["findings"]}


def test_doctor_judges_the_cluster_and_its_queue_groups(scene: ClusterScene, fresh_name: str) -> None:
    namespace = scene.namespace.name
    declare(scene.declared, fresh_name, "orders")
    scene.apply()
    spec = {"containers": [{"name": "operator", "image": "penstock"}]}
    metadata = {"name": "penstock-0", "labels": {"app.kubernetes.io/name": "penstock"}}
    scene.client.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    found = findings(scene)
    good = ("Connection", "Stream", "Consumer", "consumer", scene.declared.url)
    assert {found[what]["verdict"] for what in good} == {"good"}
    for what, sentence in {
        "operator": "0 of ",
        "rights": "list streams.penstock.dev",
        "pods": "There is no ConfigMap",
    }.items():
        assert (found[what]["verdict"], sentence in found[what]["sentence"]) == ("bad", True)
    assert found["limits"]["sentence"].startswith("maxAckPending: ")
    scene.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}})
    assert findings(scene)["pods"]["verdict"] == "good"
    spark = {"spark": {"master": "k8s://https://kubernetes"}, "template": {"spec": {"serviceAccountName": "spark"}}}
    scene.client.patch("queuegroup/orders", {"spec": spark})
    executors = findings(scene)["executors"]
    assert executors["verdict"] == "bad"
    assert f"The account {namespace}/spark may not do" in executors["sentence"]
    grant(scene.namespace, "spark", {"": ["pods"]}, "create", "get", "list", "watch", "delete", to="spark")
    eventually(lambda: findings(scene)["executors"]["verdict"] == "good", "the account has its rights")


def test_a_definition_without_a_field_of_ours_is_another_version() -> None:
    ours = definition(STREAM)["spec"]
    older = copy.deepcopy(ours)
    del older["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["subjects"]
    assert contains(ours, ours)
    assert not contains(older, ours)


def test_a_context_chooses_the_cluster(scene: ClusterScene) -> None:
    kubeconfig = scene.namespace.kubeconfig
    document = yaml.safe_load(kubeconfig.read_text())
    document["clusters"].append({"name": "nowhere", "cluster": {"server": "https://127.0.0.1:1"}})
    user = document["users"][0]["name"]
    there = {"cluster": "nowhere", "user": user, "namespace": "elsewhere"}
    document["contexts"].append({"name": "there", "context": there})
    kubeconfig.write_text(yaml.safe_dump(document))
    assert scene.run("get", "--context", document["current-context"]).exit_code == 0
    for command in ("get", "logs"):
        outcome = scene.run(command, "--context", "there")
        assert (outcome.exit_code, "cannot be reached" in outcome.stderr) == (1, True)
    assert "no-such-context" in scene.run("get", "--context", "no-such-context").stderr


def test_without_a_cluster_there_is_a_hint(tmp_path: Path) -> None:
    outcome = penstock_as(tmp_path / "none", "get")
    assert outcome.returncode == 1
    error, hint = outcome.stderr.splitlines()  # and no line that a library prints
    assert error == f"Error: No way to a Kubernetes cluster was found: There is no file {tmp_path / 'none'}."
    assert hint.startswith("hint: set KUBECONFIG")


@pytest.mark.full
def test_without_our_definitions_there_is_a_hint(own_control_plane: ControlPlane) -> None:
    outcome = penstock("get", kubeconfig=own_control_plane.kubeconfig)
    assert outcome.exit_code == 1
    assert "hint: install the definitions: penstock crds | kubectl apply --server-side -f -" in outcome.stderr
