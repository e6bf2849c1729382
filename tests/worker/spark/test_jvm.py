"""The settings file of Spark's launcher, and reports of a JVM that does not start."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock_worker.spark import jvm
from penstock_worker.spark.java import find_java
from penstock_worker.spark.problems import CannotStartError
from tests.worker.driver.driving import QUICK

SHOW = """
import java.io.*; import java.nio.charset.*; import java.util.*;
class Show {
  public static void main(String[] names) throws Exception {
    Properties read = new Properties();
    read.load(new FileInputStream(names[0]));
    System.out.write(read.getProperty("spark.text").getBytes(StandardCharsets.UTF_8));
    System.out.flush();
  }
}
"""
STARTS_WITH_A_JVM_THAT_IS_KILLED = """
import json, sys
from pathlib import Path
from penstock_worker.spark import classic, jvm, launching
from penstock_worker.spark.problems import CannotStartError
class Short(jvm.Jvm):
    def _await_address(self):
        address = super()._await_address()
        self.kill()
        return address
launching.Jvm = Short
spark = classic.ClassicSpark("local[1]", Path(sys.argv[1]), json.loads(sys.argv[2]), 1)
try:
    spark.start()
except CannotStartError as problem:
    print("of no use" if problem.is_permanent else "worth another try")
spark.close()
"""


def test_settings_reach_java_unchanged_and_only_we_can_read_their_file(tmp_path: Path) -> None:
    text = " a=b:c#d!\\ 'e\"\n\té€𝄞"
    file = jvm.write_settings(tmp_path, {"spark.text": text})
    assert file.stat().st_mode & 0o077 == 0, "settings may hold secrets"
    program = tmp_path / "Show.java"
    program.write_text(SHOW)
    java = find_java(tmp_path / "java").home / "bin" / "java"
    quick = QUICK["spark.driver.extraJavaOptions"].split()
    read = subprocess.run([java, *quick, program, file], capture_output=True, check=True).stdout
    assert read.decode() == text


def test_a_jvm_that_does_not_start_is_reported_with_its_own_words(tmp_path: Path) -> None:
    started = jvm.Jvm(tmp_path, {"spark.driver.memory": "much", "spark.master": "local"})
    with pytest.raises(CannotStartError, match=r"exit code 1: .*much") as problem:
        started.attach()
    assert problem.value.is_permanent
    started.end()


def test_a_jvm_whose_launcher_is_killed_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = find_java(tmp_path / "java").home
    program = tmp_path / "home" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\ncase "$*" in *launcher.Main*) kill -9 $$;; esac\nexec {home}/bin/java "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    started = jvm.Jvm(tmp_path, {"spark.master": "local"})
    with pytest.raises(CannotStartError, match="exit code 1") as problem:
        started.attach()
    assert not problem.value.is_permanent
    started.end()


@pytest.mark.full
def test_a_jvm_that_is_killed_while_it_starts_is_started_again(tmp_path: Path) -> None:
    """The machine may have been out of memory."""
    started = jvm.Jvm(tmp_path, {"spark.master": "local"})
    started.kill()
    with pytest.raises(CannotStartError, match="exit code -9") as problem:
        started.attach()
    assert not problem.value.is_permanent
    started.end()


@pytest.mark.full
def test_a_jvm_that_is_killed_once_its_address_is_known_is_started_again(tmp_path: Path) -> None:
    """In a process of its own: to start Spark ends the JVM that pyspark knows, which may be the test session's."""
    command = [sys.executable, "-c", STARTS_WITH_A_JVM_THAT_IS_KILLED, str(tmp_path), json.dumps(dict(QUICK))]
    assert subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout == "worth another try\n"
