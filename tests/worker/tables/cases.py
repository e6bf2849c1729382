"""Each kind of table holds a batch once, also when attempts overlap. Run by test_tables.py, with the real tables."""

import runpy
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock_worker.api import Batch
from penstock_worker.api.exceptions import BatchCutError
from penstock_worker.testing import Message, run

ORDERS = [{"id": number} for number in range(10)]
MANY = [{"id": number} for number in range(50)]
OVERLAPS = 3


def orders(first: int) -> list[Message]:
    """Return ten orders, from a sequence on."""
    return [Message({"id": number}, seq=number) for number in range(first, first + 10)]


def parsed(df: DataFrame, batch: Batch) -> DataFrame:
    return batch.parse(df, "id BIGINT", keep=("stream", "seq"))


def overlapping(write: Callable[[DataFrame, Batch], object], spark: SparkSession) -> list[Future[Any]]:
    """Run two attempts at one batch that write at the same time."""
    start = Barrier(2)

    def process(df: DataFrame, batch: Batch) -> object:
        start.wait(60)
        return write(df, batch)

    with ThreadPoolExecutor(2) as pool:
        return [pool.submit(run, process, ORDERS, spark=spark) for _ in range(2)]


def write_overlapping(write: Callable[[DataFrame, Batch], object], spark: SparkSession, conflict: str) -> None:
    """Run two attempts, of which one may fail with this conflict, and the batch once more."""
    problems = [attempt.exception() for attempt in overlapping(write, spark)]
    assert all(problem is None or conflict in str(problem) for problem in problems), problems
    assert None in problems
    run(write, ORDERS, spark=spark)


def append_to_delta(table: Path, name: str = "") -> Callable[[DataFrame, Batch], object]:
    def process(df: DataFrame, batch: Batch) -> None:
        parsed(df, batch).write.format("delta").mode("append").options(**batch.delta(name)).save(str(table))

    return process


def delta_rows(spark: SparkSession, table: Path) -> int:
    return spark.read.format("delta").load(str(table)).count()


def test_delta_holds_each_batch_and_each_named_write_of_it_once(spark: SparkSession, folder: Path) -> None:
    table = folder / "delta"
    for first in (100, 100, 1, 100, 1):
        run(append_to_delta(table), orders(first), spark=spark)
    assert delta_rows(spark, table) == 20, "a batch of lower sequences may come later"
    table = folder / "delta-names"
    for name in ("", "again", "", "again"):
        run(append_to_delta(table, name), ORDERS, spark=spark)
    assert delta_rows(spark, table) == 20


def test_delta_refuses_one_of_two_attempts_that_overlap_or_skips_it(spark: SparkSession, folder: Path) -> None:
    for overlap in range(OVERLAPS):
        table = folder / f"delta-{overlap}"
        spark.createDataFrame([], "id BIGINT, stream STRING, seq BIGINT").write.format("delta").save(str(table))
        write_overlapping(append_to_delta(table), spark, "DELTA_CONCURRENT_TRANSACTION")
        assert delta_rows(spark, table) == 10


def test_an_iceberg_snapshot_shows_that_a_batch_is_done(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE ice.db.orders (id BIGINT, stream STRING, seq BIGINT) USING iceberg")

    def process(df: DataFrame, batch: Batch) -> bool:
        done = batch.already_done(iceberg="ice.db.orders")
        if not done:
            parsed(df, batch).writeTo("ice.db.orders").options(**batch.iceberg()).append()
        return done

    done = [run(process, orders(first), spark=spark).returned for first in (100, 100, 1, 1)]
    assert done == [False, True, False, True]
    assert spark.table("ice.db.orders").count() == 20


def merge_into_iceberg(name: str) -> Callable[[DataFrame, Batch], object]:
    merge = f"""
        MERGE INTO {name} t USING {{orders}} o ON t.stream = o.stream AND t.seq = o.seq
        WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
    """

    def process(df: DataFrame, batch: Batch) -> None:
        batch.spark.sql(merge, orders=parsed(df, batch))

    return process


def test_iceberg_holds_each_message_once_if_attempts_that_overlap_merge_with_both_clauses(spark: SparkSession) -> None:
    """With WHEN NOT MATCHED alone, Iceberg appends, and both attempts commit: each row is there twice."""
    for overlap in range(OVERLAPS):
        name = f"ice.db.merged_{overlap}"
        spark.sql(f"CREATE TABLE {name} (id BIGINT, stream STRING, seq BIGINT) USING iceberg")
        write_overlapping(merge_into_iceberg(name), spark, "conflict")
        assert spark.table(name).count() == 10


def into_postgres(url: str, table: str, **how: Any) -> Callable[[DataFrame, Batch], object]:  # noqa: ANN401 - passed on
    def process(df: DataFrame, batch: Batch) -> bool:
        return batch.jdbc(parsed(df, batch), url, table, **how)

    return process


def postgres(spark: SparkSession, url: str, sql: str) -> list[tuple[Any, ...]]:
    """Run SQL there, and return its rows."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - as jdbc.py
    dialect = jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(url)
    options = jvm.PythonUtils.toScalaMap({"url": url, "dbtable": "none", "driver": "org.postgresql.Driver"})
    options = jvm.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(options)
    connection = dialect.createConnectionFactory(options).apply(-1)
    try:
        statement = connection.createStatement()
        if not statement.execute(sql):
            return []
        found, rows = statement.getResultSet(), []
        width = found.getMetaData().getColumnCount()
        while found.next():
            rows.append(tuple(found.getString(column) for column in range(1, width + 1)))
        return rows
    finally:
        connection.close()


def create_table(spark: SparkSession, url: str, name: str) -> str:
    postgres(spark, url, f"CREATE TABLE {name} (id INT PRIMARY KEY, stream TEXT, seq BIGINT)")
    return name


def count(spark: SparkSession, url: str, name: str) -> int:
    ((rows,),) = postgres(spark, url, f"SELECT count(*) FROM {name}")  # noqa: S608 - a test's own table
    return int(rows)


def test_a_database_holds_a_batch_once_with_a_row_in_its_ledger(spark: SparkSession, url: str) -> None:
    name = create_table(spark, url, "orders")
    added = [run(into_postgres(url, name), orders(first), spark=spark).returned for first in (100, 100, 1, 1)]
    assert added == [True, False, True, False]
    assert count(spark, url, name) == 20
    lines = postgres(spark, url, "SELECT batch_id, target FROM penstock_batches WHERE target = 'orders'")
    assert sorted(line[0].split(".")[2] for line in lines) == ["1-10", "100-109"]


def test_a_database_takes_the_longest_names_and_a_ledger_of_another_schema_is_not_taken_for_its_own(
    spark: SparkSession, url: str
) -> None:
    for sql in (
        "DROP TABLE IF EXISTS penstock_batches",
        "CREATE SCHEMA other",
        "CREATE TABLE other.penstock_batches ()",
    ):
        postgres(spark, url, sql)
    name = create_table(spark, url, "longest")
    for added in (True, False):
        result = run(into_postgres(url, name), ORDERS, spark=spark, stream="S" * 255, consumer="C" * 255)
        assert result.returned is added
    assert count(spark, url, name) == 10
    postgres(spark, url, "DROP SCHEMA other CASCADE")


def test_a_batch_may_write_to_one_table_several_times_under_different_names(spark: SparkSession, url: str) -> None:
    name = create_table(spark, url, "in_parts")

    def process(df: DataFrame, batch: Batch) -> list[bool]:
        rows = parsed(df, batch)
        low, high = rows.where("seq <= 5"), rows.where("seq > 5")
        added = [batch.jdbc(low, url, name), batch.jdbc(high, url, name, name="high")]
        with pytest.raises(ValueError, match=f"The batch has written to {name} by the name 'high' already"):
            batch.jdbc(low, url, name, name="high")
        return added

    assert [run(process, ORDERS, spark=spark).returned for _ in range(2)] == [[True, True], [False, False]]
    assert count(spark, url, name) == 10


def test_a_database_takes_one_of_two_attempts_that_overlap_and_both_succeed(spark: SparkSession, url: str) -> None:
    for overlap in range(OVERLAPS):
        name = create_table(spark, url, f"overlap_{overlap}")
        for attempt in overlapping(into_postgres(url, name), spark):
            attempt.result()
        assert count(spark, url, name) == 10


def test_a_database_has_rows_once_the_function_has_returned_and_none_of_one_that_fails(
    spark: SparkSession, url: str
) -> None:
    name = create_table(spark, url, "deferred")

    def process(df: DataFrame, batch: Batch) -> None:
        assert batch.jdbc(parsed(df, batch), url, name)
        assert count(spark, url, name) == 0
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        run(process, ORDERS, spark=spark)
    run(into_postgres(url, name), ORDERS, spark=spark)
    assert count(spark, url, name) == 10


def test_parts_of_a_batch_that_is_in_a_table_are_taken_for_written(spark: SparkSession, url: str) -> None:
    name = create_table(spark, url, "halved")
    spark.sql("CREATE TABLE ice.db.halved (id BIGINT, stream STRING, seq BIGINT) USING iceberg")

    added: dict[str, tuple[bool, bool]] = {}

    def process(df: DataFrame, batch: Batch) -> None:
        rows = parsed(df, batch)
        is_done = batch.already_done(iceberg="ice.db.halved")
        if not is_done:
            rows.writeTo("ice.db.halved").options(**batch.iceberg()).append()
        added[batch.id] = not is_done, batch.jdbc(rows, url, name)

    run(process, ORDERS, spark=spark)
    run(process, ORDERS[:5], spark=spark, ancestors=["S.etl.0-99.unknown", *added])
    assert list(added.values()) == [(True, True), (False, False)]
    assert count(spark, url, name) == spark.table("ice.db.halved").count() == 10


def test_a_batch_of_which_a_part_is_in_the_database_is_refused_and_its_other_parts_are_not(
    spark: SparkSession, url: str
) -> None:
    """Two workers had it: one cut it, and the other still runs it. The parts come at the same time."""
    name = create_table(spark, url, "cut")
    whole = str(run(lambda _, batch: batch.id, ORDERS, spark=spark).returned)
    begin = Barrier(2)

    def process(df: DataFrame, batch: Batch) -> bool:
        is_new = batch.jdbc(parsed(df, batch), url, name)
        if batch.ancestors and not is_retried:
            begin.wait(60)
        return is_new

    def attempt(first: int, last: int, *ancestors: str) -> bool:
        messages = [Message({"id": number}, seq=number) for number in range(first, last + 1)]
        return bool(run(process, messages, spark=spark, ancestors=ancestors).returned)

    is_retried = False
    with ThreadPoolExecutor(2) as pool:
        halves = [pool.submit(attempt, first, first + 4, whole) for first in (1, 6)]
        assert [half.result() for half in halves] == [True, True]
    is_retried = True
    with pytest.raises(BatchCutError, match=f"has written a part of it to {name}"):
        attempt(1, 10)
    assert not attempt(6, 10, whole)
    assert count(spark, url, name) == 10


def test_rejections_of_the_attempt_whose_rows_are_in_the_database_are_those_that_count(
    spark: SparkSession, url: str, subtests: pytest.Subtests
) -> None:
    reason = "unknown customer é" * 20

    def attempt(name: str, *rejected: int) -> set[int]:
        def process(df: DataFrame, batch: Batch) -> None:
            batch.jdbc(parsed(df.where(~df.seq.isin(*rejected, 0)), batch), url, name)
            for each in rejected:
                batch.reject([each], f"{each}: {reason}")

        return set(run(process, MANY, spark=spark).rejected)

    for number, (first, second) in enumerate((((), (2,)), ((2,), (3,)), (tuple(range(1, 40, 2)), ()))):
        with subtests.test(f"{first}, then {second}"):
            name = create_table(spark, url, f"rejecting_{number}")
            assert attempt(name, *first) == set(first)
            assert attempt(name, *second) == set(first)
            assert count(spark, url, name) == len(MANY) - len(first)


def test_a_refused_batch_leaves_neither_rows_nor_a_ledger_row(spark: SparkSession, url: str) -> None:
    name = create_table(spark, url, "refused")
    postgres(spark, url, f"INSERT INTO {name} VALUES (5, 'S', 1)")  # noqa: S608 - a test's own table
    with pytest.raises(Exception, match="duplicate key"):
        run(into_postgres(url, name), ORDERS, spark=spark)
    assert count(spark, url, name) == 1
    assert not postgres(spark, url, "SELECT * FROM penstock_batches WHERE target = 'refused'")
    assert run(into_postgres(url, name, on_conflict="(id) DO NOTHING"), ORDERS, spark=spark).returned
    assert count(spark, url, name) == 10
    left = "SELECT tablename FROM pg_tables WHERE tablename LIKE 'penstock%'"
    tables = {name for (name,) in postgres(spark, url, left)}
    assert tables <= {"penstock_batches", "penstock_rejected"}, "no other table is left"


def test_the_example_appends_to_delta_once(spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLE", str(folder / "example"))
    process = runpy.run_path("examples/delta/ingest.py")["process"]
    for _ in range(2):
        assert list(run(process, [*ORDERS, "pardon"], spark=spark).rejected) == [11]
    assert delta_rows(spark, folder / "example") == 10


def test_parsing_is_the_same_in_this_spark(spark: SparkSession) -> None:
    def process(df: DataFrame, batch: Batch) -> int:
        return batch.parse(df, "id BIGINT").count()

    result = run(process, [*ORDERS, "bad", {"id": "x"}], spark=spark)
    assert result.returned == 10
    assert list(result.rejected.values()) == ["The payload is not JSON of the schema: bad", "id is not bigint: x"]
