"""How `penstock up` ends: drained, by other commands, by a second Ctrl-C, by kill -9, and by what it cannot run."""

import re
import shlex
import signal
import socket
import sys
from contextlib import closing
from typing import Any

import pytest

from penstock_jetstream import JetStream
from tests.operator.cli.commands import ask
from tests.operator.up.upping import CODE, PATIENCE_SECONDS, QUICK, Up
from tests.testbed.nats.server import NatsServer

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
NOT_NOW = """from penstock_worker.api import Retry


def process(df, batch):
    raise Retry("no table yet")
"""


@pytest.mark.full
def test_killed_up_leaves_nothing_behind_and_the_next_continues_with_its_data() -> None:
    up = Up()
    up.start()
    up.program.kill()
    up.wait_all_ended()
    assert up.state.read() is None
    up.start()
    up.publish(*range(PENDING))
    up.wait_rows(range(PENDING))
    up.succeed("down")
    up.wait_all_ended()
    refused = up.ran(up.command("restart", "etl", "-f", str(up.manifests)))
    assert (refused.returncode, "`penstock up` does not run: there are no workers" in refused.stderr) == (1, True), (
        refused.stderr
    )
    up.succeed("down", "--delete", "--yes")
    assert not up.state.path.exists()


@pytest.mark.full
@pytest.mark.interpreter
def test_second_ctrl_c_ends_everything_at_once() -> None:
    up = Up()
    up.code("import time\n\n\ndef process(df, batch):\n    time.sleep(3600)\n")
    up.start()
    up.publish(1)
    up.wait_said("1 in flight")
    up.program.send(signal.SIGINT)
    up.wait_said("Ctrl-C once more")
    up.program.send(signal.SIGINT)
    up.wait_all_ended()


@pytest.mark.full
def test_repeated_hangups_end_everything_in_order() -> None:
    up = Up()
    up.code(WAITS)
    up.program.command += ["--grace", str(PATIENCE_SECONDS)]  # the first batch of a JVM takes a while
    up.program.command = [*HEEDING_HANGUPS, *up.program.command]
    up.start()
    up.publish(1)
    up.wait_said("1 in flight")
    up.program.send(signal.SIGHUP)
    up.wait_said("Stopping: workers finish what they hold.")
    up.program.send(signal.SIGHUP)
    up.lake.with_suffix(".go").touch()
    up.wait_all_ended()
    assert up.program.how_it_ended() == "ended with code 0"
    assert [number for number, _ in up.rows()] == [1]
    assert "QueueGroup default/etl: Stopped, 0 of 0 workers" in up.said()


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
    up.wait_all_ended()


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
            assert sentence in up.drain(exit_code=1)


@pytest.mark.full
def test_taken_port_wrong_signature_and_folder_without_manifests_are_refused_in_a_sentence() -> None:
    up = Up()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        up.declare(port=taken.getsockname()[1])
        said = up.drain(exit_code=1)
    assert "address already in use" in said
    assert "End the program that has the port, or choose another port" in said

    up.declare()
    up.code("def process(df):\n    pass\n")
    said = up.drain(exit_code=1)
    assert "etl.py:1: process in" in said
    assert "has to take (df, batch), and takes (df)" in said

    up.write("")
    assert "Nothing of Penstock's is declared in " in up.drain(exit_code=1)


def test_manifest_with_a_mistake_is_reported_with_its_line_and_nothing_starts() -> None:
    up = Up()
    up.write("apiVersion: penstock.dev/v1alpha1\nkind: Stream\nmetadata: {name: x}\nspec: {subject: [a]}\n")
    said = up.drain(exit_code=1)
    assert "all.yaml:4: Stream default/x: " in said
    assert not up.state.path.joinpath("nats").exists()


@pytest.mark.full
def test_drain_ends_once_everything_is_processed_and_reports_what_was_not() -> None:
    up = Up()
    up.start()
    up.publish(*range(100), bad=3)
    assert up.interrupt() == 0
    said = up.drain(exit_code=1)
    assert "3 messages could not be processed" in said
    assert sorted(number for number, _ in up.rows()) == list(range(100))
    up.drain(exit_code=0)


@pytest.mark.full
def test_drain_without_progress_ends_and_reports_what_is_left_and_why() -> None:
    up = Up()
    up.declare(suspend=True)
    up.start()
    up.publish(*range(5))
    up.wait_said("It is paused. Its manifest says suspend: true; without that it goes on.")
    assert up.interrupt() == 0
    assert "It is paused, and 5 messages are left. Its manifest says suspend: true" in up.drain(exit_code=1)

    up.declare(consumer={"pauseUntil": "2099-01-01T00:00:00Z"})
    said = up.drain(exit_code=1)
    assert (
        "Nothing is delivered to it, and 5 messages are left. The server has paused the consumer etl until 2099" in said
    )

    up.declare(retry={"initialDelay": "2m", "maxDelay": "4m"})
    up.code(NOT_NOW)
    said = up.drain("--patience", "10", exit_code=1)
    assert "Nothing was settled for 10 s, and 5 messages are left. The last batch failed: " in said
    assert "Retry: no table yet." in said

    up.declare(scaling={"mode": "External"}, replicas=0)
    up.mark("first")
    up.drain(exit_code=0)
    assert sorted(number for number, _ in up.rows()) == list(range(5))

    up.declare(suspend=True)
    up.drain(exit_code=0)


@pytest.mark.full
def test_drain_reports_messages_that_were_removed_while_up_did_not_run() -> None:
    up = Up()
    with closing(NatsServer()) as server:
        server.start()
        up.declare(servers=[server.url])
        up.start()
        up.publish(1)
        up.wait_rows([1])
        up.wait_settled()
        assert up.interrupt() == 0

        async def lose(jetstream: JetStream) -> None:
            for _ in range(3):
                await jetstream.publish("orders.north", b'{"id": 2}')
            await jetstream.streams.purge("ORDERS")

        ask(server.url, lose)
        assert "At least 3 messages were removed from the stream before" in up.drain(exit_code=1)
        up.drain(exit_code=0)
