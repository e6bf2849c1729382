"""How `penstock up` ends: by other commands, by a second Ctrl-C, by kill -9, and by what it cannot run."""

import re
import shlex
import signal
import socket
import sys
from contextlib import closing
from typing import Any

import pytest

from tests.operator.up.upping import CODE, PATIENCE_SECONDS, QUICK, Up
from tests.testbed.nats.server import NatsServer
from tests.testbed.waiting import eventually

pytestmark = [pytest.mark.xdist_group("up"), pytest.mark.timeout(600)]
PENDING = 7
KIBIBYTES_OF_A_FILE = 1
"""Stands for a full disk: the settings of a worker are more, and what tells other commands what runs is less."""
HEEDING_HANGUPS = [
    sys.executable,
    "-c",
    "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])",
]
"""Has what follows receive hangups, though the tests may run under nohup, which ignores them."""
WAITS = CODE.format(mark="first").replace(
    "    orders =",
    """    import time
    while not os.path.exists(os.environ["LAKE"] + ".go"):
        time.sleep(0.1)
    orders =""",
)


def ended(up: Up) -> None:
    eventually(lambda: not up.processes(""), "all that it started has ended", PATIENCE_SECONDS)


@pytest.mark.full
def test_killed_home_leaves_nothing_behind_and_the_next_continues_with_its_data() -> None:
    up = Up()
    up.start()
    up.until_serving()
    up.program.kill()
    ended(up)
    assert up.state.read() is None
    up.start()
    up.until_serving()
    up.publish(*range(PENDING))
    up.wait_rows(range(PENDING))
    assert up.down().returncode == 0
    eventually(lambda: not up.program.is_running, "it ends", PATIENCE_SECONDS)
    ended(up)
    assert up.down("--delete", "--yes").returncode == 0
    assert not up.state.path.exists()


@pytest.mark.full
@pytest.mark.interpreter
def test_second_ctrl_c_ends_everything_at_once() -> None:
    up = Up()
    up.code("import time\n\n\ndef process(df, batch):\n    time.sleep(3600)\n")
    up.start()
    up.until_serving()
    up.publish(1)
    up.wait_said("1 in flight")
    up.program.send(signal.SIGINT)
    up.wait_said("Ctrl-C once more")
    up.program.send(signal.SIGINT)
    eventually(lambda: not up.program.is_running, "it ends", PATIENCE_SECONDS)
    ended(up)


@pytest.mark.full
def test_repeated_hangups_end_everything_in_order() -> None:
    up = Up()
    up.code(WAITS)
    up.program.command += ["--grace", str(PATIENCE_SECONDS)]  # the first batch of a JVM takes a while
    up.program.command = [*HEEDING_HANGUPS, *up.program.command]
    up.start()
    up.until_serving()
    up.publish(1)
    up.wait_said("1 in flight")
    up.program.send(signal.SIGHUP)
    up.wait_said("Stopping: workers finish what they hold.")
    up.program.send(signal.SIGHUP)
    up.lake.with_suffix(".go").touch()
    eventually(lambda: not up.program.is_running, "it ends", PATIENCE_SECONDS)
    assert up.program.how_it_ended() == "ended with code 0"
    assert [number for number, _ in up.rows()] == [1]
    ended(up)


@pytest.mark.full
def test_full_disk_is_reported_in_a_sentence_and_nothing_is_half_written() -> None:
    up = Up()
    with closing(NatsServer()) as server:
        server.start()
        up.declare(servers=[server.url])
        command = shlex.join(up.command("up", "-f", str(up.manifests)))
        told = up.ran(["bash", "-c", f"ulimit -f {KIBIBYTES_OF_A_FILE}; exec {command}"])
    assert told.returncode == 1, told.stderr
    assert re.search(r"^Error: .*\.json cannot be written: File too large\.$", told.stderr, re.MULTILINE), told.stderr
    assert "Traceback" not in told.stderr
    assert not list(up.state.path.rglob("settings.json"))
    assert not list(up.state.path.rglob("*.new"))
    ended(up)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a missing consumer": ({"consumerRef": {"name": "gone"}}, "spec.consumerRef: There is no Consumer default/gone."),
    "a missing Secret": (
        {"spark": {"master": "sc://127.0.0.1:1", "tokenSecretRef": {"name": "spark", "key": "token"}}},
        "Secret default/spark with the key token is not there.",
    ),
    "a setting that Spark does not have": (
        {"spark": {"master": "local[1]", "conf": {**QUICK, "spark.sql.shuffle.partition": "1"}}},
        "has no setting spark.sql.shuffle.partition. Did you mean spark.sql.shuffle.partitions?",
    ),
    "executors in pods": (
        {"spark": {"master": "k8s://https://k"}},
        "executors as pods, and those cannot reach a laptop",
    ),
    "a server that is not there": ({"servers": ["nats://127.0.0.1:1"]}, "nats://127.0.0.1:1 refused the connection"),
}


@pytest.mark.full
def test_declarations_that_cannot_be_run_here_are_refused_in_a_sentence(subtests: pytest.Subtests) -> None:
    up = Up()
    for name, (declared, sentence) in REFUSED.items():
        with subtests.test(name):
            up.declare(**declared)
            code, said = up.drained()
            assert code == 1
            assert sentence in said


@pytest.mark.full
def test_port_that_is_taken_and_folder_without_manifests_are_refused_in_a_sentence() -> None:
    up = Up()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        up.declare(port=taken.getsockname()[1])
        code, said = up.drained()
    assert code == 1
    assert "address already in use" in said
    assert "End the program that has the port, or choose another port." in said

    up.write("")
    code, said = up.drained()
    assert code == 1
    assert "Nothing of Penstock's is declared in " in said


def test_manifest_with_a_mistake_is_reported_with_its_line_and_nothing_starts() -> None:
    up = Up()
    up.write("apiVersion: penstock.dev/v1alpha1\nkind: Stream\nmetadata: {name: x}\nspec: {subject: [a]}\n")
    code, said = up.drained()
    assert code == 1
    assert "all.yaml:4: Stream default/x: " in said
    assert not up.state.path.joinpath("nats").exists()
