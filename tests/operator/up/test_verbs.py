"""The commands about groups, beside a `penstock up` that runs: they find it, and what they do holds."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.operator.up.upping import Up

pytestmark = [pytest.mark.xdist_group("up"), pytest.mark.timeout(600)]
GROUP = "etl"


@pytest.fixture
def up() -> Iterator[Up]:
    home = Up()
    home.start()
    home.until_serving()
    yield home
    home.stop()


def run(up: Up, *words: str) -> subprocess.CompletedProcess[str]:
    done = up.ran(up.command(*words))
    assert done.returncode == 0, done.stderr
    return done


def data(up: Up, *words: str) -> Any:  # noqa: ANN401 - JSON
    return json.loads(run(up, *words, "-o", "json").stdout)


def letters(up: Up) -> list[int]:
    return [each["sequence"] for each in data(up, "dead", "list", GROUP)["deadLetters"]]


def engines(up: Up) -> set[int]:
    return {process.pid for process in up.processes("penstock_worker.engine")}


def test_what_up_runs_is_seen_and_its_dead_letters_are_replayed(up: Up) -> None:
    up.publish(*range(20), bad=2)
    up.wait_rows(range(20))
    up.wait_settled()
    [consumer] = data(up, "lag")["consumers"]
    assert (consumer["name"], consumer["pending"], consumer["ackPending"]) == ("etl", 0, 0)
    assert letters(up) == [2, 1]
    assert run(up, "dead", "replay", "--all").stdout == "2 replayed: 2 to ORDERS.\n"
    up.wait(lambda: letters(up) == [4, 3], "they are dead letters once more")
    up.wait(lambda: '"message": "Dead lettered' in run(up, "logs", GROUP, "--engine", "--json").stdout, "it is logged")
    up.wait(lambda: data(up, "batches") == {"batches": []}, "no batch is open")
    before = engines(up)
    run(up, "restart", GROUP)
    up.wait(lambda: bool(engines(up) - before) and not engines(up) & before, "its workers are others")


def test_a_pause_outlives_workers_and_up_itself(up: Up) -> None:
    run(up, "pause", GROUP, "--wait")
    up.wait_said("It is paused.")
    up.wait(lambda: not up.processes("penstock_worker.engine"), "its workers have ended")
    assert up.interrupt() == 0
    up.start()
    up.until_serving()
    up.publish(*range(10))
    up.wait_said("It is paused.", times=2)
    up.wait(lambda: up.consumer().num_pending == 10, "all wait")
    run(up, "resume", GROUP)
    run(up, "drain", GROUP)
    up.wait_rows(range(10))
    up.wait_said("It is paused.", times=3)
