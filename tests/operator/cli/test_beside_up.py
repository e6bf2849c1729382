"""Commands beside a `penstock up` that runs: they are about what it runs, and find the servers that it runs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock_operator.local.state import ConnectionRecord, GroupRecord, HomeRecord, StateFolder
from tests.operator.cli.commands import Declared, data, penstock
from tests.testbed.nats.server import NatsServer

AWAY = "nats://nats.nats:4222"


@pytest.fixture
def state(declared: Declared, server: NatsServer, tmp_path: Path, fresh_name: str) -> Iterator[StateFolder]:
    """The state folder of an `up` that runs a server of its own: in the manifests it is said to be elsewhere."""
    declared.write("Connection", "nats", servers=[AWAY], local={"server": "Embedded"})
    declared.stream("orders", name=fresh_name, subjects=[fresh_name])
    declared.consumer("etl", "orders", name=f"{fresh_name}-etl")
    folder = StateFolder(tmp_path / "state")
    nats = ConnectionRecord(namespace="default", name="nats", servers=(server.url,), embedded=True)
    group = GroupRecord(
        namespace="default",
        name="orders",
        connection="default/nats",
        stream=fresh_name,
        consumer="etl",
        dead_letter_stream="dead",
        dead_letter_subject="dead",
    )
    with folder.taken():
        folder.write(
            HomeRecord(
                pid=os.getpid(),
                started=datetime.now(UTC),
                files=(str(declared.folder),),
                connections=(nats,),
                groups=(group,),
            )
        )
        yield folder


def test_without_manifests_they_are_about_what_up_runs(state: StateFolder, declared: Declared, fresh_name: str) -> None:
    assert declared.run("apply", "--state", state.path).exit_code == 0
    [consumer] = data("lag", "--state", state.path)["consumers"]
    assert (consumer["consumerName"], consumer["state"]) == (f"{fresh_name}-etl", "Ready")


def test_with_manifests_they_find_the_server_that_up_runs(state: StateFolder, declared: Declared) -> None:
    plan = declared.run("plan", "--state", state.path)
    assert (plan.exit_code, plan.stdout.splitlines()[-1]) == (0, "2 to create")


def test_a_server_that_is_named_goes_before(state: StateFolder, declared: Declared) -> None:
    plan = declared.run("plan", "--state", state.path, "--server", "nats://127.0.0.1:1")
    assert plan.exit_code == 1


def test_names_of_groups_are_completed(state: StateFolder) -> None:
    words = f"penstock pause --state {state.path} or"
    shell = {"_PENSTOCK_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "4"}
    command = Path(sys.executable).with_name("penstock")
    told = subprocess.run([command], env={**os.environ, **shell}, capture_output=True, text=True, check=True).stdout
    assert told == "plain,orders\n"


def test_what_another_version_wrote_is_said_so(state: StateFolder) -> None:
    (state.path / "home.json").write_text("{}")
    outcome = penstock("lag", "--state", state.path)
    assert (outcome.exit_code, "another version of Penstock" in outcome.stderr) == (1, True)
