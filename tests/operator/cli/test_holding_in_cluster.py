"""`penstock pause`, `resume`, `drain` and `restart` in a cluster: what they write into the object, and remove again."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from penstock_operator.constants import API_VERSION
from penstock_operator.plan.sayings import LAST_APPLIED, who_says
from tests.operator.cli.commands import RBAC, Declared, Run, allow, ask, penstock, set_status
from tests.operator.cli.groups import declare
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import WITHIN_SECONDS, eventually

GROUP = "queuegroup/orders"


@pytest.fixture
def there(penstock_namespace: Namespace, declared: Declared, fresh_name: str) -> Namespace:
    """A namespace with a queue group whose manifest doesn't set suspend."""
    declare(declared, fresh_name, "orders")
    penstock_namespace.client.create(*declared.objects())
    return penstock_namespace


def is_suspended(namespace: Namespace) -> bool:
    return bool(namespace.client.get(GROUP)["spec"].get("suspend"))


def declare_suspend(namespace: Namespace, *, suspend: bool) -> None:
    """Apply server-side, as the manager `tests`."""
    metadata = {"name": "orders"}
    spec = {"suspend": suspend}
    namespace.client.apply({"apiVersion": API_VERSION, "kind": "QueueGroup", "metadata": metadata, "spec": spec})


def set_held(namespace: Namespace, **counts: int) -> None:
    set_status(namespace, GROUP, ready="False", reason="Suspended", **counts)


def test_a_pause_stays_until_it_is_resumed(run: Run, there: Namespace, declared: Declared) -> None:
    paused = run("pause", "orders")
    assert (paused.exit_code, paused.stdout) == (0, "")
    assert paused.stderr == (f"QueueGroup {there.name}/orders is paused: its workers finish what they hold, and end.\n")
    assert is_suspended(there)
    there.kubectl("apply", f"--filename={declared.folder}")
    there.kubectl("apply", "--server-side", "--force-conflicts", f"--filename={declared.folder}")
    assert is_suspended(there), "manifests that don't set suspend leave it"
    refused = run("drain", "orders")
    assert (refused.exit_code, "penstock resume orders" in refused.stderr) == (1, True)
    assert there.name in refused.stderr
    assert run("resume", "orders").stderr == f"QueueGroup {there.name}/orders goes on.\n"
    assert not is_suspended(there)
    assert "penstock-cli" not in json.dumps(there.client.get(GROUP)["metadata"]["managedFields"])


def test_a_manager_that_sets_suspend_as_well_is_named(run: Run, there: Namespace) -> None:
    declare_suspend(there, suspend=False)
    paused = run("pause", "orders")
    assert "tests said suspend: false, and will set it back when applied again" in paused.stderr
    assert is_suspended(there)
    declare_suspend(there, suspend=True)
    run("pause", "orders")
    resumed = run("resume", "orders")
    assert "is declared with suspend: true by tests, which only its manifest takes back" in resumed.stderr
    assert is_suspended(there)


def test_managers_of_a_field_are_found_however_they_applied_it() -> None:
    applied = {"operation": "Apply", "fieldsV1": {"f:spec": {"f:suspend": {}}}}
    entries = [{**applied, "manager": name} for name in ("argocd-controller", "penstock-cli")]
    edited = {**applied, "operation": "Update", "manager": "kubectl-edit"}
    annotation = {LAST_APPLIED: json.dumps({"spec": {"suspend": False}})}
    metadata: dict[str, Any] = {"managedFields": [*entries, edited], "annotations": annotation}
    assert who_says(metadata, "suspend", but="penstock-cli") == ["argocd-controller", "kubectl apply"]
    assert who_says({"annotations": {LAST_APPLIED: "nonsense"}}, "suspend", but="") == []


def test_a_pause_waits_until_workers_hold_no_messages(run: Run, there: Namespace) -> None:
    set_held(there, replicas=2, held=7)  # for the generation before the pause
    late = run("pause", "orders", "--wait", "--timeout", "0.1")
    assert (late.exit_code, late.stderr.splitlines()[-1]) == (1, "Its workers still hold messages.")
    set_held(there, replicas=0, held=0)
    assert run("pause", "orders", "--wait").exit_code == 0


def test_a_drain_pauses_once_all_messages_are_processed(
    run: Run, there: Namespace, server: NatsServer, declared: Declared, fresh_name: str
) -> None:
    assert declared.run("apply", "--server", server.url).exit_code == 0
    ask(server.url, lambda jetstream: jetstream.publish(f"{fresh_name}.a", b"{}"))
    late = run("drain", "orders", "--timeout", "1")
    assert (late.exit_code, late.stderr) == (1, "It is not drained, and goes on.\n")
    assert not is_suspended(there)
    with ThreadPoolExecutor() as threads:
        draining = threads.submit(run, "drain", "orders")
        ask(server.url, lambda jetstream: jetstream.streams.purge(fresh_name))
        drained = draining.result(WITHIN_SECONDS)
    assert drained.exit_code == 0, drained.stderr
    assert is_suspended(there)


def test_a_restart_annotates_the_group_for_the_operator(run: Run, there: Namespace) -> None:
    def restart_of() -> str:
        return str(there.client.get(GROUP)["metadata"]["annotations"]["penstock.dev/restart"])

    first = run("restart", "orders")
    assert first.stderr == f"QueueGroup {there.name}/orders: its workers are started anew, a few at a time.\n"
    annotation = restart_of()
    eventually(
        lambda: run("restart", "orders") and restart_of() != annotation,
        "a restart in a later second has another annotation",
    )


def test_a_missing_right_to_patch_is_named(there: Namespace, penstock_plane: Access) -> None:
    rules = [{"apiGroups": ["penstock.dev"], "resources": ["*"], "verbs": ["get", "list"]}]
    allow(there, "see", rules, {"apiGroup": RBAC, "kind": "User", "name": "onlooker"})
    kubeconfig = penstock_plane.kubeconfig_for("onlooker")
    for verb in ("pause", "resume", "restart"):
        outcome = penstock(verb, "orders", "--namespace", there.name, kubeconfig=kubeconfig)
        assert outcome.exit_code == 1
        assert "that needs the verb patch on queuegroups.penstock.dev." in outcome.stderr, outcome.stderr
