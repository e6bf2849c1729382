"""The JVM of a classic session: started as a process that ends with us, watched, and killed when it is of no use.

Knows Spark's launcher, and how the JVM tells where it listens: it writes a port and a secret into a file that pyspark's
own environment variable names. Starting it ourselves gives us its process id, and what it said if it does not start.
Settings go through a file, as all can read the command line of a process.
"""

import os
import re
import string
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from penstock_worker.spark.archive import ENDING_SECONDS, archive, jars_in_order
from penstock_worker.spark.defaults import OPTIONS
from penstock_worker.spark.java import Java, find_java
from penstock_worker.spark.launcher import Launch, Launcher
from penstock_worker.spark.problems import CannotStartError

START_SECONDS = 120
PAUSE_SECONDS = 0.02
"""Between two looks for the file: pyspark itself looks ten times a second."""
LINES_KEPT, LINES_TOLD = 60, 3
CAUSE = re.compile(r"(?:Caused by: )?[\w.$]+(?:Exception|Error): (?P<told>.+)")
RAW_ANSWER = " Received status: "
"""After what the API server says in words, the whole of its answer follows."""
NOISE = ("at ", "WARNING:", "Using Spark's", "Setting default log level", "To adjust logging level")
END_SECONDS = 10
CLASSPATH = "spark.driver.extraClassPath"
LAUNCHER_KILLED = "CMD: bad array subscript"
"""What bin/spark-class says, with exit code 1, if the JVM that it asks for Spark's command line was killed."""
SIGNALLED = 128
"""Exit codes above it are of shells whose program was ended by a signal."""
PLAIN = frozenset(map(ord, string.ascii_letters + string.digits + "._-/"))


class Jvm:
    """One Java process with Spark in it, reached through py4j."""

    archive_seconds: float = ENDING_SECONDS
    """How long its end may take if it writes an archive of its classes first."""

    def __init__(self, folder: Path, settings: Mapping[str, str], archives: Path | None = None) -> None:
        """`archives` is a folder for archives of classes, if there are to be any."""
        java = find_java(folder / "java")
        self._archive = archive(archives, java, Path(spark_home())) if archives is not None else None
        self._was_archived = self._archive is not None and self._archive.is_there
        if self._archive is not None:
            options = " ".join([settings.get(OPTIONS, ""), *self._archive.options()])
            settings = {CLASSPATH: jars_in_order(Path(spark_home())), **settings, OPTIONS: options.strip()}
        self.has_worked = False
        """Whether it has run a batch: only then has it the classes that others need."""
        self._connection = folder / "gateway"
        self._said: deque[str] = deque(maxlen=LINES_KEPT)
        asked = Launch(_command(folder, settings), _environment(folder, settings, self._connection, java))
        self._launcher = None
        if self._archive is not None and self._was_archived:
            self._launcher = Launcher(self._archive.file.parent, folder, asked, self._archive.file, settings)
        launch = (self._launcher.answer() if self._launcher is not None else None) or asked
        # Its end of our pipe closes when we die, however we die: then it ends as well. A session of its own keeps
        # Ctrl-C from it: what runs there is to be finished.
        self._process = process = subprocess.Popen(
            launch.command,
            env=launch.environment,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._relay = threading.Thread(target=self._pass_on, args=(process.stderr,), name="jvm-log", daemon=True)
        self._relay.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """What it ended with; None while it lives."""
        return self._process.poll()

    @property
    def end_seconds(self) -> float:
        """How long its end may take."""
        return self.archive_seconds if self._archive is not None and not self._was_archived else END_SECONDS

    def attach(self) -> None:
        """Make it the JVM of this process's pyspark."""
        from pyspark import SparkContext  # noqa: PLC0415 - pyspark-client has no such thing, and needs none
        from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

        port, secret = self._await_address()
        if self._launcher is not None:
            self._launcher.remember(self.pid)
        told = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
        os.environ.update(told)
        try:
            gateway = launch_gateway()  # type: ignore[no-untyped-call]
            SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001 - there is no other way in
        finally:
            for name in told:
                del os.environ[name]  # no program that the user's code starts need know the secret

    def last_cause(self, besides: str) -> str | None:
        """Return what the last error that it told of says, but for one."""
        causes = (CAUSE.match(line) for line in reversed(tuple(self._said)))
        told = (cause["told"] for cause in causes if cause)
        return next((text.partition(RAW_ANSWER)[0] for text in told if text != besides), None)

    def end(self) -> None:
        """Let it end, or make it."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(self.end_seconds)
        except subprocess.TimeoutExpired:
            self.kill()
        self._relay.join(END_SECONDS)
        if self._archive is not None:
            self._archive.keep(is_whole=self.exit_code == 0 and self.has_worked)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _await_address(self) -> tuple[int, str]:
        deadline = time.monotonic() + START_SECONDS
        while not self._connection.exists():
            if self.exit_code is not None:
                self._relay.join(END_SECONDS)
                raise CannotStartError(
                    f"Spark's JVM ended while it started, with exit code {self.exit_code}: {_reason(self._said)}",
                    is_permanent=not _was_killed(self.exit_code, self._said),
                )
            if time.monotonic() > deadline:
                self.kill()
                raise CannotStartError(f"Spark's JVM did not start within {START_SECONDS} s.", is_permanent=False)
            time.sleep(PAUSE_SECONDS)
        return _read_address(self._connection)

    def _pass_on(self, said: IO[bytes]) -> None:
        """Show what it says on our own standard error, and remember the last of it."""
        with said:
            for line in said:
                text = line.decode(errors="replace")
                self._said.append(text.rstrip())
                sys.stderr.write(text)
                sys.stderr.flush()


def _command(folder: Path, settings: Mapping[str, str]) -> list[str]:
    launcher = Path(spark_home()) / "bin" / "spark-submit"
    return [str(launcher), "--properties-file", str(write_settings(folder, settings)), "pyspark-shell"]


def write_settings(folder: Path, settings: Mapping[str, str]) -> Path:
    """Write Spark's settings into a file that only we may read, as some are secrets."""
    file = folder / "spark.properties"
    file.touch(mode=0o600)
    file.write_text("".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in settings.items()))
    return file


def _escaped(text: str) -> str:
    """Write a word of a Java properties file, in which all but letters and digits may mean something."""
    units = struct.iter_unpack("!H", text.encode("utf-16-be", errors="surrogatepass"))
    return "".join(chr(unit) if unit in PLAIN else f"\\u{unit:04x}" for (unit,) in units)


def _environment(folder: Path, settings: Mapping[str, str], connection: Path, java: Java) -> dict[str, str]:
    (folder / "tmp").mkdir(exist_ok=True)
    host = settings.get("spark.driver.bindAddress")
    return {
        **os.environ,
        **({"SPARK_LOCAL_IP": host} if host else {}),
        "JAVA_HOME": str(java.home),
        "SPARK_HOME": spark_home(),
        "SPARK_LOCAL_DIRS": settings.get("spark.local.dir", str(folder / "local")),  # an image may have set another
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection),
    }


def spark_home() -> str:
    if home := os.environ.get("SPARK_HOME"):
        return home
    found = find_spec("pyspark")  # which is slow to import
    if found is None or found.origin is None:
        raise CannotStartError("pyspark is not installed: pip install 'penstock-worker[local]'.")
    return str(Path(found.origin).parent)


def _read_address(file: Path) -> tuple[int, str]:
    written = file.read_bytes()
    file.unlink()
    port, length = struct.unpack_from("!ii", written)
    return port, written[struct.calcsize("!ii") :][:length].decode()


def _was_killed(code: int, said: Iterable[str]) -> bool:
    """Tell whether a process was ended from outside, as for want of memory; its launcher may be what tells."""
    return code < 0 or code > SIGNALLED or any(LAUNCHER_KILLED in line for line in said)


def _reason(said: deque[str]) -> str:
    """Return what tells most: an exception's own line, else the first of what it said."""
    lines = [line.strip() for line in said if line.strip() and not line.strip().startswith(NOISE)]
    exceptions = [line for line in lines if "Exception: " in line or line.startswith("Exception in thread")]
    return exceptions[-1] if exceptions else " ".join(lines[:LINES_TOLD]) or "it said nothing."
