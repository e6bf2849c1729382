"""The control plane of the tests is a real one: it validates, authorises, keeps, and shows what changes."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.testbed import run
from tests.testbed.kubernetes import assets
from tests.testbed.kubernetes.access import Access, KubectlError, Namespace
from tests.testbed.kubernetes.control_plane import ControlPlane
from tests.testbed.programs import Program
from tests.testbed.waiting import eventually
from tools.console import CannotContinueError

pytestmark = pytest.mark.full

SEEN_SECONDS = 60  # a moment, on a machine that does other things too
GAUGES = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gauges.testbed.example}
spec:
  group: testbed.example
  scope: Namespaced
  names: {kind: Gauge, plural: gauges}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties: {lowest: {type: integer}, highest: {type: integer}}
              x-kubernetes-validations:
                - {rule: self.lowest <= self.highest, message: lowest is above highest}
"""


def gauge(lowest: int, highest: int) -> str:
    return f"""
apiVersion: testbed.example/v1
kind: Gauge
metadata: {{name: level}}
spec: {{lowest: {lowest}, highest: {highest}}}
"""


def configuration(name: str) -> str:
    return f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}"


def test_custom_resources_are_validated_by_their_rules(namespace: Namespace) -> None:
    namespace.kubectl("apply", "--filename=-", stdin=GAUGES)
    namespace.kubectl("wait", "--for=condition=Established", "crd/gauges.testbed.example")
    namespace.kubectl("create", "--filename=-", stdin=gauge(1, 2))
    with pytest.raises(KubectlError, match="lowest is above highest"):
        namespace.kubectl("apply", "--filename=-", stdin=gauge(3, 2))


def test_a_user_may_do_nothing_until_a_role_allows_it(control_plane: Access, namespace: Namespace) -> None:
    reader = control_plane.kubeconfig_for("reader", groups=["readers"])
    listing = ["get", "configmaps", f"--namespace={namespace.name}", "--output=name"]
    with pytest.raises(KubectlError, match='User "reader" cannot list resource "configmaps"'):
        control_plane.kubectl_as(reader, *listing)
    namespace.kubectl("create", "role", "reader", "--verb=list", "--resource=configmaps")
    namespace.kubectl("create", "rolebinding", "readers", "--role=reader", "--group=readers")
    namespace.kubectl("create", "--filename=-", stdin=configuration("seen"))
    may_list = partial(control_plane.may, reader, "list", "configmaps", namespace.name)
    eventually(may_list, "the role binding in force", SEEN_SECONDS)
    assert control_plane.kubectl_as(reader, *listing) == "configmap/seen\n"


def test_a_service_account_is_who_a_pod_of_it_would_be(control_plane: Access, namespace: Namespace) -> None:
    pod = namespace.kubeconfig_for_service_account("default")
    user = control_plane.kubectl_as(pod, "auth", "whoami", "--output=jsonpath={.status.userInfo.username}")
    assert user == f"system:serviceaccount:{namespace.name}:default"


def test_a_watch_shows_what_changes(namespace: Namespace) -> None:
    flags = [f"--kubeconfig={namespace.kubeconfig}", "--watch", "--output=name"]
    watch = [str(namespace.cluster.kubectl_program), "get", "configmaps", *flags]
    watcher = Program("watcher", watch, run.current().new_folder("watch"))
    namespace.kubectl("create", "--filename=-", stdin=configuration("before"))
    watcher.start()
    eventually(lambda: "configmap/before" in watcher.log_tail(), "the watch begun", SEEN_SECONDS)
    namespace.kubectl("create", "--filename=-", stdin=configuration("after"))
    eventually(lambda: "configmap/after" in watcher.log_tail(), "the new object seen", SEEN_SECONDS)
    watcher.stop()


def test_a_namespace_is_the_tests_own(control_plane: Access, namespace: Namespace) -> None:
    namespace.kubectl("create", "--filename=-", stdin=configuration("mine"))
    assert namespace.kubectl("get", "configmap", "mine", "--output=name") == "configmap/mine\n"
    with pytest.raises(KubectlError, match="NotFound"):
        control_plane.kubectl("get", "configmap", "mine")


def test_objects_outlive_a_killed_api_server(own_control_plane: ControlPlane) -> None:
    own_control_plane.kubectl("create", "--filename=-", stdin=configuration("kept"))
    own_control_plane.api_server.kill()
    with pytest.raises(KubectlError, match="refused"):
        own_control_plane.kubectl("get", "configmap", "kept")
    own_control_plane.start_api_server()
    assert own_control_plane.kubectl("get", "configmap", "kept", "--output=name") == "configmap/kept\n"


def test_a_frozen_api_server_does_not_answer_and_does_when_it_is_thawed(own_control_plane: ControlPlane) -> None:
    with own_control_plane.api_server.frozen(), pytest.raises(KubectlError, match=r"(?i)timeout|deadline"):
        own_control_plane.kubectl("get", "namespaces", "--request-timeout=1s")
    assert "default" in own_control_plane.kubectl("get", "namespaces")


PARALLEL_TEST = """
import os, pathlib

def test_says_where_its_control_plane_is(control_plane, worker_id):
    pathlib.Path(os.environ["ANSWERS"], worker_id).write_text(control_plane.url)
"""


def test_parallel_test_processes_share_one(control_plane: Access, tmp_path: Path) -> None:
    (tmp_path / "test_parallel.py").write_text(PARALLEL_TEST)
    answers = tmp_path / "answers"
    answers.mkdir()
    pytest_command = [sys.executable, "-m", "pytest", "-p", "tests.testbed.plugin", "--numprocesses=2", "--dist=each"]
    session = subprocess.run(
        [*pytest_command, str(tmp_path)],
        cwd=run.ROOT,
        env=os.environ | {"ANSWERS": str(answers)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert session.returncode == 0, session.stdout + session.stderr
    assert [answer.read_text() for answer in answers.iterdir()] == [control_plane.url] * 2


def test_programs_that_the_user_brings_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brought = assets.control_plane(tmp_path / "brought")
    monkeypatch.setenv(assets.VARIABLE, str(brought))
    control_plane = ControlPlane()
    control_plane.start()
    running = [psutil.Process(program.pid).cmdline()[0] for program in (control_plane.etcd, control_plane.api_server)]
    control_plane.stop()
    assert running == [str(brought / "etcd"), str(brought / "kube-apiserver")]
    assert control_plane.kubectl_program == brought / "kubectl"


def test_a_program_that_the_user_did_not_bring_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brought = assets.control_plane(tmp_path / "brought")
    (brought / "etcd").unlink()
    monkeypatch.setenv(assets.VARIABLE, str(brought))
    with pytest.raises(CannotContinueError, match=f"{brought}, but no program etcd is there"):
        ControlPlane()
