"""Commands against a cluster: `get` and `lag` read statuses, `plan` makes a dry run, `apply` waits for the operator."""

import copy
import json
from pathlib import Path

import pytest
import yaml

from penstock_jetstream import JetStream
from penstock_operator.resources import STREAM, definition
from penstock_operator.storage.review import contains
from tests.operator.cli.commands import Declared, Run, allow, ask, penstock, penstock_as, set_status, stream_names
from tests.operator.cli.groups import declare
from tests.operator.running import running_operator
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually

IN_CLUSTER = ("--home", "kubernetes")


def test_get_and_lag_show_what_the_operator_wrote(
    run: Run, penstock_namespace: Namespace, declared: Declared, fresh_name: str
) -> None:
    namespace = penstock_namespace.name
    declared.stream("orders", name=fresh_name)
    declared.consumer("etl", "orders")
    penstock_namespace.client.apply(*declared.objects())
    set_status(penstock_namespace, "stream/orders", messages=12_345, bytes=2**31)
    numbers = {"streamName": fresh_name, "consumerName": "etl", "pending": 7, "ackPending": 2}
    set_status(penstock_namespace, "consumer/etl", **numbers)
    got = run("get")
    assert got.exit_code == 0
    rows = [line.split("   ") for line in got.stdout.splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert cells[1][:5] == ["Connection", namespace, "nats", "Unknown", "-"]
    assert cells[2][:5] == ["Stream", namespace, "orders", "True", "InSync"]
    assert cells[2][6] == "12,345 messages, 2.0 GiB"
    lag = json.loads(run("lag", "etl", "-o", "json").stdout)
    assert lag["consumers"] == [{"namespace": namespace, "name": "etl", "state": "Ready", **numbers}]
    [found] = json.loads(run("get", "stream", "orders", "-o", "json").stdout)["items"]
    assert (found["kind"], found["spec"]["name"]) == ("Stream", fresh_name)
    assert "managedFields" not in found["metadata"]
    assert fresh_name in run("get", "streams", "-A", "-o", "json").stdout


def test_dead_letters_and_batches_of_a_cluster_are_read_from_nats(
    run: Run, penstock_namespace: Namespace, declared: Declared, server: NatsServer, fresh_name: str
) -> None:
    declare(declared, fresh_name, "orders")
    penstock_namespace.client.apply(*declared.objects())

    async def bury(jetstream: JetStream) -> None:
        subject = f"dead.{fresh_name}.etl"
        await jetstream.streams.create({"name": f"{fresh_name}-etl-dead", "subjects": [f"{subject}.>"]})
        await jetstream.publish(f"{subject}.a", b"{}", headers={"Penstock-Reason": "no amount"})

    ask(server.url, bury)
    [letter] = json.loads(run("dead", "list", "orders", "-o", "json").stdout)["deadLetters"]
    assert (letter["group"], letter["reason"]) == (f"{penstock_namespace.name}/orders", "no amount")
    assert run("batches").stderr == f"QueueGroup {penstock_namespace.name}/orders: No worker answers.\n"


def test_a_queue_group_shows_the_counts_of_its_workers(
    run: Run, penstock_namespace: Namespace, declared: Declared, fresh_name: str
) -> None:
    declare(declared, fresh_name, "orders")
    penstock_namespace.client.apply(*declared.objects())
    counts = {"pending": 48_210, "ackPending": 7, "held": 7, "busyReplicas": 2, "replicas": 2, "desiredReplicas": 4}
    set_status(penstock_namespace, "queuegroup/orders", **counts)
    heading, row = (line.split() for line in run("get", "qg").stdout.splitlines())
    cells = dict(zip(heading, row, strict=True))
    named = {"LAG": "48,210", "UNACKED": "7", "HELD": "7", "BUSY": "2", "WORKERS": "2", "DESIRED": "4"}
    assert {name: cells[name] for name in named} == named
    assert "2 workers, 2 busy; 48,210 pending" in run("get").stdout


def test_a_plan_refers_to_objects_of_the_cluster_and_writes_nothing(
    run: Run, penstock_namespace: Namespace, declared: Declared, server: NatsServer, fresh_name: str
) -> None:
    penstock_namespace.client.apply(*declared.objects())
    (declared.folder / "Connection-nats.yaml").unlink()
    declared.stream("orders", name=fresh_name)
    declared.consumer("etl", "orders")
    outcome = run("plan", "-f", declared.folder, *IN_CLUSTER)
    assert (outcome.exit_code, outcome.stdout.splitlines()[-1]) == (0, "2 to create")
    assert fresh_name not in stream_names(server.url)
    assert penstock_namespace.client.list("streams") == []


def test_a_plan_names_what_a_moved_consumer_leaves_behind(
    run: Run, penstock_namespace: Namespace, declared: Declared, fresh_name: str
) -> None:
    other = f"{fresh_name}-other"
    declared.stream("orders", name=fresh_name)
    declared.stream("bills", name=other)
    declared.consumer("etl", "orders")
    declared.run("apply")
    penstock_namespace.client.apply(*declared.objects())
    there = {"connection": f"{penstock_namespace.name}/nats", "syncedGeneration": 1}
    set_status(penstock_namespace, "stream/orders", streamName=fresh_name, **there)
    set_status(penstock_namespace, "stream/bills", streamName=other, **there)
    set_status(penstock_namespace, "consumer/etl", streamName=fresh_name, consumerName="etl", **there)
    declared.consumer("etl", "bills")
    planned = run("plan", "-f", declared.folder, *IN_CLUSTER, "--force-conflicts", "-o", "json")
    [etl] = [each for each in json.loads(planned.stdout)["objects"] if each["name"] == "etl"]
    assert etl["change"] == "create"
    assert f"Until now it was the consumer etl of stream {fresh_name}" in etl["losses"][0]
    assert "The former stays there" in etl["losses"][0]


def test_a_plan_finds_conflicts_with_the_cluster_and_refusals_of_the_api_server(
    run: Run, penstock_namespace: Namespace, declared: Declared, fresh_name: str
) -> None:
    declared.stream("first", name=fresh_name)
    penstock_namespace.client.apply(*declared.objects())
    declared.stream("second", name=fresh_name)
    conflicting = run("plan", "-f", declared.folder, *IN_CLUSTER, "-o", "json")
    changes = {each["name"]: each["change"] for each in json.loads(conflicting.stdout)["objects"]}
    assert (conflicting.exit_code, changes) == (1, {"first": "create", "second": "conflict"})
    manifest = declared.folder / "Stream-first.yaml"
    manifest.write_text(manifest.read_text().replace("name: first", "name: first\n  namespace: nowhere"))
    refused = run("plan", "-f", manifest, *IN_CLUSTER)
    assert refused.exit_code == 1
    assert "refused" in refused.stdout
    assert 'namespaces "nowhere" not found' in refused.stdout


def test_apply_waits_for_the_operator_and_fails_if_it_does_not_answer(
    run: Run, penstock_namespace: Namespace, declared: Declared
) -> None:
    declared.stream("orders")
    outcome = run("apply", "-f", declared.folder, *IN_CLUSTER, "--timeout", "1")
    assert outcome.exit_code == 1
    assert "The operator has not looked at it within 1 s." in outcome.stdout
    assert [each["metadata"]["name"] for each in penstock_namespace.client.list("streams")] == ["orders"]
    for what in ("stream/orders", "connection/nats"):
        set_status(penstock_namespace, what)
    again = run("apply", "-f", declared.folder, *IN_CLUSTER)
    assert (again.exit_code, again.stdout.splitlines()[-1]) == (0, "1 unchanged")


def test_the_operator_carries_out_what_is_applied_and_then_the_plan_is_empty(
    penstock_namespace: Namespace, declared: Declared, server: NatsServer, fresh_name: str, run: Run
) -> None:
    declared.stream("orders", name=fresh_name)
    declared.consumer("etl", "orders")
    in_cluster = ("-f", declared.folder, *IN_CLUSTER)
    with running_operator(penstock_namespace.kubeconfig, "--namespace", penstock_namespace.name) as operator:
        operator.wait_ready()
        made = penstock_as(penstock_namespace.kubeconfig, "apply", *in_cluster)  # the whole way, as a process
        assert (made.returncode, made.stdout.splitlines()[-1]) == (0, "2 created"), made.stdout
        assert fresh_name in stream_names(server.url)
        again = run("plan", *in_cluster, "--detailed-exitcode")
        assert (again.exit_code, again.stdout.splitlines()[-1]) == (0, "2 unchanged")
        assert run("apply", *in_cluster).stdout.splitlines()[-1] == "2 unchanged"
        declared.stream("orders", name=fresh_name, storage="Memory")

        def is_refused() -> bool:
            outcome = run("apply", *in_cluster, "--timeout", "1")
            assert outcome.exit_code == 1
            return "refused" in outcome.stdout

        eventually(is_refused, "the operator refuses the new storage")


def findings(run: Run) -> dict[str, dict[str, str]]:
    return {each["what"]: each for each in json.loads(run("doctor", "-o", "json").stdout)["findings"]}


def test_doctor_judges_definitions_the_operator_and_its_rights(
    run: Run, penstock_namespace: Namespace, declared: Declared, server: NatsServer
) -> None:
    penstock_namespace.client.apply(*declared.objects())
    spec = {"containers": [{"name": "operator", "image": "penstock"}]}
    metadata = {"name": "penstock-0", "labels": {"app.kubernetes.io/name": "penstock"}}
    penstock_namespace.client.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    found = findings(run)
    assert {found[kind]["verdict"] for kind in ("Connection", "Stream", "Consumer")} == {"good"}
    assert found["operator"]["verdict"] == "bad"
    assert "0 of " in found["operator"]["sentence"]
    assert found["rights"]["verdict"] == "bad"
    assert "list streams.penstock.dev" in found["rights"]["sentence"]
    assert found[server.url]["verdict"] == "good"


def test_doctor_judges_whether_a_queue_group_can_have_pods_and_executors(
    run: Run, penstock_namespace: Namespace, declared: Declared, fresh_name: str
) -> None:
    declare(declared, fresh_name, "orders")
    client, namespace = penstock_namespace.client, penstock_namespace.name
    client.apply(*declared.objects())
    found = findings(run)
    assert found["consumer"]["verdict"] == "good"
    assert found["limits"]["sentence"].startswith("maxAckPending: ")
    assert (found["pods"]["verdict"], "There is no ConfigMap" in found["pods"]["sentence"]) == ("bad", True)
    client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}})
    assert findings(run)["pods"]["verdict"] == "good"
    spark = {"spark": {"master": "k8s://https://kubernetes"}, "template": {"spec": {"serviceAccountName": "spark"}}}
    client.patch("queuegroup/orders", {"spec": spark})
    executors = findings(run)["executors"]
    assert executors["verdict"] == "bad"
    assert f"The account {namespace}/spark may not do" in executors["sentence"]
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get", "list", "watch", "delete"]}]
    account = {"kind": "ServiceAccount", "name": "spark", "namespace": namespace}
    allow(penstock_namespace, "spark", rules, account)
    eventually(lambda: findings(run)["executors"]["verdict"] == "good", "the account has its rights")


def test_a_definition_without_a_field_of_ours_is_another_version() -> None:
    ours = definition(STREAM)["spec"]
    older = copy.deepcopy(ours)
    del older["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["subjects"]
    assert contains(ours, ours)
    assert not contains(older, ours)


def test_a_context_chooses_the_cluster(run: Run, penstock_namespace: Namespace) -> None:
    document = yaml.safe_load(penstock_namespace.kubeconfig.read_text())
    document["clusters"].append({"name": "nowhere", "cluster": {"server": "https://127.0.0.1:1"}})
    user = document["users"][0]["name"]
    there = {"cluster": "nowhere", "user": user, "namespace": "elsewhere"}
    document["contexts"].append({"name": "there", "context": there})
    penstock_namespace.kubeconfig.write_text(yaml.safe_dump(document))
    assert run("get", "--context", document["current-context"]).exit_code == 0
    for command in ("get", "logs"):
        outcome = run(command, "--context", "there")
        assert (outcome.exit_code, "cannot be reached" in outcome.stderr) == (1, True)
    assert "no-such-context" in run("get", "--context", "no-such-context").stderr


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
