"""Commands while `penstock up` runs: by default they use its manifests, and always its servers."""

import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock_operator.local.state import ConnectionRecord, GroupRecord, HomeRecord, StateFolder
from tests.operator.cli.commands import Declared, data, penstock
from tests.operator.running import PENSTOCK
from tests.operator.services.test_metrics import LOSS
from tests.testbed.nats.server import NatsServer

AWAY = "nats://nats.nats:4222"


@pytest.fixture
def state(declared: Declared, server: NatsServer, tmp_path: Path, fresh_name: str) -> Iterator[StateFolder]:
    """The state folder of an `up` that started a server, which has another address in the manifests."""
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


def test_commands_use_the_manifests_and_server_of_up(state: StateFolder, declared: Declared, fresh_name: str) -> None:
    plan = declared.run("plan", "--state", state.path)
    assert (plan.exit_code, plan.stdout.splitlines()[-1]) == (0, "2 to create")
    assert declared.run("apply", "--state", state.path).exit_code == 0
    [consumer] = data("lag", "--state", state.path)["consumers"]
    assert (consumer["consumerName"], consumer["state"]) == (f"{fresh_name}-etl", "Ready")
    elsewhere = declared.run("plan", "--state", state.path, "--server", "nats://127.0.0.1:1")
    assert elsewhere.exit_code == 1, "the option has precedence"


def test_names_of_groups_are_completed(state: StateFolder) -> None:
    words = f"penstock pause --state {state.path} or"
    shell = {"_PENSTOCK_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "4"}
    done = subprocess.run([PENSTOCK], env={**os.environ, **shell}, capture_output=True, text=True, check=True)
    assert done.stdout == "plain,orders\n"


def test_a_state_of_another_version_is_an_error(state: StateFolder) -> None:
    (state.path / "home.json").write_text("{}")
    outcome = penstock("lag", "--state", state.path)
    assert (outcome.exit_code, "another version of Penstock" in outcome.stderr) == (1, True)


def test_lag_shows_what_the_group_of_a_consumer_lost(state: StateFolder, declared: Declared) -> None:
    declared.write("QueueGroup", "orders", consumerRef={"name": "etl"}, handler={"entrypoint": "a:b", "image": "etl"})
    state.group("default", "orders").write_status({"messageLoss": LOSS})
    [consumer] = data("lag", "--state", state.path)["consumers"]
    assert (consumer["expired"], consumer["givenUp"]) == (LOSS["expired"], LOSS["givenUp"])
    heading, row = (line.split() for line in penstock("lag", "--state", state.path).stdout.splitlines())
    assert dict(zip(heading, row, strict=True))["LOST"] == "7"


def test_get_shows_of_a_group_what_up_knows_of_it(state: StateFolder, declared: Declared) -> None:
    declared.write("QueueGroup", "orders", consumerRef={"name": "etl"}, handler={"entrypoint": "a:b", "image": "etl"})
    [*_, unknown] = declared.data("get", "--state", state.path.with_name("another"))["items"]
    [ready] = unknown["status"]["conditions"]
    assert (ready["status"], ready["reason"]) == ("Unknown", "Fits")
    failed = {"type": "Ready", "status": "False", "reason": "CodeFailed", "message": "etl.py has no 'proces'."}
    state.group("default", "orders").write_status({"conditions": [failed], "replicas": 0, "desiredReplicas": 0})
    for kind in ((), ("queuegroups",)):
        told = penstock("get", *kind, "--state", state.path)
        assert "CodeFailed" in told.stdout
        assert "QueueGroup default/orders: etl.py has no 'proces'." in told.stderr
