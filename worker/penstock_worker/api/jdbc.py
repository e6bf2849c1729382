"""Rows into a table of any database that JDBC reaches, once per batch, however often the batch is run.

Spark's own JDBC writer commits each partition by itself. Here it fills a table beside the target, and one transaction
then writes the batch's line into a ledger table and copies the rows: both are there, or neither. The ledger's primary
key refuses a second attempt, also one that overlaps. Knows SQL that all databases have, and how to reach a connection
through the JVM. Does not know what the rows are; called once the target exists.
"""

from __future__ import annotations

import hashlib
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock_worker.api.session import is_connect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame

LEDGER = "penstock_batches"
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


class JdbcTable:
    """One target table, as one batch sees it."""

    def __init__(self, df: DataFrame, url: str, table: str, properties: Mapping[str, str], name: str) -> None:
        """`name` tells several writes of one batch to one table apart."""
        self._df, self._name = df, name
        session: Any = df.sparkSession
        if is_connect(session):
            raise ValueError(
                "batch.jdbc() needs a JVM of this process's own, for one transaction on the driver, and Spark Connect "
                "has none. Use a classic master, or write keyed by stream and seq with your database's own client."
            )
        self._jvm = session.sparkContext._jvm  # noqa: SLF001 - pyspark shows its JVM nowhere else
        self._options = {"driver": _driver(url, properties), **properties, "url": url, "dbtable": table}
        self._table = table
        self._staging = f"penstock_{uuid.uuid4().hex[:STAGED_LETTERS]}"
        self._quote = self._dialect.quoteIdentifier

    def write(self, batch_id: str, on_conflict: str | None) -> bool:
        """Append the rows, once; False if an earlier attempt at the batch has."""
        written = f"{batch_id} {self._table}{self._name and f' {self._name}'}"
        key = hashlib.sha256(written.encode()).hexdigest()
        with self._connected() as connection:
            self._ensure_ledger(connection)
            if self._has(connection, key):
                return False
            self._stage(connection)
            try:
                return self._commit(connection, key, batch_id, on_conflict)
            finally:
                connection.setAutoCommit(True)
                _execute(connection, f"DROP TABLE {self._staging}")

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

    def _ensure_ledger(self, connection: Any) -> None:  # noqa: ANN401 - the JVM's
        from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - a Connect client has none

        if _has_ledger(connection):
            return
        text = f"VARCHAR({COLUMN_LETTERS}) NOT NULL"
        columns = f"batch_key CHAR(64) PRIMARY KEY, batch_id {text}, target {text}"
        try:
            _execute(connection, f"CREATE TABLE {LEDGER} ({columns})")
        except Py4JJavaError:
            if not _has_ledger(connection):  # another worker made it at the same moment
                raise

    def _has(self, connection: Any, key: str) -> bool:  # noqa: ANN401 - the JVM's
        statement = connection.prepareStatement(f"SELECT 1 FROM {LEDGER} WHERE batch_key = ?")  # noqa: S608 - our own name
        statement.setString(1, key)
        return bool(statement.executeQuery().next())

    @property
    def _columns(self) -> str:
        return ", ".join(self._quote(name) for name in self._df.columns)

    def _stage(self, connection: Any) -> None:  # noqa: ANN401 - the JVM's
        """Make a table with the target's own types, and let Spark fill it from all its executors."""
        shape = f"SELECT {self._columns} FROM {self._table} WHERE 1 = 0"  # noqa: S608 - the user's own words
        _execute(connection, f"CREATE TABLE {self._staging} AS {shape}")
        writer = self._df.write.format("jdbc").mode("append")
        writer.options(**{**self._options, "dbtable": self._staging}).save()

    def _commit(self, connection: Any, key: str, batch_id: str, on_conflict: str | None) -> bool:  # noqa: ANN401
        from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - a Connect client has none

        connection.setAutoCommit(False)
        line = connection.prepareStatement(f"INSERT INTO {LEDGER} VALUES (?, ?, ?)")  # noqa: S608 - our own name
        for place, value in enumerate((key, batch_id, self._table), 1):
            line.setString(place, value[:COLUMN_LETTERS])
        try:
            line.executeUpdate()
        except Py4JJavaError as problem:
            connection.rollback()
            if (_sqlstate(problem) or "").startswith(CONSTRAINT_VIOLATED):
                return False
            raise
        rows = f"SELECT {self._columns} FROM {self._staging}"  # noqa: S608 - the user's own words
        conflict = f" ON CONFLICT {on_conflict}" if on_conflict else ""
        try:
            _execute(connection, f"INSERT INTO {self._table} ({self._columns}) {rows}{conflict}")
            connection.commit()
        except Py4JJavaError:
            connection.rollback()
            raise
        return True


def _has_ledger(connection: Any) -> bool:  # noqa: ANN401 - the JVM's
    """Ask for the table as statements name it: metadata finds tables of other schemas, and by spelling."""
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - a Connect client has none

    try:
        _execute(connection, f"SELECT 1 FROM {LEDGER} WHERE 1 = 0")  # noqa: S608 - our own name
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
