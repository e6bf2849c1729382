"""The control plane of the tests: it authorises users, and runs the programs that the user provides."""

from pathlib import Path

import psutil
import pytest

from tests.testbed.kubernetes import assets
from tests.testbed.kubernetes.access import Access, KubectlError, Namespace
from tests.testbed.kubernetes.control_plane import ControlPlane
from tools.console import CannotContinueError

pytestmark = pytest.mark.full


def test_users_have_no_rights_at_first_and_service_accounts_are_who_their_pods_would_be(
    control_plane: Access, namespace: Namespace
) -> None:
    reader = control_plane.kubeconfig_for("reader", groups=["readers"])
    with pytest.raises(KubectlError, match='User "reader" cannot list resource "configmaps"'):
        control_plane.kubectl_as(reader, "get", "configmaps")
    pod = namespace.kubeconfig_for_service_account("default")
    user = control_plane.kubectl_as(pod, "auth", "whoami", "--output=jsonpath={.status.userInfo.username}")
    assert user == f"system:serviceaccount:{namespace.name}:default"


def test_programs_that_the_user_provides_are_used_and_a_missing_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provided = assets.control_plane(tmp_path / "provided")
    monkeypatch.setenv(assets.VARIABLE, str(provided))
    control_plane = ControlPlane()
    control_plane.start()
    running = [psutil.Process(program.pid).cmdline()[0] for program in (control_plane.etcd, control_plane.api_server)]
    control_plane.stop()
    assert running == [str(provided / "etcd"), str(provided / "kube-apiserver")]
    assert control_plane.kubectl_program == provided / "kubectl"
    (provided / "etcd").unlink()
    with pytest.raises(CannotContinueError, match=f"{provided}, but no program etcd is there"):
        ControlPlane()
