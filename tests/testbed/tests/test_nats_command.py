"""`python -m tests.testbed nats`, as a person uses it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from penstock_jetstream import Connection, JetStream, Retry
from tests.testbed import ports, run
from tests.testbed.nats.administration import UNANSWERED, RefusedError, request
from tests.testbed.waiting import eventually

pytestmark = pytest.mark.full

PATIENCE_SECONDS = 120


class Command:
    """The command in a process of its own, with its output in a file and its input under our hands."""

    def __init__(self, output: Path, *options: str) -> None:
        self._output = output
        with output.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.testbed", "nats", *options],
                cwd=run.ROOT,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self._output.read_text()

    def wait_for(self, text: str) -> None:
        eventually(lambda: text in self.output or self.process.poll() is not None, text, PATIENCE_SECONDS)
        assert text in self.output

    def type(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def found(self, pattern: str) -> list[str]:
        return re.findall(pattern, self.output, re.MULTILINE)

    def pids(self) -> list[int]:
        return [int(pid) for pid in self.found(r"^  pid +(\d+)$")]

    def has_left_nothing(self) -> bool:
        stores = self.found(r"^  store +(\S+)$")
        return not any(map(psutil.pid_exists, self.pids())) and not any(Path(store).exists() for store in stores)

    def end(self, number: signal.Signals | None = None) -> int:
        if number is not None:
            self.process.send_signal(number)
        if self.process.stdin:
            self.process.stdin.close()
        return self.process.wait(PATIENCE_SECONDS)


StartCommand = Callable[..., Command]


@pytest.fixture
def start_command(tmp_path: Path) -> Iterator[StartCommand]:
    commands: list[Command] = []

    def start(*options: str) -> Command:
        commands.append(Command(tmp_path / f"output-{len(commands)}", *options))
        return commands[-1]

    yield start
    for command in commands:
        command.end(None if command.process.poll() is not None else signal.SIGTERM)


def is_stored(url: str) -> bool:
    return bool(request({"servers": [url]}, "$JS.API.STREAM.INFO.ORDERS")["state"]["messages"] == 1)


async def test_a_node_killed_by_hand_is_restarted_by_hand_with_its_stream(start_command: StartCommand) -> None:
    command = start_command("--cluster", "3")
    command.wait_for("Ctrl-C ends it")
    urls = command.found(r"reach it +nats --server (\S+)$")
    async with Connection(urls[0]) as client:
        js = JetStream(client)
        await js.streams.create({"name": "ORDERS", "subjects": ["orders"], "num_replicas": 3})
        await js.publish("orders", b"one", retry=Retry(attempts=-1))  # its replicas may be electing a leader still

    os.kill(command.pids()[0], signal.SIGKILL)
    command.wait_for("n1 was ended by SIGKILL")
    command.type("n1")
    command.wait_for("n1 runs again")
    unanswered = (*UNANSWERED, RefusedError)  # while the stream has no leader
    eventually(lambda: is_stored(urls[0]), "the stream with its message", PATIENCE_SECONDS, not_yet=unanswered)
    assert command.end(signal.SIGINT) == 0
    assert command.has_left_nothing()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_on_a_signal(start_command: StartCommand, number: signal.Signals) -> None:
    command = start_command("--leaf", "--auth", "creds", "--tls")
    command.wait_for("Ctrl-C ends it")
    assert len(command.pids()) == 2
    assert command.end(number) == 0
    assert "Traceback" not in command.output
    assert command.has_left_nothing()


def test_it_runs_on_when_its_input_ends_and_names_a_port_in_use(start_command: StartCommand) -> None:
    command = start_command()
    command.wait_for("Ctrl-C ends it")
    assert command.process.stdin
    command.process.stdin.close()
    (port,) = command.found(r"nats://127.0.0.1:(\d+)$")
    second = start_command("--port", port)
    assert second.end() == 1
    assert f"Port {port} on {ports.LOOPBACK} is in use by another program" in second.output
    assert "Traceback" not in second.output
    os.kill(command.pids()[0], signal.SIGKILL)
    command.wait_for("nats was ended by SIGKILL")
