"""Commands against a cluster: `get` and `lag` from statuses, `plan` by a dry run; each as a process of its own."""

import copy
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from penstock_jetstream import JetStream
from penstock_operator.resources import STREAM, definition
from penstock_operator.storage.review import contains
from tests.operator.cli.commands import PENSTOCK, Declared, Run, ask, stream_names
from tests.operator.cli.groups import declare
from tests.operator.running import running_operator
from tests.testbed.kubernetes.access import Namespace
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually


def set_status(namespace: Namespace, kind: str, name: str, **status: Any) -> None:  # noqa: ANN401 - a status
    """Say what the operator would say."""
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "InSync",
        "message": "It is as declared.",
        "lastTransitionTime": "2026-01-31T12:00:00Z",
        "observedGeneration": 1,
    }
    patch = json.dumps({"status": {"conditions": [ready], **status}})
    namespace.kubectl("patch", kind, name, "--subresource=status", "--type=merge", f"--patch={patch}")


def test_get_and_lag_tell_what_the_operator_says(
    run: Run, penstock_namespace: Namespace, declared: Declared, fresh_name: str
) -> None:
    declared.stream("orders", name=fresh_name)
    declared.consumer("etl", "orders")
    penstock_namespace.kubectl("apply", f"--filename={declared.folder}")
    set_status(penstock_namespace, "stream", "orders", messages=12_345, bytes=2**31)
    set_status(
        penstock_namespace, "consumer", "etl", streamName=fresh_name, consumerName="etl", pending=7, ackPending=2
    )
    got = run("get")
    assert got.returncode == 0
    rows = [line.split("   ") for line in got.stdout.splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert cells[1][:5] == ["Connection", penstock_namespace.name, "nats", "Unknown", "-"]
    assert cells[2][:5] == ["Stream", penstock_namespace.name, "orders", "True", "InSync"]
    assert cells[2][6] == "12,345 messages, 2.0 GiB"
    lag = json.loads(run("lag", "etl", "-o", "json").stdout)
    assert lag["consumers"] == [
        {
            "namespace": penstock_namespace.name,
            "name": "etl",
            "streamName": fresh_name,
            "consumerName": "etl",
            "pending": 7,
            "ackPending": 2,
            "state": "Ready",
        }
    ]
    [found] = json.loads(run("get", "stream", "orders", "-o", "json").stdout)["items"]
    assert (found["kind"], found["spec"]["name"]) == ("Stream", fresh_name)
    assert "managedFields" not in found["metadata"]
    assert fresh_name in run("get", "streams", "-A", "-o", "json").stdout


def test_the_groups_of_a_cluster_are_reached_over_nats_alone(
    run: Run, penstock_namespace: Namespace, declared: Declared, server: NatsServer, fresh_name: str
) -> None:
    declare(declared, fresh_name, "orders")
    penstock_namespace.kubectl("apply", f"--filename={declared.folder}")

    async def bury(jetstream: JetStream) -> None:
        subject = f"dead.{fresh_name}.etl"
        await jetstream.streams.create({"name": f"{fresh_name}-etl-dead", "subjects": [f"{subject}.>"]})
        await jetstream.publish(f"{subject}.a", b"{}", headers={"Penstock-Reason": "no amount"})

    ask(server.url, bury)
    [letter] = json.loads(run("dead", "list", "orders", "-o", "json").stdout)["deadLetters"]
    assert (letter["group"], letter["reason"]) == (f"{penstock_namespace.name}/orders", "no amount")
    assert run("batches").stderr == f"QueueGroup {penstock_namespace.name}/orders: No worker answers.\n"


def test_a_group_shows_what_the_operator_says_of_its_workers(
    run: Run, penstock_namespace: Namespace, declared: Declared, fresh_name: str
) -> None:
    declare(declared, fresh_name, "orders")
    penstock_namespace.kubectl("apply", f"--filename={declared.folder}")
    counts = {"pending": 48_210, "ackPending": 7, "held": 7, "busyReplicas": 2, "replicas": 2, "desiredReplicas": 4}
    set_status(penstock_namespace, "queuegroup", "orders", **counts)
    heading, row = (line.split() for line in run("get", "qg").stdout.splitlines())
    cells = dict(zip(heading, row, strict=True))
    named = {"LAG": "48,210", "UNACKED": "7", "HELD": "7", "BUSY": "2", "WORKERS": "2", "DESIRED": "4"}
    assert {name: cells[name] for name in named} == named
    assert "2 workers, 2 busy; 48,210 pending" in run("get").stdout


def test_a_plan_takes_from_the_cluster_what_the_files_do_not_have_and_writes_nothing(
    run: Run, penstock_namespace: Namespace, declared: Declared, server: NatsServer, fresh_name: str
) -> None:
    penstock_namespace.kubectl("apply", f"--filename={declared.folder}")
    (declared.folder / "Connection-nats.yaml").unlink()
    declared.stream("orders", name=fresh_name)
    declared.consumer("etl", "orders")
    outcome = run("plan", "-f", declared.folder, "--home", "kubernetes")
    assert outcome.stdout.splitlines()[-1] == "2 to create"
    assert outcome.returncode == 0
    assert fresh_name not in stream_names(server.url)
    assert "orders" not in penstock_namespace.kubectl("get", "streams", "--output=name")


def test_a_plan_tells_what_an_object_that_moves_leaves_behind(
    run: Run, penstock_namespace: Namespace, declared: Declared, fresh_name: str
) -> None:
    other = f"{fresh_name}-other"
    declared.stream("orders", name=fresh_name)
    declared.stream("bills", name=other)
    declared.consumer("etl", "orders")
    declared.run("apply")
    penstock_namespace.kubectl("apply", f"--filename={declared.folder}")
    there = {"connection": f"{penstock_namespace.name}/nats", "syncedGeneration": 1}
    set_status(penstock_namespace, "stream", "orders", streamName=fresh_name, **there)
    set_status(penstock_namespace, "stream", "bills", streamName=other, **there)
    set_status(penstock_namespace, "consumer", "etl", streamName=fresh_name, consumerName="etl", **there)
    declared.consumer("etl", "bills")
    planning = ("plan", "-f", declared.folder, "--home", "kubernetes", "--force-conflicts", "-o", "json")
    outcome = json.loads(run(*planning).stdout)
    [etl] = [each for each in outcome["objects"] if each["name"] == "etl"]
    assert etl["change"] == "create"
    assert f"Until now it was the consumer etl of stream {fresh_name}" in etl["losses"][0]
    assert "The former stays there" in etl["losses"][0]


def test_a_plan_sees_a_conflict_with_what_the_cluster_has(
    run: Run, penstock_namespace: Namespace, declared: Declared, fresh_name: str
) -> None:
    declared.stream("first", name=fresh_name)
    penstock_namespace.kubectl("apply", f"--filename={declared.folder}")
    declared.stream("second", name=fresh_name)
    outcome = run("plan", "-f", declared.folder, "--home", "kubernetes", "-o", "json")
    changes = {each["name"]: each["change"] for each in json.loads(outcome.stdout)["objects"]}
    assert changes == {"first": "create", "second": "conflict"}
    assert outcome.returncode == 1


def test_what_the_api_server_refuses_is_told_in_its_words(
    run: Run, penstock_namespace: Namespace, declared: Declared, fresh_name: str
) -> None:
    declared.stream("orders", name=fresh_name)
    penstock_namespace.kubectl("apply", f"--filename={declared.folder}")
    penstock_namespace.kubectl("delete", "--wait=false", "stream/orders")
    manifest = declared.folder / "Stream-orders.yaml"
    manifest.write_text(manifest.read_text().replace("name: orders", "name: orders\n  namespace: nowhere"))
    outcome = run("plan", "-f", manifest, "--home", "kubernetes")
    assert outcome.returncode == 1
    assert "refused" in outcome.stdout
    assert 'namespaces "nowhere" not found' in outcome.stdout


def test_apply_waits_for_the_operator_and_says_if_it_does_not_come(
    run: Run, penstock_namespace: Namespace, declared: Declared
) -> None:
    declared.stream("orders")
    outcome = run("apply", "-f", declared.folder, "--home", "kubernetes", "--timeout", "1")
    assert outcome.returncode == 1
    assert "The operator has not looked at it within 1 s." in outcome.stdout
    assert "stream.penstock.dev/orders" in penstock_namespace.kubectl("get", "streams", "--output=name")
    for kind, name in (("stream", "orders"), ("connection", "nats")):
        set_status(penstock_namespace, kind, name)
    again = run("apply", "-f", declared.folder, "--home", "kubernetes")
    assert again.stdout.splitlines()[-1] == "1 unchanged"
    assert again.returncode == 0


def test_the_operator_does_what_is_applied_and_then_no_plan_has_anything_to_do(
    run: Run, penstock_namespace: Namespace, declared: Declared, server: NatsServer, fresh_name: str
) -> None:
    declared.stream("orders", name=fresh_name)
    declared.consumer("etl", "orders")
    in_cluster = ("-f", declared.folder, "--home", "kubernetes")
    with running_operator(penstock_namespace.kubeconfig, "--namespace", penstock_namespace.name) as operator:
        operator.wait_ready()
        made = run("apply", *in_cluster)
        assert made.returncode == 0, made.stdout
        assert made.stdout.splitlines()[-1] == "2 created"
        assert fresh_name in stream_names(server.url)
        again = run("plan", *in_cluster, "--detailed-exitcode")
        assert (again.returncode, again.stdout.splitlines()[-1]) == (0, "2 unchanged")
        assert run("apply", *in_cluster).stdout.splitlines()[-1] == "2 unchanged"
        declared.stream("orders", name=fresh_name, storage="Memory")
        in_short = ("apply", *in_cluster, "--timeout", "1")
        eventually(lambda: "refused" in run(*in_short).stdout, "the operator has looked at it", 60)
        assert run(*in_short).returncode == 1


POD = """
apiVersion: v1
kind: Pod
metadata: {name: penstock-0, labels: {app.kubernetes.io/name: penstock}}
spec:
  serviceAccountName: penstock
  containers: [{name: operator, image: penstock}]
"""


def findings(run: Run) -> dict[str, dict[str, str]]:
    return {each["what"]: each for each in json.loads(run("doctor", "-o", "json").stdout)["findings"]}


def test_doctor_looks_at_definitions_at_the_operator_and_at_its_rights(
    run: Run, penstock_namespace: Namespace, declared: Declared, server: NatsServer
) -> None:
    penstock_namespace.kubectl("apply", f"--filename={declared.folder}")
    penstock_namespace.kubectl("create", "serviceaccount", "penstock")
    penstock_namespace.kubectl("create", "--filename=-", stdin=POD)
    found = findings(run)
    assert {found[kind]["verdict"] for kind in ("Connection", "Stream", "Consumer")} == {"good"}
    assert found["operator"]["verdict"] == "bad"
    assert "0 of " in found["operator"]["sentence"]
    assert found["rights"]["verdict"] == "bad"
    assert "list streams.penstock.dev" in found["rights"]["sentence"]
    assert found[server.url]["verdict"] == "good"


def test_doctor_tells_whether_pods_can_be_made_of_a_group(
    run: Run, penstock_namespace: Namespace, declared: Declared, fresh_name: str
) -> None:
    declare(declared, fresh_name, "orders")
    group = penstock_namespace.kubectl
    group("apply", f"--filename={declared.folder}")
    found = findings(run)
    assert found["consumer"]["verdict"] == "good"
    assert found["limits"]["sentence"].startswith("maxAckPending: ")
    assert (found["pods"]["verdict"], "There is no ConfigMap" in found["pods"]["sentence"]) == ("bad", True)
    group("create", "configmap", "code")
    assert findings(run)["pods"]["verdict"] == "good"
    spark = {"spark": {"master": "k8s://https://kubernetes"}, "template": {"spec": {"serviceAccountName": "spark"}}}
    group("patch", "queuegroup/orders", "--type=merge", f"--patch={json.dumps({'spec': spark})}")
    executors = findings(run)["executors"]
    assert executors["verdict"] == "bad"
    assert f"The account {penstock_namespace.name}/spark may not do" in executors["sentence"]
    group("create", "role", "spark", "--verb=create,get,list,watch,delete", "--resource=pods")
    group("create", "rolebinding", "spark", "--role=spark", f"--serviceaccount={penstock_namespace.name}:spark")
    eventually(lambda: findings(run)["executors"]["verdict"] == "good", "the account has its rights", 60)


def test_a_definition_of_another_version_is_told_from_ours() -> None:
    ours = definition(STREAM)["spec"]
    older = copy.deepcopy(ours)
    del older["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["subjects"]
    assert contains(ours, ours)
    assert not contains(older, ours)


def test_another_context_is_another_cluster_and_namespace(run: Run, penstock_namespace: Namespace) -> None:
    current = penstock_namespace.kubectl("config", "current-context").strip()
    view = json.loads(penstock_namespace.kubectl("config", "view", "--raw", "--output=json"))
    user = next(each["context"]["user"] for each in view["contexts"] if each["name"] == current)
    nowhere = ("--cluster=nowhere", f"--user={user}", "--namespace=elsewhere")
    penstock_namespace.kubectl("config", "set-cluster", "nowhere", "--server=https://127.0.0.1:1")
    penstock_namespace.kubectl("config", "set-context", "there", *nowhere)
    assert run("get", "--context", current).returncode == 0
    for command in (("get",), ("logs",)):
        outcome = run(*command, "--context", "there")
        assert (outcome.returncode, "cannot be reached" in outcome.stderr) == (1, True)
    assert "no-such-context" in run("get", "--context", "no-such-context").stderr


def test_without_a_cluster_there_is_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "none"
    environment = {**os.environ, "KUBECONFIG": str(file)}
    outcome = subprocess.run([PENSTOCK, "get"], capture_output=True, text=True, check=False, env=environment)
    assert outcome.returncode == 1
    error, hint = outcome.stderr.splitlines()  # and nothing else, such as what a library says of it
    assert error == f"Error: No way to a Kubernetes cluster was found: There is no file {file}."
    assert hint.startswith("hint: set KUBECONFIG")


def test_a_cluster_without_our_kinds_is_told_how_to_learn_them(own_control_plane: ControlPlane) -> None:
    environment = {**os.environ, "KUBECONFIG": str(own_control_plane.kubeconfig)}
    outcome = subprocess.run([PENSTOCK, "get"], capture_output=True, text=True, check=False, env=environment)
    assert outcome.returncode == 1
    assert "hint: install the definitions: penstock crds | kubectl apply --server-side -f -" in outcome.stderr
