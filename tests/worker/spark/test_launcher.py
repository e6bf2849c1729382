"""What is remembered of Spark's launcher, and when it is asked again."""

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


def test_what_is_not_known_is_asked(tmp_path: Path) -> None:
    assert Launcher(tmp_path, Path("/var/one"), asked("/var/one"), SETTINGS).answer() is None


def test_an_answer_serves_workers_in_other_folders(tmp_path: Path, became: int) -> None:
    Launcher(tmp_path, Path("/var/one"), asked("/var/one"), SETTINGS).remember(became)
    answer = Launcher(tmp_path, Path("/var/two"), asked("/var/two"), SETTINGS).answer()
    assert answer is not None
    assert list(answer.command) == [sys.executable, "-c", READS, "--conf", "/var/two/spark.properties"]
    added = {"PYTHONHASHSEED": "0", "SPARK_CONF_DIR": "/var/two/conf"}
    assert answer.environment == {**VARIABLES, **added}


def test_an_answer_is_ours_alone_to_read(tmp_path: Path, became: int) -> None:
    """Options of a JVM may hold secrets."""
    Launcher(tmp_path, Path("/var/one"), asked("/var/one"), SETTINGS).remember(became)
    (file,) = tmp_path.glob(f"*{SUFFIX}")
    assert file.stat().st_mode & 0o077 == 0


def test_other_settings_variables_or_jars_are_another_question(tmp_path: Path, became: int) -> None:
    folder, question = Path("/var/one"), asked("/var/one")
    Launcher(tmp_path, folder, question, "jars", SETTINGS).remember(became)
    with_option = replace(question, environment={**question.environment, "SPARK_SUBMIT_OPTS": "-Da=b"})
    assert Launcher(tmp_path, folder, question, "jars", SETTINGS).answer() is not None
    assert Launcher(tmp_path, folder, question, "jars", {"spark.driver.memory": "2g"}).answer() is None
    assert Launcher(tmp_path, folder, with_option, "jars", SETTINGS).answer() is None
    assert Launcher(tmp_path, folder, question, "other jars", SETTINGS).answer() is None


def test_an_answer_that_is_broken_is_asked_for_again(tmp_path: Path, became: int) -> None:
    launcher = Launcher(tmp_path, Path("/var/one"), asked("/var/one"), SETTINGS)
    launcher.remember(became)
    (file,) = tmp_path.glob(f"*{SUFFIX}")
    file.write_text("[[")
    assert launcher.answer() is None


def test_the_youngest_answers_stay(tmp_path: Path, became: int) -> None:
    for number in range(MOST_KEPT + 3):
        Launcher(tmp_path, Path("/var/one"), asked("/var/one"), number).remember(became)
    assert len(list(tmp_path.glob(f"*{SUFFIX}"))) == MOST_KEPT
    assert Launcher(tmp_path, Path("/var/one"), asked("/var/one"), MOST_KEPT + 2).answer() is not None
