"""Archives of Java classes: a JVM that ends in order leaves one, and later JVMs start in half the time."""

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
from tests.worker.driver.driving import LONG_SECONDS, RunningDriver

SPARK = Path(pyspark.__file__).parent
PATIENT_DRIVER = f"""
import sys
from penstock_worker.driver.main import main
from penstock_worker.spark.jvm import Jvm
Jvm.archive_seconds = {LONG_SECONDS}
sys.exit(main())
"""
"""A driver that lets its JVM write an archive for as long as a busy machine takes."""


@pytest.mark.full
@pytest.mark.timeout(3 * LONG_SECONDS)
def test_a_start_maps_the_archive_of_an_earlier_jvm_that_worked_and_the_next_needs_no_launcher() -> None:
    archives = run.current().new_folder("archives")

    def found() -> list[Path]:
        """Return the archives of whole JVMs; a Java without an archive of its own classes has a base archive too."""
        return [file for file in archives.glob("*.jsa") if not file.name.endswith("-base.jsa")]

    driver = RunningDriver("archiving", java_archives=str(archives))
    module = driver.program.command.index("-m")
    driver.program.command[module : module + 2] = ["-c", PATIENT_DRIVER]
    with driver:

        def live(*, does_work: bool) -> list[Path]:
            """Start the driver, end it in order, and return the archives."""
            if not driver.program.is_running:
                driver.program.start()
            driver.wait_ready()
            assert not does_work or driver.run("write").verdict is Verdict.OK
            driver.program.send(signal.SIGTERM)
            assert driver.program.wait_ended(LONG_SECONDS) == 0
            return found()

        assert not live(does_work=False), "it has not the classes that a batch needs"
        (file,) = live(does_work=True)
        driver.program.start()
        driver.wait_ready()
        jvm = driver.jvm()
        assert any("-XX:SharedArchiveFile" in word and str(file) in word for word in jvm.cmdline())
        assert driver.run("write").verdict is Verdict.OK
        assert str(file) in {mapped.path for mapped in jvm.memory_maps()}
        (answer,) = archives.glob(f"*{SUFFIX}")
        answer.write_text(answer.read_text().replace('"-cp"', '"-Dremembered=yes", "-cp"'))
        environment = without_shell(jvm.environ())
        driver.program.kill()
        driver.program.start()
        driver.wait_ready()
        assert "-Dremembered=yes" in driver.jvm().cmdline()
        assert driver.run("write").verdict is Verdict.OK
        assert without_shell(driver.jvm().environ()) == environment


def without_shell(variables: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name not in OF_A_SHELL}


def test_no_archive_is_used_with_a_spark_conf_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    java = find_java(tmp_path / "java")
    (tmp_path / "spark-defaults.conf").touch()
    assert archive(tmp_path / "archives", java, SPARK) is None


def test_the_newest_archives_stay(tmp_path: Path) -> None:
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
        made = time.time() - age_seconds  # calm: files have the wall clock's time
        os.utime(tmp_path / name, (made, made))
    found.keep(is_whole=True)
    (tmp_path / "being-made.18").unlink()
    assert {file.name for file in tmp_path.iterdir()} == {"new.jsa", *(f"{age}.jsa" for age in range(MOST_KEPT - 1))}


@pytest.mark.full
def test_spark_starts_despite_a_broken_archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The disk may have been full, or Java was changed in its place."""
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)  # of the Spark that this test process has started
    found = archive(tmp_path, find_java(tmp_path / "java"), SPARK)
    assert found is not None
    found.file.write_bytes(b"no archive")
    with RunningDriver("unarchived", java_archives=str(tmp_path)) as driver:
        driver.wait_ready()
        assert driver.run("write").verdict is Verdict.OK
