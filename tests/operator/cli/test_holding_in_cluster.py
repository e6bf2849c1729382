"""`penstock pause`, `resume`, `drain` and `restart` in a cluster: said in the object, and taken back as it was said."""

import json
import threading
from typing import Any

import pytest

from penstock_operator.plan.sayings import LAST_APPLIED, who_says
from tests.operator.cli.commands import Declared, Outcome, Run, ask, penstock_as
from tests.operator.cli.groups import declare
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually

GROUP = "queuegroup/orders"
SECONDS = 60


@pytest.fixture
def there(penstock_namespace: Namespace, declared: Declared, fresh_name: str) -> Namespace:
    """A namespace with a group that is declared, and whose manifest says nothing of suspend."""
    declare(declared, fresh_name, "orders")
    penstock_namespace.kubectl("apply", f"--filename={declared.folder}")
    return penstock_namespace


def found(namespace: Namespace) -> dict[str, Any]:
    group: dict[str, Any] = json.loads(namespace.kubectl("get", GROUP, "--output=json", "--show-managed-fields"))
    return group


def is_suspended(namespace: Namespace) -> bool:
    return bool(found(namespace)["spec"].get("suspend"))


def declare_suspend(namespace: Namespace, *arguments: str, **spec: Any) -> None:  # noqa: ANN401 - a manifest's
    manifest = {"apiVersion": "penstock.dev/v1alpha1", "kind": "QueueGroup", "metadata": {"name": "orders"}}
    namespace.kubectl("apply", "--filename=-", *arguments, stdin=json.dumps({**manifest, "spec": spec}))


def tell_status(namespace: Namespace, **status: Any) -> None:  # noqa: ANN401 - a status
    """Say what the operator would, of the object as it is declared now."""
    ready = {"type": "Ready", "status": "False", "reason": "Suspended", "message": "It is suspended."}
    seen = {"observedGeneration": found(namespace)["metadata"]["generation"]}
    conditions = [{**ready, **seen, "lastTransitionTime": "2026-01-31T12:00:00Z"}]
    patch = json.dumps({"status": {"conditions": conditions, **status}})
    namespace.kubectl("patch", GROUP, "--subresource=status", "--type=merge", f"--patch={patch}")


def test_a_pause_is_said_in_the_object_and_taken_back(run: Run, there: Namespace) -> None:
    paused = run("pause", "orders")
    assert (paused.returncode, paused.stdout) == (0, "")
    assert paused.stderr == (f"QueueGroup {there.name}/orders is paused: its workers finish what they hold, and end.\n")
    assert is_suspended(there)
    assert run("resume", "orders").stderr == f"QueueGroup {there.name}/orders goes on.\n"
    assert not is_suspended(there)
    assert "penstock-cli" not in json.dumps(found(there)["metadata"]["managedFields"])


def test_an_apply_that_says_nothing_of_it_leaves_a_pause(run: Run, there: Namespace, declared: Declared) -> None:
    run("pause", "orders")
    there.kubectl("apply", f"--filename={declared.folder}")
    there.kubectl("apply", "--server-side", "--force-conflicts", f"--filename={declared.folder}")
    assert is_suspended(there)


def test_who_would_set_a_pause_back_is_named(run: Run, there: Namespace) -> None:
    declare_suspend(there, "--server-side", "--field-manager=gitops", "--force-conflicts", suspend=False)
    paused = run("pause", "orders")
    assert "gitops said suspend: false, and will set it back when applied again" in paused.stderr
    assert is_suspended(there)


def test_a_pause_that_a_manifest_declares_stays_and_is_told(run: Run, there: Namespace) -> None:
    declare_suspend(there, "--server-side", "--field-manager=gitops", "--force-conflicts", suspend=True)
    run("pause", "orders")
    resumed = run("resume", "orders")
    assert "is declared with suspend: true by gitops, which only its manifest takes back" in resumed.stderr
    assert is_suspended(there)


def test_who_has_applied_a_field_is_known_however_it_was_applied() -> None:
    applied = {"operation": "Apply", "fieldsV1": {"f:spec": {"f:suspend": {}}}}
    entries = [{**applied, "manager": name} for name in ("argocd-controller", "penstock-cli")]
    edited = {**applied, "operation": "Update", "manager": "kubectl-edit"}
    annotation = {LAST_APPLIED: json.dumps({"spec": {"suspend": False}})}
    metadata = {"managedFields": [*entries, edited], "annotations": annotation}
    assert who_says(metadata, "suspend", but="penstock-cli") == ["argocd-controller", "kubectl apply"]
    assert who_says({"annotations": {LAST_APPLIED: "nonsense"}}, "suspend", but="") == []


def test_a_pause_waits_until_the_operator_says_that_nothing_is_held(run: Run, there: Namespace) -> None:
    tell_status(there, replicas=2, held=7)  # of the object before the pause: it says nothing about now
    late = run("pause", "orders", "--wait", "--timeout", "0.1")
    assert (late.returncode, late.stderr.splitlines()[-1]) == (1, "Its workers still hold messages.")
    tell_status(there, replicas=0, held=0)
    assert run("pause", "orders", "--wait", "--timeout", str(SECONDS)).returncode == 0


def test_a_drain_pauses_once_all_is_processed(
    run: Run, there: Namespace, server: NatsServer, declared: Declared, fresh_name: str
) -> None:
    assert declared.run("apply", "--server", server.url).exit_code == 0
    ask(server.url, lambda jetstream: jetstream.publish(f"{fresh_name}.a", b"{}"))
    late = run("drain", "orders", "--timeout", "1")
    assert (late.returncode, late.stderr) == (1, "It is not drained, and goes on.\n")
    assert not is_suspended(there)
    drained: list[Outcome] = []
    draining = threading.Thread(target=lambda: drained.append(run("drain", "orders")))
    draining.start()
    ask(server.url, lambda jetstream: jetstream.streams.purge(fresh_name))
    draining.join(SECONDS)
    assert drained[0].returncode == 0, drained[0].stderr
    assert is_suspended(there)


def test_a_drain_of_a_paused_group_is_refused(run: Run, there: Namespace) -> None:
    run("pause", "orders")
    refused = run("drain", "orders")
    assert (refused.returncode, "penstock resume orders" in refused.stderr) == (1, True)
    assert there.name in refused.stderr


def test_a_restart_is_written_down_for_the_operator(run: Run, there: Namespace) -> None:
    first = run("restart", "orders")
    assert first.stderr == f"QueueGroup {there.name}/orders: its workers are started anew, a few at a time.\n"
    annotation = found(there)["metadata"]["annotations"]["penstock.dev/restart"]

    def changes() -> bool:
        run("restart", "orders")
        return bool(found(there)["metadata"]["annotations"]["penstock.dev/restart"] != annotation)

    eventually(changes, "a restart at a later second says something else", SECONDS)


def test_who_may_only_look_is_told_which_right_is_missing(there: Namespace, penstock_plane: Access) -> None:
    rules = {"apiGroups": ["penstock.dev"], "resources": ["*"], "verbs": ["get", "list"]}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "see"}, "rules": [rules]}
    there.kubectl("create", "--filename=-", stdin=json.dumps(role))
    there.kubectl("create", "rolebinding", "see", "--role=see", "--user=onlooker")
    kubeconfig = penstock_plane.kubeconfig_for("onlooker")
    for verb in ("pause", "resume", "restart"):
        outcome = penstock_as(kubeconfig, verb, "orders", "--namespace", there.name)
        assert outcome.returncode == 1
        assert "that needs the verb patch on queuegroups.penstock.dev." in outcome.stderr, outcome.stderr
