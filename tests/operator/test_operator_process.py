"""`penstock operator` against a real API server: ready only while it can work, alive throughout, gone on SIGTERM."""

import json
import signal
from pathlib import Path

import pytest

from penstock_operator.constants import API_VERSION
from penstock_operator.resources import KINDS
from tests.operator.conftest import install_crds
from tests.operator.forgetful import forgetful
from tests.operator.running import START_SECONDS, RunningOperator, running_operator
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.waiting import eventually

SEEN_SECONDS = 60  # a moment, on a machine that does other things too
STOP_SECONDS = 30  # likewise, and what a pod is given
CONNECTION = json.dumps(
    {
        "apiVersion": API_VERSION,
        "kind": "Connection",
        "metadata": {"name": "nats"},
        "spec": {"servers": ["nats://nats.nats:4222"]},
    }
)


OUR_KINDS = ",".join(kind.resource for kind in KINDS)
WORKERS = "deployments.apps,pods,configmaps,poddisruptionbudgets.policy,networkpolicies.networking.k8s.io"
WATCHED = f"{OUR_KINDS},{WORKERS}"


def account_that_may(namespace: Namespace, *verbs: str, what: str = WATCHED) -> Path:
    """Make a service account with these verbs in the namespace, on all that is watched, and return its kubeconfig."""
    namespace.kubectl("create", "serviceaccount", "operator")
    if verbs:
        wanted = [f"--verb={verb}" for verb in verbs]
        namespace.kubectl("create", "role", "operator", *wanted, f"--resource={what}")
        bound = f"--serviceaccount={namespace.name}:operator"
        namespace.kubectl("create", "rolebinding", "operator", "--role=operator", bound)
    return namespace.kubeconfig_for_service_account("operator")


def test_it_is_not_ready_before_the_crds_are_there_and_ready_after(own_control_plane: ControlPlane) -> None:
    with running_operator(own_control_plane.kubeconfig) as operator:
        operator.wait_not_ready("The API server does not know connections.penstock.dev: install the CRDs")
        install_crds(own_control_plane)
        operator.wait_ready()


def test_it_is_not_ready_while_the_api_server_is_killed_and_ready_again_after(own_control_plane: ControlPlane) -> None:
    install_crds(own_control_plane)
    with running_operator(own_control_plane.kubeconfig) as operator:
        operator.wait_ready()
        own_control_plane.api_server.kill()
        operator.wait_not_ready("The API server cannot be reached")
        own_control_plane.start_api_server()
        operator.wait_ready()
        own_control_plane.kubectl("create", "--filename=-", stdin=CONNECTION)
        eventually(lambda: sees(operator, "default/nats was seen"), "the watch works again", SEEN_SECONDS)


def test_it_is_not_ready_while_the_api_server_is_frozen_and_ready_again_after(own_control_plane: ControlPlane) -> None:
    install_crds(own_control_plane)
    with running_operator(own_control_plane.kubeconfig) as operator:
        operator.wait_ready()
        with own_control_plane.api_server.frozen():
            operator.wait_not_ready("The API server did not answer within 5 s.")
        operator.wait_ready()


def test_it_starts_before_there_is_an_api_server_and_becomes_ready_with_it(own_control_plane: ControlPlane) -> None:
    install_crds(own_control_plane)
    own_control_plane.api_server.stop()
    with running_operator(own_control_plane.kubeconfig) as operator:
        operator.wait_not_ready("The API server cannot be reached")
        own_control_plane.start_api_server()
        operator.wait_ready()


def test_what_is_listed_is_watched_though_the_api_server_did_not_tell_of_it_at_first(
    penstock_namespace: Namespace,
) -> None:
    with forgetful(penstock_namespace.cluster) as kubeconfig, running_operator(kubeconfig) as operator:
        operator.wait_ready()
        penstock_namespace.kubectl("create", "--filename=-", stdin=CONNECTION)
        eventually(lambda: sees(operator, f"{penstock_namespace.name}/nats was seen"), "the watch works", SEEN_SECONDS)


def test_it_ends_with_a_code_when_what_it_watches_is_taken_away(own_control_plane: ControlPlane) -> None:
    install_crds(own_control_plane)
    with running_operator(own_control_plane.kubeconfig) as operator:
        operator.wait_ready()
        own_control_plane.kubectl("delete", "crd/connections.penstock.dev", "--wait=false")
        assert operator.program.wait_ended(SEEN_SECONDS) == 1
        assert "Error: The operator cannot go on" in operator.program.log_tail()


def test_it_is_not_ready_when_its_account_may_not_list_and_ready_once_it_may(penstock_namespace: Namespace) -> None:
    kubeconfig = account_that_may(penstock_namespace)
    with running_operator(kubeconfig, "--namespace", penstock_namespace.name) as operator:
        operator.wait_not_ready("The operator may not list connections.penstock.dev: give its service account")
        verbs = ["--verb=get,list,watch", f"--resource={WATCHED}"]
        penstock_namespace.kubectl("create", "role", "operator", *verbs)
        bound = f"--serviceaccount={penstock_namespace.name}:operator"
        penstock_namespace.kubectl("create", "rolebinding", "operator", "--role=operator", bound)
        operator.wait_ready()


def test_it_is_not_ready_when_it_may_not_see_the_workers_of_queue_groups(penstock_namespace: Namespace) -> None:
    kubeconfig = account_that_may(penstock_namespace, "get", "list", "watch", what=OUR_KINDS)
    with running_operator(kubeconfig, "--namespace", penstock_namespace.name) as operator:
        operator.wait_not_ready("as no role has the verb: deployments.apps is forbidden")
        verbs = ["--verb=list,watch", f"--resource={WORKERS}"]
        penstock_namespace.kubectl("create", "role", "workers", *verbs)
        bound = f"--serviceaccount={penstock_namespace.name}:operator"
        penstock_namespace.kubectl("create", "rolebinding", "workers", "--role=workers", bound)
        operator.wait_ready()


def test_it_is_not_ready_when_it_may_list_and_not_watch(penstock_namespace: Namespace) -> None:
    kubeconfig = account_that_may(penstock_namespace, "get", "list")
    with running_operator(kubeconfig, "--namespace", penstock_namespace.name) as operator:
        operator.wait_ready()
        penstock_namespace.kubectl("create", "--filename=-", stdin=CONNECTION)
        operator.wait_not_ready("but the watch has not shown it: is watching allowed?", seconds=90)


def test_it_sees_connections_and_leaves_no_trace_on_them(penstock_namespace: Namespace) -> None:
    with running_operator(penstock_namespace.kubeconfig, "--namespace", penstock_namespace.name) as operator:
        operator.wait_ready()
        penstock_namespace.kubectl("create", "--filename=-", stdin=CONNECTION)
        name = f"{penstock_namespace.name}/nats"
        eventually(lambda: sees(operator, f"Connection {name} was seen."), "it is seen", SEEN_SECONDS)
        penstock_namespace.kubectl("delete", "connection/nats", f"--timeout={SEEN_SECONDS}s")
        eventually(lambda: sees(operator, f"Connection {name} is gone."), "it is seen to be gone", SEEN_SECONDS)


def test_it_serves_only_the_namespaces_that_it_was_given(penstock_plane: Access, penstock_namespace: Namespace) -> None:
    other = f"{penstock_namespace.name}-other"
    penstock_plane.kubectl("create", "namespace", other)
    with running_operator(penstock_namespace.kubeconfig, "--namespace", penstock_namespace.name) as operator:
        operator.wait_ready()
        penstock_plane.kubectl("create", "--namespace", other, "--filename=-", stdin=CONNECTION)
        penstock_namespace.kubectl("create", "--filename=-", stdin=CONNECTION)
        eventually(lambda: sees(operator, f"{penstock_namespace.name}/nats was seen"), "its own is seen", SEEN_SECONDS)
        assert not sees(operator, other)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_it_ends_with_code_0_when_it_is_told_to(penstock_namespace: Namespace, number: signal.Signals) -> None:
    with running_operator(penstock_namespace.kubeconfig, "--namespace", penstock_namespace.name) as operator:
        operator.wait_ready()
        operator.program.send(number)
        assert operator.program.wait_ended(STOP_SECONDS) == 0
        assert operator.logged()[-1]["message"] == "The operator has stopped."


def test_it_ends_with_code_0_before_it_is_ready(penstock_namespace: Namespace) -> None:
    with running_operator(account_that_may(penstock_namespace)) as operator:
        operator.wait_not_ready("may not list")
        operator.program.send(signal.SIGTERM)
        assert operator.program.wait_ended(STOP_SECONDS) == 0


def test_a_stalled_process_does_not_answer_and_one_that_goes_on_does(penstock_namespace: Namespace) -> None:
    with running_operator(penstock_namespace.kubeconfig, "--namespace", penstock_namespace.name) as operator:
        operator.wait_ready()
        with operator.program.frozen():
            assert operator.alive() is None
            assert operator.ready() is None
        operator.wait_ready()


def test_its_logs_are_json_and_hold_no_token(penstock_namespace: Namespace) -> None:
    kubeconfig = account_that_may(penstock_namespace, "get", "list", "watch")
    token = penstock_namespace.cluster.kubectl_as(kubeconfig, "config", "view", "--raw", "--output=json")
    with running_operator(kubeconfig, "--namespace", penstock_namespace.name) as operator:
        operator.wait_ready()
        assert {"time", "level", "logger", "message"} <= set(operator.logged()[0])
        assert json.loads(token)["users"][0]["user"]["token"] not in operator.program.log.read_text()


def test_logs_for_people_are_lines_of_text(penstock_namespace: Namespace) -> None:
    served = ("--namespace", penstock_namespace.name, "--log-format", "text")
    with running_operator(penstock_namespace.kubeconfig, *served) as operator:
        operator.wait_ready()
        assert f"The operator serves {penstock_namespace.name}." in operator.program.log_tail().splitlines()[0]


def test_a_port_in_use_is_said_in_a_sentence(penstock_namespace: Namespace) -> None:
    with running_operator(penstock_namespace.kubeconfig) as first:
        second = RunningOperator(penstock_namespace.kubeconfig, "--probes", first.address)
        second.program.start()
        assert second.program.wait_ended(START_SECONDS) == 1
        assert f"Error: The probes cannot be served at {first.address}:" in second.program.log_tail()
        assert "hint: choose another --probes HOST:PORT." in second.program.log_tail()


def test_no_way_to_a_cluster_is_said_in_a_sentence(tmp_path: Path) -> None:
    operator = RunningOperator(tmp_path / "missing")
    operator.program.start()
    assert operator.program.wait_ended(START_SECONDS) == 1
    assert "Error: No way to a Kubernetes cluster was found:" in operator.program.log_tail()
    assert "hint: set KUBECONFIG" in operator.program.log_tail()


def sees(operator: RunningOperator, words: str) -> bool:
    return any(words in line["message"] for line in operator.logged())
