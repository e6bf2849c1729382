"""A peer as a process: started, asked line by line, and ended with us.

Knows the lines. Does not know what is asked. What it says besides goes into a file, whose end is shown when it fails.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Self

from penstock_worker.spark import find_java
from tests.testbed import run
from tests.testbed.programs import tail
from tools.environment import ROOT

END_SECONDS = 30


class AskedPeer:
    """One peer; lives for its `with`."""

    def __init__(self, python: Path, name: str, **facts: object) -> None:
        self.folder = run.current().new_folder(name)
        self.name = name
        self._log = self.folder / f"{name}.log"
        facts = {"folder": str(self.folder), **facts}
        self._command = [str(python), "-m", "bench.running.peers", name, json.dumps(facts)]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env=environment(self.folder),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            _pipe(self._process.stdin).close()
            self._process.wait(END_SECONDS)
            _pipe(self._process.stdout).close()

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started.")
        return self._process.pid

    def ask(self, do: str, **facts: object) -> Any:  # noqa: ANN401 - whatever it answers
        """Have something done, and return what came of it."""
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started.")
        requests, answers = _pipe(self._process.stdin), _pipe(self._process.stdout)
        requests.write(json.dumps({"do": do, **facts}) + "\n")
        requests.flush()
        answer = answers.readline()
        if not answer:
            raise RuntimeError(f"{self.name} ended instead of answering:\n{tail(self._log)}")
        return json.loads(answer)


def environment(folder: Path) -> Mapping[str, str]:
    """Return what a process with a Spark needs, and nothing that another Spark of this machine set."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return own | {"JAVA_HOME": str(find_java(folder / "java").home)}


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise RuntimeError("It has no pipe.")
    return pipe
