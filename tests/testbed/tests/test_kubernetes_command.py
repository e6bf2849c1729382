"""A control plane started by hand says how it is reached, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.testbed import run
from tests.testbed.waiting import eventually

pytestmark = pytest.mark.full

PATIENCE_SECONDS = 120


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_control_plane_started_by_hand_is_reached_and_ended(ended_by: signal.Signals) -> None:
    apart = {name: value for name, value in os.environ.items() if name != run.VARIABLE}
    arguments = [sys.executable, "-m", "tests.testbed", "control-plane"]
    with subprocess.Popen(arguments, cwd=run.ROOT, env=apart, stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        kubeconfig = command.stdout.readline().strip().removeprefix("export KUBECONFIG=")
        kubectl = command.stdout.readline().strip().removeprefix("alias kubectl=")
        servers = psutil.Process(command.pid).children()
        pasted = apart | {"KUBECONFIG": kubeconfig}
        answer = subprocess.run([kubectl, "get", "--raw=/readyz"], env=pasted, capture_output=True, check=True)
        assert answer.stdout == b"ok"
        command.send_signal(ended_by)
        command.wait(PATIENCE_SECONDS)
    eventually(lambda: not any(server.is_running() for server in servers), "its servers ended", PATIENCE_SECONDS)
    eventually(lambda: not Path(kubeconfig).parent.exists(), "its files removed", PATIENCE_SECONDS)
