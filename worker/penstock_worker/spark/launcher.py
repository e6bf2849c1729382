"""What Spark's launcher makes of our words, remembered: to ask it takes a shell and another JVM, a quarter of a second.

Knows what its answer depends on (words, settings, variables, the Java and the jars): where any of these is another, it
is asked. Reads its answer off the process that became of it, which Linux shows. Does not start anything.
"""

import hashlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

SUFFIX = ".launch"
MOST_KEPT = 32
"""One is of four kilobytes, and each declared group of settings has its own."""
FOLDER = "\0"
"""Stands for the folder that a driver works in, which differs from worker to worker; no argument can hold it."""
READ_BY_LAUNCHER = (
    "SPARK",
    "PYSPARK",
    "_PYSPARK",
    "JAVA",
    "JDK_JAVA",
    "_JAVA",
    "HADOOP",
    "YARN",
    "SCALA",
    "LD_",
    "DYLD_",
)
"""What the variables begin with that the launcher, its scripts, or Java read."""
OF_A_SHELL = frozenset({"_", "PWD", "OLDPWD", "SHLVL"})


@dataclass(frozen=True, slots=True)
class Launch:
    """A program and its environment."""

    command: Sequence[str]
    environment: Mapping[str, str]


class Launcher:
    """What the launcher answers to one question."""

    def __init__(self, memory: Path, work_folder: Path, asked: Launch, *marks: object) -> None:
        """`memory` is the folder of what is remembered; `marks` are what the answer depends on besides."""
        self._work_folder, self._asked = str(work_folder), asked
        read = {name: value for name, value in asked.environment.items() if name.startswith(READ_BY_LAUNCHER)}
        question = json.dumps([*asked.command, sorted(read.items()), *map(str, marks)])
        self._file = memory / f"{hashlib.sha256(self._without(question).encode()).hexdigest()[:16]}{SUFFIX}"

    def answer(self) -> Launch | None:
        """Return what it answered before, if that is known."""
        try:
            command, added = json.loads(self._file.read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as problem:
            log.info("Spark's launcher is asked again: %s", problem)
            return None
        added = {name: self._within(value) for name, value in added.items()}
        return Launch([self._within(word) for word in command], {**self._asked.environment, **added})

    def remember(self, pid: int) -> None:
        """Remember what became of the question as what a process is now, where that can be read."""
        process = Path("/proc", str(pid))
        if self._file.exists() or not process.exists() or not os.access(self._file.parent, os.W_OK):
            return
        try:
            self._write(process)
        except OSError as problem:
            log.info("What Spark's launcher answered is not remembered: %s", problem)

    def _write(self, process: Path) -> None:
        command, variables = (_words(process / name) for name in ("cmdline", "environ"))
        set_now = dict(word.split("=", 1) for word in variables if "=" in word)
        added = {
            name: self._without(value)
            for name, value in set_now.items()
            if name not in OF_A_SHELL and self._asked.environment.get(name) != value
        }
        unfinished = self._file.with_suffix(f".{os.getpid()}")
        unfinished.touch(mode=0o600)
        unfinished.write_text(json.dumps([[self._without(word) for word in command], added]))
        unfinished.replace(self._file)
        self._prune()

    def _without(self, text: str) -> str:
        return text.replace(self._work_folder, FOLDER)

    def _within(self, text: str) -> str:
        return text.replace(FOLDER, self._work_folder)

    def _prune(self) -> None:
        by_age = sorted(self._file.parent.glob(f"*{SUFFIX}"), key=lambda file: file.stat().st_mtime, reverse=True)
        for old in by_age[MOST_KEPT:]:
            old.unlink(missing_ok=True)


def _words(file: Path) -> list[str]:
    """Return what stands between zeros."""
    return file.read_bytes().decode(errors="surrogateescape").removesuffix("\0").split("\0")
