"""`python -m tests.testbed`, as a person uses it: what it starts is reached, and nothing of it is left behind."""

import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from penstock_jetstream import Connection, JetStream, Retry
from tests.testbed import ports
from tests.testbed.nats.administration import UNANSWERED, RefusedError, request
from tests.testbed.tests.commands import PATIENCE_SECONDS, Command, run_by_hand
from tests.testbed.waiting import eventually

pytestmark = pytest.mark.full

STARTED = "Ctrl-C ends it"


def pids(command: Command) -> list[int]:
    return [int(pid) for pid in command.found(r"^  pid +(\d+)$")]


def has_left_nothing(command: Command) -> bool:
    stores = command.found(r"^  store +(\S+)$")
    return not any(map(psutil.pid_exists, pids(command))) and not any(Path(store).exists() for store in stores)


def is_stored(url: str) -> bool:
    return bool(request({"servers": [url]}, "$JS.API.STREAM.INFO.ORDERS")["state"]["messages"] == 1)


async def test_node_killed_by_hand_is_restarted_by_hand_with_its_stream() -> None:
    with run_by_hand("nats", "--cluster", "3") as command:
        command.wait_for(STARTED)
        urls = command.found(r"reach it +nats --server (\S+)$")
        async with Connection(urls[0]) as client:
            js = JetStream(client)
            await js.streams.create({"name": "ORDERS", "subjects": ["orders"], "num_replicas": 3})
            await js.publish("orders", b"one", retry=Retry(attempts=-1))  # its replicas may be electing a leader still

        os.kill(pids(command)[0], signal.SIGKILL)
        command.type("n1")
        command.wait_for("n1 runs again")
        unanswered = (*UNANSWERED, RefusedError)  # while the stream has no leader
        eventually(lambda: is_stored(urls[0]), "the stream with its message", PATIENCE_SECONDS, not_yet=unanswered)
        assert command.end(signal.SIGINT) == 0
        assert has_left_nothing(command)


def test_nats_servers_end_cleanly_on_sigterm() -> None:
    with run_by_hand("nats", "--cluster", "2", "--auth", "creds", "--tls") as command:
        command.wait_for(STARTED)
        assert len(pids(command)) == 2
        assert command.end(signal.SIGTERM) == 0
        assert "Traceback" not in command.output
        assert has_left_nothing(command)


def test_nats_server_runs_on_when_its_input_ends_and_a_port_in_use_is_named() -> None:
    with run_by_hand("nats") as command:
        command.wait_for(STARTED)
        command.close_input()
        (port,) = command.found(r"nats://127.0.0.1:(\d+)$")
        with run_by_hand("nats", "--port", port) as second:
            assert second.end() == 1
            assert f"Port {port} on {ports.LOOPBACK} is in use by another program" in second.output
            assert "Traceback" not in second.output
        assert request({"servers": [f"nats://{ports.LOOPBACK}:{port}"]}, "$JS.API.INFO")
        assert command.process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_control_plane_is_reached_as_printed_and_ends_with_the_command(number: signal.Signals) -> None:
    with run_by_hand("control-plane") as command:
        kubeconfig = command.wait_for(r"^export KUBECONFIG=(.+)$")
        kubectl = command.wait_for(r"^alias kubectl=(.+)$")
        servers = psutil.Process(command.process.pid).children()
        environment = os.environ | {"KUBECONFIG": kubeconfig}
        answer = subprocess.run([kubectl, "get", "--raw=/readyz"], env=environment, capture_output=True, check=True)
        assert answer.stdout == b"ok"
        command.end(number)
        eventually(lambda: not any(server.is_running() for server in servers), "its servers ended", PATIENCE_SECONDS)
        eventually(lambda: not Path(kubeconfig).parent.exists(), "its files removed", PATIENCE_SECONDS)
