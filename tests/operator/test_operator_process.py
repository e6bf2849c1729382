"""`penstock operator` against a real API server: ready only while it can work, alive throughout, gone on SIGTERM."""

import contextlib
import http.client
import json
import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from typing_extensions import override

from penstock_operator.constants import GROUP
from tests.operator.accounts import OUR_KINDS, WORKER_KINDS, create_account, grant
from tests.operator.cli.commands import penstock_as
from tests.operator.conftest import install_crds
from tests.operator.running import RunningOperator, running_operator
from tests.operator.scene import manifest
from tests.testbed import ports, run
from tests.testbed.kubernetes import kubeconfig
from tests.testbed.kubernetes.access import Access, Namespace
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.programs import Program
from tests.testbed.waiting import eventually

END_SECONDS = 60
READY_SECONDS = 60
CHUNK_BYTES = 65536
CONNECTION = manifest("Connection", "nats", {"servers": ["nats://nats.nats:4222"]})


@pytest.mark.timeout(600)
def test_operator_is_ready_once_crds_exist_and_ends_when_one_is_deleted(own_control_plane: ControlPlane) -> None:
    own_control_plane.api_server.stop()
    with running_operator(own_control_plane.kubeconfig) as operator:
        operator.wait_not_ready("The API server cannot be reached")
        own_control_plane.start_api_server()
        operator.wait_not_ready("The API server does not know connections.penstock.dev: install the CRDs")
        install_crds(own_control_plane)
        operator.wait_ready()
        own_control_plane.client.begin_deletion("crd/connections.penstock.dev")
        assert operator.program.wait_ended(END_SECONDS) == 1
        assert "Error: The operator cannot go on" in operator.program.log_tail()


@pytest.mark.full
@pytest.mark.timeout(600)
def test_operator_is_not_ready_while_the_api_server_is_killed_or_frozen(own_control_plane: ControlPlane) -> None:
    install_crds(own_control_plane)
    with running_operator(own_control_plane.kubeconfig) as operator:
        operator.wait_ready()
        own_control_plane.api_server.kill()
        operator.wait_not_ready("The API server cannot be reached")
        own_control_plane.start_api_server()
        operator.wait_ready()
        own_control_plane.client.create(CONNECTION)
        wait_logged(operator, "default/nats was seen")
        with own_control_plane.api_server.frozen():
            operator.wait_not_ready("The API server did not answer within 5 s.")
        operator.wait_ready()


class Forgetful(ThreadingHTTPServer):
    """Leaves our group out of the first list of groups, as an API server may that has just started."""

    def __init__(self, behind: int) -> None:
        super().__init__((ports.LOOPBACK, 0), Handler)
        self.behind = behind
        self.has_left_out = threading.Event()


class Handler(BaseHTTPRequestHandler):
    server: Forgetful

    def do_GET(self) -> None:
        with contextlib.closing(http.client.HTTPConnection(ports.LOOPBACK, self.server.behind)) as connection:
            connection.request("GET", self.path, headers={"Accept": "application/json"})
            answer = connection.getresponse()
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            if self.path == "/apis" and not self.server.has_left_out.is_set():
                self.server.has_left_out.set()
                self.wfile.write(without_our_group(answer.read()))
                return
            with contextlib.suppress(ConnectionError, http.client.IncompleteRead):  # either end may end a watch
                while chunk := answer.read1(CHUNK_BYTES):
                    self.wfile.write(chunk)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the API server has a log of its own."""


def without_our_group(body: bytes) -> bytes:
    listed = json.loads(body)
    listed["groups"] = [group for group in listed["groups"] if group["name"] != GROUP]
    return json.dumps(listed).encode()


@contextlib.contextmanager
def forgetful(plane: Access) -> Iterator[Path]:
    """Run the forgetful server in front of an API server, and yield a kubeconfig for it."""
    folder, behind = run.current().new_folder("forgetful"), ports.free_port()
    arguments = [f"--kubeconfig={plane.kubeconfig}", "proxy", f"--port={behind}"]
    proxy = Program("kubectl-proxy", [plane.kubectl_program, *arguments], folder)
    proxy.start()
    proxy.wait_ready(lambda: ports.answers(behind), READY_SECONDS)
    with Forgetful(behind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield kubeconfig.write(folder / "kubeconfig", {"server": f"http://{ports.LOOPBACK}:{server.server_port}"}, {})
        assert server.has_left_out.is_set(), "the operator did not list the groups"
        server.shutdown()
    proxy.stop()


@pytest.mark.full
def test_kinds_are_watched_though_their_group_was_not_listed_at_first(penstock_namespace: Namespace) -> None:
    with forgetful(penstock_namespace.cluster) as config, running_operator(config) as operator:
        operator.wait_ready()
        penstock_namespace.client.create(CONNECTION)
        wait_logged(operator, f"{penstock_namespace.name}/nats was seen")


def test_operator_is_ready_once_it_may_list_and_watch_and_logs_no_token(penstock_namespace: Namespace) -> None:
    account = create_account(penstock_namespace)
    with running_operator(account, "--namespace", penstock_namespace.name) as operator:
        operator.wait_not_ready("The operator may not list connections.penstock.dev: give its service account")
        grant(penstock_namespace, "declared", OUR_KINDS, "get", "list", "watch")
        operator.wait_not_ready("as no role has the verb: deployments.apps is forbidden")
        grant(penstock_namespace, "workers", WORKER_KINDS, "list", "watch")
        operator.wait_ready()
        assert {"time", "level", "logger", "message"} <= set(operator.logged()[0])
        assert token_of(account) not in operator.program.log.read_text()
        operator.program.send(signal.SIGINT)
        assert operator.program.wait_ended(END_SECONDS) == 0


def token_of(account: Path) -> str:
    return str(yaml.safe_load(account.read_text())["users"][0]["user"]["token"])


@pytest.mark.full
def test_operator_is_not_ready_when_it_may_list_and_not_watch(penstock_namespace: Namespace) -> None:
    account = create_account(penstock_namespace)
    grant(penstock_namespace, "lister", {**OUR_KINDS, **WORKER_KINDS}, "get", "list")
    with running_operator(account, "--namespace", penstock_namespace.name) as operator:
        operator.wait_ready()
        refused = "connections?watch=true"  # it has listed all Connections by then
        eventually(lambda: refused in operator.program.log.read_text(), "the watch of Connections is refused")
        penstock_namespace.client.create(CONNECTION)
        operator.wait_not_ready("but the watch has not shown it: is watching allowed?")


@pytest.mark.interpreter
def test_operator_sees_only_its_namespaces_and_ends_on_sigterm(penstock_namespace: Namespace) -> None:
    other = Namespace.create(penstock_namespace.cluster, f"{penstock_namespace.name}-other")
    name = f"{penstock_namespace.name}/nats"
    with running_operator(penstock_namespace.kubeconfig, "--namespace", penstock_namespace.name) as operator:
        operator.wait_ready()
        other.client.create(CONNECTION)
        penstock_namespace.client.create(CONNECTION)
        wait_logged(operator, f"Connection {name} was seen.")
        assert not has_logged(operator, other.name)
        penstock_namespace.client.delete("connection/nats")
        wait_logged(operator, f"Connection {name} is gone.")
        with operator.program.frozen():
            assert operator.alive() is None
            assert operator.ready() is None
        operator.wait_ready()
        operator.program.send(signal.SIGTERM)
        assert operator.program.wait_ended(END_SECONDS) == 0
        assert operator.logged()[-1]["message"] == "The operator has stopped."


@pytest.mark.full
def test_operator_ends_with_code_0_before_it_is_ready(penstock_namespace: Namespace) -> None:
    with running_operator(create_account(penstock_namespace)) as operator:
        operator.wait_not_ready("may not list")
        operator.program.send(signal.SIGTERM)
        assert operator.program.wait_ended(END_SECONDS) == 0


@pytest.mark.full
def test_logs_can_be_text_and_a_port_in_use_is_reported_with_a_hint(penstock_namespace: Namespace) -> None:
    served = ("--namespace", penstock_namespace.name, "--log-format", "text")
    with running_operator(penstock_namespace.kubeconfig, *served) as first:
        first.wait_ready()
        assert f"The operator serves {penstock_namespace.name}." in first.program.log.read_text().splitlines()[0]
        second = RunningOperator(penstock_namespace.kubeconfig, "--probes", first.address)
        second.program.start()
        assert second.program.wait_ended(END_SECONDS) == 1
        assert f"Error: The probes cannot be served at {first.address}:" in second.program.log_tail()
        assert "hint: choose another --probes HOST:PORT." in second.program.log_tail()


def test_missing_kubeconfig_is_reported_with_a_hint(tmp_path: Path) -> None:
    outcome = penstock_as(tmp_path / "missing", "operator")
    assert (outcome.returncode, "Error: No way to a Kubernetes cluster was found:" in outcome.stderr) == (1, True)
    assert "hint: set KUBECONFIG" in outcome.stderr


def has_logged(operator: RunningOperator, words: str) -> bool:
    return any(words in line["message"] for line in operator.logged())


def wait_logged(operator: RunningOperator, words: str) -> None:
    eventually(lambda: has_logged(operator, words), f"the operator logs {words}")
