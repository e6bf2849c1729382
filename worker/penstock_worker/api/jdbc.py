"""Rows into a table of any database that JDBC reaches, once per batch, however often the batch is run.

Spark's own JDBC writer commits each partition by itself. Here it fills a table beside the target. Once the function has
returned, one transaction writes the batch's line into a ledger table, and what the attempt rejected into another, and
copies the rows: all of it is there, or nothing. The ledger's primary key refuses a second attempt, also one that
overlaps. A batch that was cut from others writes lines in their names, too, so that they are refused from then on.
Knows SQL that all databases have, and how to reach a connection through the JVM. Does not know what the rows are;
called once the target exists.
"""

from __future__ import annotations

import hashlib
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock_worker.api.exceptions import BatchCutError
from penstock_worker.api.session import is_connect
from penstock_worker.policy.rejected import as_text, from_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

LEDGER = "penstock_batches"
CUT = "(cut)"
"""The target in the line of a batch of which a part was written, and that is not written as a whole any more."""
REJECTED = "penstock_rejected"
"""Made for the first batch of which a message is rejected."""
PART_LETTERS = 4000
"""Of what was rejected; no database has shorter texts."""
DRIVERS = {
    "jdbc:mariadb:": "org.mariadb.jdbc.Driver",
    "jdbc:mysql:": "com.mysql.cj.jdbc.Driver",
    "jdbc:postgresql:": "org.postgresql.Driver",
    "jdbc:sqlite:": "org.sqlite.JDBC",
}
CONSTRAINT_VIOLATED = "23"
"""The class of SQLSTATEs that a second line of the same batch ends with."""
STAGED_LETTERS = 12
COLUMN_LETTERS = 500
"""Of what people read in the ledger. A batch id begins with the names of a stream and a consumer, of up to 255 letters
each.
"""
LEDGER_COLUMNS = (
    f"batch_key CHAR(64) PRIMARY KEY, batch_id VARCHAR({COLUMN_LETTERS}) NOT NULL, "
    f"target VARCHAR({COLUMN_LETTERS}) NOT NULL"
)
REJECTED_COLUMNS = (
    f"batch_key CHAR(64) NOT NULL, part INTEGER NOT NULL, rejected VARCHAR({PART_LETTERS}) NOT NULL, "
    "PRIMARY KEY (batch_key, part)"
)


@dataclass(frozen=True, slots=True)
class How:
    """How rows are written to a table."""

    properties: Mapping[str, str]
    """Spark's for JDBC."""
    on_conflict: str | None
    name: str
    """What tells several writes of one batch to one table apart."""


class JdbcTable:
    """One target table, as one batch sees it."""

    def __init__(self, df: DataFrame, url: str, table: str, how: How, batch_ids: Sequence[str]) -> None:
        """Of the batch with the first id; the others are of batches that it was cut from."""
        self._df, self._how, self._batch_id = df, how, batch_ids[0]
        session: Any = df.sparkSession
        if is_connect(session):
            raise ValueError(
                "batch.jdbc() needs a JVM of this process's own, for one transaction on the driver, and Spark Connect "
                "has none. Use a classic master, or write keyed by stream and seq with your database's own client."
            )
        self._jvm = session.sparkContext._jvm  # noqa: SLF001 - pyspark shows its JVM nowhere else
        self._options = {"driver": _driver(url, how.properties), **how.properties, "url": url, "dbtable": table}
        self._table = table
        self._staging = f"penstock_{uuid.uuid4().hex[:STAGED_LETTERS]}"
        self._is_staged = False
        self._quote = self._dialect.quoteIdentifier
        written = (f"{batch_id} {table}{how.name and f' {how.name}'}" for batch_id in batch_ids)
        self._keys = [hashlib.sha256(each.encode()).hexdigest() for each in written]

    def stage(self) -> bool:
        """Write the rows beside the target; False if the target has those of an earlier attempt at the batch."""
        with self._connected() as connection:
            _ensure(connection, LEDGER, LEDGER_COLUMNS)
            if self._taken(connection) is None:
                self._fill(connection)
        return self._is_staged

    def publish(self, rejected: Mapping[int, str]) -> dict[int, str] | None:
        """Append the rows, and return None; or what the attempt rejected whose rows are there."""
        with self._connected() as connection:
            is_ours = self._is_staged and self._commit(connection, rejected)
            self._remove_staged(connection)
            return None if is_ours else self._earlier(connection)

    def drop(self) -> None:
        """Remove what is beside the target."""
        if self._is_staged:
            with self._connected() as connection:
                self._remove_staged(connection)

    def _remove_staged(self, connection: Any) -> None:  # noqa: ANN401 - the JVM's
        if self._is_staged:
            _execute(connection, f"DROP TABLE {self._staging}")
            self._is_staged = False

    @property
    def _dialect(self) -> Any:  # noqa: ANN401 - the JVM's
        return self._jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(self._options["url"])

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Connect as Spark does: with its ways to find the driver and to authenticate."""
        options = self._jvm.PythonUtils.toScalaMap(self._options)
        options = self._jvm.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(options)
        any_partition = -1
        connection = self._dialect.createConnectionFactory(options).apply(any_partition)
        try:
            yield connection
        finally:
            connection.close()

    def _taken(self, connection: Any) -> str | None:  # noqa: ANN401 - the JVM's
        """Return under which key the target has these messages, if it has."""
        targets = self._targets(connection)
        return next((key for key in self._keys if targets.get(key, CUT) != CUT), None)

    def _targets(self, connection: Any) -> dict[str, str]:  # noqa: ANN401 - the JVM's
        """Return what stands in the lines of the batch and of those that it was cut from."""
        statement = connection.prepareStatement(f"SELECT target FROM {LEDGER} WHERE batch_key = ?")  # noqa: S608 - ours
        targets = {}
        for key in self._keys:
            statement.setString(1, key)
            found = statement.executeQuery()
            if found.next():
                targets[key] = found.getString(1)
        statement.close()
        return targets

    def _earlier(self, connection: Any) -> dict[int, str]:  # noqa: ANN401 - the JVM's
        """Return what the attempt rejected that has published."""
        if not _has_table(connection, REJECTED):
            return {}
        columns = "SELECT rejected FROM"
        statement = connection.prepareStatement(f"{columns} {REJECTED} WHERE batch_key = ? ORDER BY part")
        statement.setString(1, self._taken(connection))
        found, text = statement.executeQuery(), ""
        while found.next():
            text += found.getString(1)
        return from_text(text) if text else {}

    @property
    def _columns(self) -> str:
        return ", ".join(self._quote(name) for name in self._df.columns)

    def _fill(self, connection: Any) -> None:  # noqa: ANN401 - the JVM's
        """Make a table with the target's own types, and let Spark fill it from all its executors."""
        shape = f"SELECT {self._columns} FROM {self._table} WHERE 1 = 0"  # noqa: S608 - the user's own words
        _execute(connection, f"CREATE TABLE {self._staging} AS {shape}")
        self._is_staged = True
        writer = self._df.write.format("jdbc").mode("append")
        writer.options(**{**self._options, "dbtable": self._staging}).save()

    def _commit(self, connection: Any, rejected: Mapping[int, str]) -> bool:  # noqa: ANN401 - the JVM's
        if rejected:
            _ensure(connection, REJECTED, REJECTED_COLUMNS)
        connection.setAutoCommit(False)
        try:
            return self._claim(connection) and self._copy(connection, rejected)
        finally:
            connection.rollback()  # of what was not committed
            connection.setAutoCommit(True)

    def _claim(self, connection: Any) -> bool:  # noqa: ANN401 - the JVM's
        """Write the lines of the batch and of those that it was cut from; False if one of them was written before."""
        from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - a Connect client has none

        own, batch_id = self._keys[0], self._batch_id[:COLUMN_LETTERS]
        while True:
            targets = self._targets(connection)
            if targets.get(own) == CUT:
                raise BatchCutError(self._table)
            if any(target != CUT for target in targets.values()):
                return False
            try:
                for key in self._keys[1:]:
                    if key not in targets:
                        _insert(connection, LEDGER, key, batch_id, CUT)
                _insert(connection, LEDGER, own, batch_id, self._table[:COLUMN_LETTERS])
            except Py4JJavaError as problem:  # another attempt has written one of the lines since they were read
                connection.rollback()
                if not (_sqlstate(problem) or "").startswith(CONSTRAINT_VIOLATED):
                    raise
            else:
                return True

    def _copy(self, connection: Any, rejected: Mapping[int, str]) -> bool:  # noqa: ANN401 - the JVM's
        rows = f"SELECT {self._columns} FROM {self._staging}"  # noqa: S608 - the user's own words
        conflict = f" ON CONFLICT {self._how.on_conflict}" if self._how.on_conflict else ""
        text = as_text(rejected) if rejected else ""
        for part, start in enumerate(range(0, len(text), PART_LETTERS)):
            _insert(connection, REJECTED, self._keys[0], part, text[start : start + PART_LETTERS])
        _execute(connection, f"INSERT INTO {self._table} ({self._columns}) {rows}{conflict}")
        connection.commit()
        return True


def _ensure(connection: Any, table: str, columns: str) -> None:  # noqa: ANN401 - the JVM's
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - a Connect client has none

    if _has_table(connection, table):
        return
    try:
        _execute(connection, f"CREATE TABLE {table} ({columns})")
    except Py4JJavaError:
        if not _has_table(connection, table):  # another worker made it at the same moment
            raise


def _insert(connection: Any, table: str, *values: str | int) -> None:  # noqa: ANN401 - the JVM's
    marks = ", ".join("?" for _ in values)
    statement = connection.prepareStatement(f"INSERT INTO {table} VALUES ({marks})")  # noqa: S608 - our own name
    for place, value in enumerate(values, 1):
        (statement.setInt if isinstance(value, int) else statement.setString)(place, value)
    try:
        statement.executeUpdate()
    finally:
        statement.close()


def _has_table(connection: Any, table: str) -> bool:  # noqa: ANN401 - the JVM's
    """Ask for the table as statements name it: metadata finds tables of other schemas, and by spelling."""
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - a Connect client has none

    try:
        _execute(connection, f"SELECT 1 FROM {table} WHERE 1 = 0")  # noqa: S608 - our own name
    except Py4JJavaError:
        return False
    return True


def _driver(url: str, properties: Mapping[str, str]) -> str:
    """Return the driver's class. Spark guesses it once in a JVM, and the second time finds its own wrapper."""
    found = properties.get("driver") or next((DRIVERS[start] for start in DRIVERS if url.startswith(start)), None)
    if found is None:
        raise ValueError(
            f"The driver of {url.partition('?')[0]} is not known: give properties={{'driver': 'its.Class'}}."
        )
    return found


def _execute(connection: Any, sql: str) -> None:  # noqa: ANN401 - the JVM's
    statement = connection.createStatement()
    try:
        statement.execute(sql)
    finally:
        statement.close()


def _sqlstate(problem: Any) -> str | None:  # noqa: ANN401 - py4j's
    state: str | None = problem.java_exception.getSQLState()
    return state
