"""Spark's classic API: a JVM of our own, with the executors in it (local), beside it, or on a cluster.

Knows pyspark's globals and py4j. Does not know what the sessions are used for. One per process, as pyspark has it.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from penstock_worker.spark import defaults, master, settings
from penstock_worker.spark.contract import END_SECONDS
from penstock_worker.spark.dialling import dial_any
from penstock_worker.spark.facts import is_of_network, root_line
from penstock_worker.spark.jvm import Jvm
from penstock_worker.spark.launching import launch
from penstock_worker.spark.problems import CannotStartError, LostError
from penstock_worker.spark.versions import BROKEN_CALL, import_all

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession


STOPPED = "stopped SparkContext"
"""What an error has in it after Spark's context gave up while it was made."""
TURNED_AWAY = "the master does not answer or does not take it. The log of the master, or that of this worker, says why."
QUOTING = (
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.sql.execution.datasources.FileFormatWriter",
    "org.apache.spark.sql.execution.datasources.v2",
    "org.apache.spark.util.Utils",
)
"""Loggers of Spark that tell of each failed task, in words that quote values. The driver tells of the run."""
NO_EXECUTORS = "Spark context stopped while waiting for backend"
"""What Spark says in the end if it could not have executors; why not, it has only logged."""


class ClassicSeat:
    """A session of the one JVM."""

    def __init__(self, session: "SparkSession", *, is_one_task: bool) -> None:
        self.session = session
        self._is_one_task = is_one_task
        self._tag: str | None = None

    def frame(self, table: "pa.Table") -> "DataFrame":
        frame = self.session.createDataFrame(table)
        return frame.coalesce(1) if self._is_one_task else frame

    @contextmanager
    def tagged(self, tag: str) -> Iterator[None]:
        self._tag = tag
        self.session.sparkContext.setJobGroup(tag, tag, interruptOnCancel=True)
        try:
            yield
        finally:
            self._tag = None

    def interrupt(self) -> None:
        """Cancel by group what the slot's thread began, and by session what threads of the user's own did."""
        if self._tag is not None:
            self.session.sparkContext.cancelJobGroup(self._tag)
        self.session.interruptAll()


class ClassicSpark:
    """Spark in a JVM of our own."""

    def __init__(
        self,
        url: str,
        folder: Path,
        conf: Mapping[str, str],
        at_once: int,
        *,
        archives: Path | None = None,
        jvm: Jvm | None = None,
    ) -> None:
        """`jvm` is one that is on its way already, for the first start."""
        self.name = master.shown(url)
        self.sees_our_modules = master.is_on_this_machine(url)
        self._url, self._folder, self._conf, self._archives = url, folder, conf, archives
        self._is_one_task = defaults.is_one_task(url, at_once, conf)
        self._early = jvm
        self._jvm: Jvm | None = None
        self._root: SparkSession | None = None
        self._seats: dict[int, ClassicSeat] = {}

    @property
    def pid(self) -> int | None:
        """The JVM's process."""
        return self._jvm.pid if self._jvm else None

    @property
    def end_seconds(self) -> float:
        return END_SECONDS + (self._jvm.end_seconds if self._jvm else 0)

    def start(self) -> None:
        if masters := master.standalone_masters(self._url):
            dial_any(masters, "Spark master")
        early, self._early = self._early, None
        if early is None:
            self.close()
        self._jvm = early or launch(self._url, self._folder, self._conf, self._archives)
        self._root = self._first_session(self._jvm)

    def seat(self, slot: int) -> ClassicSeat:
        if self._root is None or self._jvm is None:
            raise LostError("Spark is not started.")
        self._jvm.has_worked = True
        if slot not in self._seats:
            self._seats[slot] = ClassicSeat(self._root.newSession(), is_one_task=self._is_one_task)
        return self._seats[slot]

    def complaint(self) -> str | None:
        if self._jvm is None or self._root is None:
            return "Spark is not started."
        if self._jvm.exit_code is not None:
            return f"Spark's JVM ended with {_ending(self._jvm.exit_code)}."
        context = self._root.sparkContext._jsc  # noqa: SLF001 - None once somebody called stop()
        if context is None:
            return "The code stopped Spark: leave out spark.stop(), as the session goes on to the next batch."
        try:
            return "Spark's context stopped itself; its log says why." if context.sc().isStopped() else None
        except BROKEN_CALL:  # it died this moment, or is about to
            return "Spark's JVM does not answer."

    def close(self) -> None:
        from pyspark import SparkContext  # noqa: PLC0415 - see jvm.py

        if self._jvm is not None:
            if self._root is not None and self._jvm.exit_code is None:
                with suppress(*BROKEN_CALL):  # it may end under our hands
                    self._root.stop()
            self._jvm.end()
        _forget(SparkContext)
        self._jvm = self._root = None
        self._seats.clear()
        for leftover in ("local", "tmp"):  # a JVM that was killed did not tidy up
            shutil.rmtree(self._folder / leftover, ignore_errors=True)

    def kill(self) -> None:
        if self._jvm is not None:
            self._jvm.kill()

    def _first_session(self, jvm: Jvm) -> "SparkSession":
        from pyspark.sql import SparkSession  # noqa: PLC0415 - slow to import

        import_all()  # the JVM starts meanwhile
        try:
            jvm.attach()
            session = SparkSession.builder.getOrCreate()
            settings.check_classic(session._jvm, self._conf)  # noqa: SLF001 - there is no other way in
            _silence_errors(session)
        except BROKEN_CALL as problem:
            why, may_pass = _why(problem, jvm)
            sentence = f"Spark does not start on {self.name}: {why}"
            raise CannotStartError(sentence, is_permanent=not may_pass) from problem
        return session


def _silence_errors(session: "SparkSession") -> None:
    log4j = session._jvm.org.apache.logging.log4j  # type: ignore[union-attr]  # noqa: SLF001 - py4j's
    for name in QUOTING:
        log4j.core.config.Configurator.setLevel(name, log4j.Level.OFF)


def _why(problem: Exception, jvm: Jvm) -> tuple[str, bool]:
    """Return why Spark did not start, for a sentence, and whether that may be otherwise later."""
    from py4j.protocol import Py4JNetworkError  # noqa: PLC0415 - a Connect client has none

    line = root_line(problem)
    if line == NO_EXECUTORS:
        return jvm.last_cause(besides=line) or line, True
    if STOPPED in line:
        return TURNED_AWAY, True
    return line, isinstance(problem, (OSError, Py4JNetworkError)) or is_of_network(problem)


def _forget(context: "type[SparkContext]") -> None:
    """Have pyspark hold nothing of a JVM that is gone: it would go on calling it."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - slow to import

    if context._gateway is not None:  # noqa: SLF001 - pyspark has no word for it
        with suppress(*BROKEN_CALL):
            context._gateway.shutdown()  # noqa: SLF001
    context._gateway = context._jvm = context._active_spark_context = None  # noqa: SLF001
    SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
