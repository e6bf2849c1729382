"""`penstock pause`, `resume`, `drain` and `restart` in a cluster: what they write into the object, and remove again."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from penstock_operator.plan.sayings import LAST_APPLIED, who_says
from tests.operator.accounts import create_account, grant
from tests.operator.cli.commands import ClusterScene, penstock
from tests.operator.cli.groups import declare
from tests.operator.scene import manifest
from tests.testbed.waiting import WITHIN_SECONDS, eventually

GROUP = "queuegroup/orders"


@pytest.fixture
def there(scene: ClusterScene, fresh_name: str) -> ClusterScene:
    """A namespace with a queue group whose manifest doesn't set suspend."""
    declare(scene.declared, fresh_name, "orders")
    scene.client.create(*scene.declared.objects())
    return scene


def is_suspended(there: ClusterScene) -> bool:
    return bool(there.client.get(GROUP)["spec"].get("suspend"))


def declare_suspend(there: ClusterScene, *, suspend: bool) -> None:
    """Apply server-side, as the manager `tests`."""
    there.client.apply(manifest("QueueGroup", "orders", {"suspend": suspend}))


def test_a_pause_stays_until_it_is_resumed(there: ClusterScene) -> None:
    paused = there.run("pause", "orders")
    assert (paused.exit_code, paused.stdout) == (0, "")
    assert paused.stderr == (
        f"QueueGroup {there.namespace.name}/orders is paused: its workers finish what they hold, and end.\n"
    )
    assert is_suspended(there)
    there.namespace.kubectl("apply", f"--filename={there.declared.folder}")
    there.namespace.kubectl("apply", "--server-side", "--force-conflicts", f"--filename={there.declared.folder}")
    assert is_suspended(there), "manifests that don't set suspend leave it"
    refused = there.run("drain", "orders")
    assert (refused.exit_code, "penstock resume orders" in refused.stderr) == (1, True)
    assert there.namespace.name in refused.stderr
    assert there.run("resume", "orders").stderr == f"QueueGroup {there.namespace.name}/orders goes on.\n"
    assert not is_suspended(there)
    assert "penstock-cli" not in json.dumps(there.client.get(GROUP)["metadata"]["managedFields"])


def test_a_manager_that_sets_suspend_as_well_is_named(there: ClusterScene) -> None:
    declare_suspend(there, suspend=False)
    paused = there.run("pause", "orders")
    assert "tests said suspend: false, and will set it back when applied again" in paused.stderr
    assert is_suspended(there)
    declare_suspend(there, suspend=True)
    there.run("pause", "orders")
    resumed = there.run("resume", "orders")
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


def test_a_pause_waits_until_workers_hold_no_messages(there: ClusterScene) -> None:
    there.set_status(GROUP, {"replicas": 2, "held": 7}, ready=False)  # for the generation before the pause
    late = there.run("pause", "orders", "--wait", "--timeout", "0.1")
    assert (late.exit_code, late.stderr.splitlines()[-1]) == (1, "Its workers still hold messages.")
    there.set_status(GROUP, {"replicas": 0, "held": 0}, ready=False)
    assert there.run("pause", "orders", "--wait").exit_code == 0


def test_a_drain_pauses_once_all_messages_are_processed(there: ClusterScene, fresh_name: str) -> None:
    assert there.declared.run("apply").exit_code == 0
    there.declared.ask(lambda jetstream: jetstream.publish(f"{fresh_name}.a", b"{}"))
    late = there.run("drain", "orders", "--timeout", "1")
    assert (late.exit_code, late.stderr) == (1, "It is not drained, and goes on.\n")
    assert not is_suspended(there)
    with ThreadPoolExecutor() as threads:
        draining = threads.submit(there.run, "drain", "orders")
        there.declared.ask(lambda jetstream: jetstream.streams.purge(fresh_name))
        drained = draining.result(WITHIN_SECONDS)
    assert drained.exit_code == 0, drained.stderr
    assert is_suspended(there)


def test_a_restart_annotates_the_group_for_the_operator(there: ClusterScene) -> None:
    def restart_of() -> str:
        return str(there.client.get(GROUP)["metadata"]["annotations"]["penstock.dev/restart"])

    first = there.run("restart", "orders")
    assert first.stderr == f"QueueGroup {there.namespace.name}/orders: its workers are started anew, a few at a time.\n"
    annotation = restart_of()

    def is_another() -> bool:
        there.run("restart", "orders")
        return restart_of() != annotation

    eventually(is_another, "a restart in a later second has another annotation")


def test_a_missing_right_to_patch_is_named(there: ClusterScene) -> None:
    kubeconfig = create_account(there.namespace, "viewer")
    grant(there.namespace, "viewer", {"penstock.dev": ["*"]}, "get", "list", to="viewer")
    for verb in ("pause", "resume", "restart"):
        outcome = penstock(verb, "orders", kubeconfig=kubeconfig)
        assert outcome.exit_code == 1
        assert "that needs the verb patch on queuegroups.penstock.dev." in outcome.stderr, outcome.stderr
