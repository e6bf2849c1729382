"""Answers of Spark's launcher are remembered, and asked for again when the question changes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from penstock_worker.spark.launcher import MOST_KEPT, SUFFIX, Launch, Launcher

VARIABLES = {"PATH": os.environ["PATH"], "HOME": "/home/etl"}
READS = "import sys; print(flush=True); sys.stdin.read()"
SETTINGS = {"spark.driver.memory": "1g"}


@pytest.fixture
def became() -> Iterator[int]:
    """A process that a launcher has become."""
    command = [sys.executable, "-c", READS, "--conf", "/var/one/spark.properties"]
    environment = {**VARIABLES, "PYTHONHASHSEED": "0", "SPARK_CONF_DIR": "/var/one/conf"}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # for a moment there is a process that Linux shows no words of
        yield process.pid


def asked(folder: str) -> Launch:
    return Launch(["spark-submit", "--properties-file", f"{folder}/spark.properties"], VARIABLES)


def launcher(folder: Path, *question: object, place: str = "/var/one", launch: Launch | None = None) -> Launcher:
    return Launcher(folder, Path(place), launch or asked(place), *(question or (SETTINGS,)))


def test_an_answer_serves_workers_in_other_folders_and_only_we_can_read_it(tmp_path: Path, became: int) -> None:
    """Options of a JVM may hold secrets."""
    assert launcher(tmp_path).answer() is None
    launcher(tmp_path).remember(became)
    answer = launcher(tmp_path, place="/var/two").answer()
    assert answer is not None
    assert list(answer.command) == [sys.executable, "-c", READS, "--conf", "/var/two/spark.properties"]
    added = {"PYTHONHASHSEED": "0", "SPARK_CONF_DIR": "/var/two/conf"}
    assert answer.environment == {**VARIABLES, **added}
    (file,) = tmp_path.glob(f"*{SUFFIX}")
    assert file.stat().st_mode & 0o077 == 0


def test_answers_to_other_questions_and_broken_answers_are_not_used(tmp_path: Path, became: int) -> None:
    question = asked("/var/one")
    launcher(tmp_path, "jars", SETTINGS).remember(became)
    with_option = replace(question, environment={**question.environment, "SPARK_SUBMIT_OPTS": "-Da=b"})
    assert launcher(tmp_path, "jars", SETTINGS).answer() is not None
    assert launcher(tmp_path, "jars", {"spark.driver.memory": "2g"}).answer() is None
    assert launcher(tmp_path, "jars", SETTINGS, launch=with_option).answer() is None
    assert launcher(tmp_path, "other jars", SETTINGS).answer() is None
    (file,) = tmp_path.glob(f"*{SUFFIX}")
    file.write_text("[[")
    assert launcher(tmp_path, "jars", SETTINGS).answer() is None


def test_the_newest_answers_stay(tmp_path: Path, became: int) -> None:
    for number in range(MOST_KEPT + 3):
        launcher(tmp_path, number).remember(became)
    assert len(list(tmp_path.glob(f"*{SUFFIX}"))) == MOST_KEPT
    assert launcher(tmp_path, MOST_KEPT + 2).answer() is not None
