"""A JVM that ends in order leaves its classes laid out for those after it, which start in half the time."""

import os
import signal
import time
from pathlib import Path

import pyspark
import pytest

from penstock_worker.policy.outcome import Verdict
from penstock_worker.spark.archive import LEFT_SECONDS, MOST_KEPT, Archive, archive
from penstock_worker.spark.java import find_java
from penstock_worker.spark.launcher import OF_A_SHELL, SUFFIX
from tests.testbed import run
from tests.testbed.waiting import eventually
from tests.worker.driver.driving import LONG_SECONDS, RunningDriver

pytestmark = pytest.mark.timeout(600)
SPARK = Path(pyspark.__file__).parent


@pytest.fixture(autouse=True)
def no_settings_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their Spark has a folder with files of settings, in which case there is no archive."""
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)


def test_a_start_maps_what_the_first_left_that_worked_and_the_next_asks_no_launcher() -> None:
    archives = run.current().new_folder("archives")
    with RunningDriver("archiving", java_archives=str(archives)) as driver:
        driver.wait_ready()
        end(driver)
        assert not left(archives), "it has not the classes that a batch needs"
        driver.program.start()
        driver.wait_ready()
        assert driver.run("write").verdict is Verdict.OK
        end(driver)
        (file,) = left(archives)
        driver.program.start()
        driver.wait_ready()
        assert any("-XX:SharedArchiveFile" in word and str(file) in word for word in driver.jvm().cmdline())
        assert driver.run("write").verdict is Verdict.OK
        assert str(file) in driver_maps(driver)
        (answer,) = archives.glob(f"*{SUFFIX}")
        answer.write_text(answer.read_text().replace('"-cp"', '"-Dremembered=yes", "-cp"'))
        seen_by_java = driver.jvm().environ()
        driver.program.kill()
        driver.program.start()
        driver.wait_ready()
        assert "-Dremembered=yes" in driver.jvm().cmdline()
        assert driver.run("write").verdict is Verdict.OK
        assert without_shell(driver.jvm().environ()) == without_shell(seen_by_java)


def end(driver: RunningDriver) -> None:
    driver.program.send(signal.SIGTERM)
    eventually(lambda: not driver.program.is_running, "the driver ends", LONG_SECONDS)
    assert driver.program.how_it_ended() == "ended with code 0"


def without_shell(variables: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name not in OF_A_SHELL}


def left(archives: Path) -> list[Path]:
    """Return what JVMs left that have ended; a Java without an archive of its own classes has one beside it."""
    return [file for file in archives.glob("*.jsa") if not file.name.endswith("-base.jsa")]


def driver_maps(driver: RunningDriver) -> str:
    return " ".join(mapped.path for mapped in driver.jvm().memory_maps())


def test_where_spark_has_files_of_settings_there_is_no_archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    java = find_java(tmp_path / "java")
    (tmp_path / "spark-defaults.conf").touch()
    assert archive(tmp_path / "archives", java, SPARK) is None


def test_the_youngest_archives_stay(tmp_path: Path) -> None:
    for age in range(MOST_KEPT + 2):
        old = tmp_path / f"{age}.jsa"
        old.touch()
        os.utime(old, (1000 - age, 1000 - age))
    found = Archive(tmp_path / "new.jsa", None)
    found.unfinished.touch()
    found.keep(is_whole=False)
    assert not found.unfinished.exists()
    assert not found.is_there
    found.unfinished.touch()
    for name, age_seconds in (("of-a-jvm-that-was-killed.17", LEFT_SECONDS + 1), ("being-made.18", 0)):
        (tmp_path / name).touch()
        made = time.time() - age_seconds
        os.utime(tmp_path / name, (made, made))
    found.keep(is_whole=True)
    (tmp_path / "being-made.18").unlink()
    assert {file.name for file in tmp_path.iterdir()} == {"new.jsa", *(f"{age}.jsa" for age in range(MOST_KEPT - 1))}


def test_an_archive_that_is_no_archive_is_left_alone(tmp_path: Path) -> None:
    """A disk that was full, a Java that was changed in its place: Spark starts all the same."""
    found = archive(tmp_path, find_java(tmp_path / "java"), SPARK)
    assert found is not None
    found.file.write_bytes(b"no archive")
    with RunningDriver("unarchived", java_archives=str(tmp_path)) as driver:
        driver.wait_ready()
        assert driver.run("write").verdict is Verdict.OK
